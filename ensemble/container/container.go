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
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
)

//go:embed compose.yaml compose.memory.yaml image
var files embed.FS

// The labels in compose.yaml.
const (
	nameLabel     = "org.zkbench.ensemble"
	lifetimeLabel = "org.zkbench.lifetime"
	txnLogLabel   = "org.zkbench.txn-log"
)

// Ensemble is three containers, or what is left of them.
type Ensemble struct {
	name     string
	image    string
	servers  []ensemble.Server
	ids      []string // container ids, in the servers' order
	lifetime ensemble.Lifetime
	txnLog   ensemble.TxnLog
	started  bool // and not stopped since, as it would be after a reboot; whether it is well shows in its quorum
	attached bool // found running, so not ours to end
	claim    *ensemble.Claim
}

var _ ensemble.Ensemble = (*Ensemble)(nil)

// Up starts the ensemble of that name, or attaches to it if it is kept; the caller has it to itself until Close.
func Up(ctx context.Context, opts ensemble.Options) (*Ensemble, error) {
	opts = opts.WithDefaults()
	e, claim, err := ensemble.Lifecycle[*Ensemble]{
		ClaimName: opts.Name,
		Find:      func(ctx context.Context) (*Ensemble, error) { return Find(ctx, opts.Name) },
		Remove:    func(ctx context.Context) error { _, err := remove(ctx, opts.Name); return err },
		Start:     func(ctx context.Context) (*Ensemble, error) { return start(ctx, opts) },
		TxnLogOf:  func(e *Ensemble) ensemble.TxnLog { return e.txnLog },
	}.Up(ctx, opts)
	if err != nil {
		return nil, err
	}
	e.claim = claim
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
	return e, ensemble.AwaitReady(ctx, e)
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
	args := []string{"-p", "zkbench-" + opts.Name, "-f", filepath.Join(dir, "compose.yaml")}
	if opts.TxnLog == ensemble.InMemory {
		env = append(env, "ZKBENCH_TXN_LOG="+string(opts.TxnLog), fmt.Sprintf("ZKBENCH_TXN_LOG_BYTES=%d", ensemble.MemoryLogBytes))
		args = append(args, "-f", filepath.Join(dir, "compose.memory.yaml"))
	}
	for i, port := range ports {
		env = append(env, fmt.Sprintf("ZKBENCH_PORT_%d=%d", i+1, port))
	}
	return compose(ctx, env, append(args, "up", "-d")...)
}

// Find returns the kept ensemble of that name without claiming it; ending it is Down's business, not Close's.
func Find(ctx context.Context, name string) (*Ensemble, error) {
	e, err := inspect(ctx, name)
	if err != nil {
		return nil, err
	}
	if e.lifetime != ensemble.Kept || len(e.ids) != ensemble.Size || !e.started {
		return nil, ensemble.ErrNotUp
	}
	e.attached = true
	return e, nil
}

// inspect reads everything about the containers of that name in one go.
func inspect(ctx context.Context, name string) (*Ensemble, error) {
	ids, err := list(ctx, name, "ps", "-a")
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, ensemble.ErrNotUp
	}
	const format = `{{index .Config.Labels "com.docker.compose.service"}} {{.Id}} {{.Config.Image}} ` +
		`{{index .Config.Labels "` + lifetimeLabel + `"}} {{with index .Config.Labels "` + txnLogLabel + `"}}{{.}}{{else}}disk{{end}} {{.State.Status}} ` +
		`{{with index .HostConfig.PortBindings "2181/tcp"}}{{(index . 0).HostPort}}{{end}}`
	out, err := docker(ctx, append([]string{"inspect", "--format", format}, ids...)...)
	if err != nil {
		return nil, err
	}
	e := &Ensemble{name: name}
	for _, line := range slices.Sorted(strings.Lines(out)) { // services sort as the servers' ids do
		f := strings.Fields(line)
		if len(f) != 7 {
			return nil, fmt.Errorf("docker inspect said %q of a container of ensemble %q", strings.TrimSpace(line), name)
		}
		e.servers = append(e.servers, ensemble.Server{ID: len(e.servers) + 1, Name: f[0], Addr: "127.0.0.1:" + f[6]})
		e.ids = append(e.ids, f[1])
		if len(e.ids) == 1 {
			e.image, e.lifetime, e.txnLog, e.started = f[2], ensemble.Lifetime(f[3]), ensemble.TxnLog(f[4]), f[5] == "running" || f[5] == "paused"
		}
	}
	return e, nil
}

// Servers implements [ensemble.Ensemble].
func (e *Ensemble) Servers() []ensemble.Server { return e.servers }

// Owned implements [ensemble.Ensemble]: zkbench's containers publish to the loopback address and run under a claim.
func (e *Ensemble) Owned() bool { return true }

// Attached reports whether the ensemble was found running: Close leaves it up.
func (e *Ensemble) Attached() bool { return e.attached }

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
	mounts, err := docker(ctx, "exec", e.ids[0], "cat", "/proc/mounts")
	if err != nil {
		return d, fmt.Errorf("ask %s where its transaction log is: %w", e.servers[0].Name, err)
	}
	d.TxnLog = ensemble.FileSystemOf(mounts, d.Config["dataLogDir"])
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
		_, err = remove(ctx, e.name)
	}
	return errors.Join(err, e.claim.Release())
}

// Release gives up the claim on an ensemble that shall stay up.
func (e *Ensemble) Release() error { return e.claim.Release() }
