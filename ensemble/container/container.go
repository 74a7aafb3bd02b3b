// Package container runs three ZooKeeper servers in containers, through the committed compose.yaml.
//
// It takes one position: the user can start the same ensemble by hand. So everything that shapes it stands in
// compose.yaml and in the image's environment contract, which is the official `zookeeper` image's; this package only
// picks an image, finds free ports, waits for a quorum, and removes by label what carries zkbench's label.
package container

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

//go:embed compose.yaml image
var files embed.FS

// readyTimeout is how long three servers may take to form a quorum; they take about three seconds on two cores.
const readyTimeout = 20 * time.Second

// The labels in compose.yaml.
const (
	nameLabel     = "org.zkbench.ensemble"
	lifetimeLabel = "org.zkbench.lifetime"
)

// Ensemble is three containers, or what is left of them.
type Ensemble struct {
	name     string
	image    string
	servers  []ensemble.Server
	ids      []string // container ids, in the servers' order
	attached bool     // found running, so not ours to end
	claim    *ensemble.Claim
}

var _ ensemble.Ensemble = (*Ensemble)(nil)

// Up starts the ensemble of that name, after removing what an earlier one left behind. One that is kept is attached to
// instead. The caller has the ensemble to itself until Close.
func Up(ctx context.Context, opts ensemble.Options) (*Ensemble, error) {
	opts = opts.WithDefaults()
	claim, err := ensemble.TryClaim(opts.Name)
	if err != nil {
		return nil, err
	}
	e, err := up(ctx, opts)
	if err != nil {
		return nil, errors.Join(err, claim.Release())
	}
	e.claim = claim
	return e, nil
}

func up(ctx context.Context, opts ensemble.Options) (*Ensemble, error) {
	kept, err := Find(ctx, opts.Name)
	switch {
	case err == nil && len(opts.Ports) == 0 && opts.Image == "":
		fmt.Fprintf(opts.Progress, "using the ensemble %q that is already up\n", opts.Name)
		return kept, nil
	case err == nil:
		return nil, fmt.Errorf("ensemble %q is already up: `zkbench ensemble down` first to start it differently", opts.Name)
	case !errors.Is(err, ErrNotUp):
		return nil, err
	}
	if err := remove(ctx, opts.Name); err != nil {
		return nil, err
	}
	e, err := start(ctx, opts)
	if err != nil {
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return nil, errors.Join(err, remove(cleanup, opts.Name))
	}
	return e, nil
}

func start(ctx context.Context, opts ensemble.Options) (*Ensemble, error) {
	image, err := findImage(ctx, opts.Image, opts.Progress)
	if err != nil {
		return nil, err
	}
	ports, err := opts.ClientPorts()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(opts.Progress, "starting three ZooKeeper containers from %s\n", image)
	if err := composeUp(ctx, opts, image, ports); err != nil {
		return nil, err
	}
	e, err := inspect(ctx, opts.Name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := ensemble.AwaitQuorum(ctx, e.servers); err != nil {
		var logs strings.Builder
		_ = e.Logs(context.WithoutCancel(ctx), &logs, 5)
		return nil, fmt.Errorf("the containers started but did not become ready: %w\nthe last lines of their logs:\n%s", err, logs.String())
	}
	return e, nil
}

// composeUp starts the containers from a copy of the embedded files, because the binary may run anywhere.
func composeUp(ctx context.Context, opts ensemble.Options, image string, ports []int) error {
	dir, err := os.MkdirTemp("", "zkbench-compose-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, files); err != nil {
		return fmt.Errorf("unpack compose.yaml: %w", err)
	}
	env := []string{"ZKBENCH_IMAGE=" + image, "ZKBENCH_NAME=" + opts.Name, "ZKBENCH_LIFETIME=" + string(opts.Lifetime)}
	for i, port := range ports {
		env = append(env, fmt.Sprintf("ZKBENCH_PORT_%d=%d", i+1, port))
	}
	return compose(ctx, env, "-p", "zkbench-"+opts.Name, "-f", filepath.Join(dir, "compose.yaml"), "up", "-d")
}

// ErrNotUp is returned by Find for a name under which nothing runs that would outlive its run.
var ErrNotUp = errors.New("no such ensemble is up")

// Find returns the kept ensemble of that name without claiming it; ending it is Down's business, not Close's.
func Find(ctx context.Context, name string) (*Ensemble, error) {
	e, err := inspect(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := checkKept(ctx, e); err != nil {
		return nil, err
	}
	e.attached = true
	return e, nil
}

func checkKept(ctx context.Context, e *Ensemble) error {
	out, err := docker(ctx, "inspect", "--format", `{{index .Config.Labels "`+lifetimeLabel+`"}} {{.State.Status}}`, e.ids[0])
	if err != nil {
		return err
	}
	lifetime, state, _ := strings.Cut(strings.TrimSpace(out), " ")
	if ensemble.Lifetime(lifetime) != ensemble.Kept || len(e.ids) != ensemble.Size {
		return ErrNotUp
	}
	if state != "running" && state != "paused" {
		return ErrNotUp
	}
	return nil
}

// inspect reads ids, published ports and image of the containers of that name.
func inspect(ctx context.Context, name string) (*Ensemble, error) {
	ids, err := list(ctx, name, "ps", "-a")
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, ErrNotUp
	}
	const format = `{{index .Config.Labels "com.docker.compose.service"}} {{.Id}} {{.Config.Image}} ` +
		`{{with index .HostConfig.PortBindings "2181/tcp"}}{{(index . 0).HostPort}}{{end}}`
	out, err := docker(ctx, append([]string{"inspect", "--format", format}, ids...)...)
	if err != nil {
		return nil, err
	}
	e := &Ensemble{name: name}
	for _, line := range slices.Sorted(strings.Lines(out)) { // services sort as the servers' ids do
		f := strings.Fields(line)
		if len(f) != 4 {
			return nil, fmt.Errorf("docker inspect said %q of a container of ensemble %q", strings.TrimSpace(line), name)
		}
		e.servers = append(e.servers, ensemble.Server{ID: len(e.servers) + 1, Name: f[0], Addr: "127.0.0.1:" + f[3]})
		e.ids = append(e.ids, f[1])
		e.image = f[2]
	}
	return e, nil
}

// Servers implements [ensemble.Ensemble].
func (e *Ensemble) Servers() []ensemble.Server { return e.servers }

// Owned implements [ensemble.Ensemble]: zkbench's containers publish to the loopback address and run under a claim.
func (e *Ensemble) Owned() bool { return true }

// Describe implements [ensemble.Ensemble].
func (e *Ensemble) Describe(ctx context.Context) (ensemble.Description, error) {
	d, err := ensemble.DescribeServers(ctx, ensemble.Container, e.servers)
	if err != nil {
		return d, err
	}
	d.Image = e.image
	if err := e.addEnvironment(ctx, d.Config); err != nil {
		return d, err
	}
	if mounts, err := docker(ctx, "exec", e.ids[0], "cat", "/proc/mounts"); err == nil {
		d.TxnLog = ensemble.FileSystemOf(mounts, d.Config["dataLogDir"])
	}
	return d, nil
}

// addEnvironment adds the settings that compose.yaml makes and the servers do not tell, such as the heap's size.
func (e *Ensemble) addEnvironment(ctx context.Context, settings map[string]string) error {
	out, err := docker(ctx, "inspect", "--format", "{{range .Config.Env}}{{println .}}{{end}}", e.ids[0])
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if strings.HasPrefix(key, "ZOO_CFG") || strings.HasPrefix(key, "ZK_") || strings.HasSuffix(key, "JVMFLAGS") {
			settings[key] = value
		}
	}
	return nil
}

// Logs implements [ensemble.Ensemble].
func (e *Ensemble) Logs(ctx context.Context, w io.Writer, lines int) error {
	for i, id := range e.ids {
		out, err := dockerCombined(ctx, "logs", "--tail", strconv.Itoa(lines), id)
		if err != nil {
			return err
		}
		for line := range strings.Lines(out) {
			fmt.Fprintf(w, "%s | %s", e.servers[i].Name, line)
		}
	}
	return nil
}

// Close implements [ensemble.Ensemble]: an ensemble that was found running stays.
func (e *Ensemble) Close(ctx context.Context) error {
	var err error
	if !e.attached {
		err = remove(ctx, e.name)
	}
	return errors.Join(err, e.claim.Release())
}

// Release gives up the claim on an ensemble that shall stay up.
func (e *Ensemble) Release() error { return e.claim.Release() }

// Down removes the ensemble of that name, whoever left it, and returns what it was made of.
func Down(ctx context.Context, name string) (removed int, err error) {
	claim, err := ensemble.TryClaim(name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, claim.Release()) }()
	ids, err := list(ctx, name, "ps", "-a")
	if err != nil {
		return 0, err
	}
	return len(ids), remove(ctx, name)
}

// remove deletes every container, network and volume that carries the ensemble's label.
func remove(ctx context.Context, name string) error {
	for _, kind := range []struct{ list, remove []string }{
		{[]string{"ps", "-a"}, []string{"rm", "--force", "--volumes"}},
		{[]string{"network", "ls"}, []string{"network", "rm"}},
		{[]string{"volume", "ls"}, []string{"volume", "rm"}},
	} {
		ids, err := list(ctx, name, kind.list...)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			continue
		}
		if _, err := docker(ctx, append(kind.remove, ids...)...); err != nil {
			return err
		}
	}
	return nil
}

// list returns the ids of the ensemble's objects of one kind.
func list(ctx context.Context, name string, command ...string) ([]string, error) {
	out, err := docker(ctx, append(command, "--quiet", "--filter", "label="+nameLabel+"="+name)...)
	return strings.Fields(out), err
}

// Names returns the names of all ensembles of which anything is left.
func Names(ctx context.Context) ([]string, error) {
	names := map[string]bool{}
	for _, command := range [][]string{{"ps", "-a"}, {"network", "ls"}, {"volume", "ls"}} {
		out, err := docker(ctx, append(command, "--filter", "label="+nameLabel, "--format", `{{.Label "`+nameLabel+`"}}`)...)
		if err != nil {
			return nil, err
		}
		for _, name := range strings.Fields(out) {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}
