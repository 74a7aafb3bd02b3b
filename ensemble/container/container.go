// Package container runs three ZooKeeper servers in containers, from the committed compose.yaml.
//
// It takes one position: users can start the same ensemble by hand. All settings are therefore in compose.yaml and in the
// environment contract of the official `zookeeper` image. This package chooses an image, finds free ports, waits for a
// quorum, and removes the objects that carry zkbench's label.
package container

import (
	"context"
	"embed"
	"fmt"
	"io"
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
	nameLabel       = "org.zkbench.ensemble"
	lifetimeLabel   = "org.zkbench.lifetime"
	txnLogLabel     = "org.zkbench.txn-log"
	protectionLabel = "org.zkbench.protection"
)

// Ensemble is three containers, or the remaining ones of a broken ensemble.
type Ensemble struct {
	ensemble.Local
	first state    // of the first container
	ids   []string // container ids, in the servers' order
}

var _ ensemble.Breaker = (*Ensemble)(nil)

// Up starts the ensemble of that name, or attaches to it if it is kept up. The ensemble is locked until Close.
func Up(ctx context.Context, opts ensemble.Options) (*Ensemble, error) {
	opts = opts.WithDefaults()
	return ensemble.Lifecycle[*Ensemble]{
		LockName: opts.Name,
		Find:     func(ctx context.Context) (*Ensemble, error) { return Find(ctx, opts.Name) },
		Remove:   func(ctx context.Context) error { _, err := remove(ctx, opts.Name); return err },
		Start:    func(ctx context.Context) (*Ensemble, error) { return start(ctx, opts) },
	}.Up(ctx, opts)
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
	second, err := ensemble.FreePorts(ensemble.Size, ports...)
	if err != nil {
		return nil, err
	}
	protection, err := opts.Protect(stateDir(opts.Name))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(opts.Progress, "starting three ZooKeeper containers from %s\n", image)
	if err := composeUp(ctx, opts, protection, image, slices.Concat(ports, second)); err != nil {
		return nil, ensemble.PortTaken(err, err.Error())
	}
	states, err := inspectAll(ctx, opts.Name)
	if err != nil {
		return nil, err
	}
	return assemble(opts.Name, states, false)
}

// composeUp starts the containers from a copy of the embedded files. With TLS, it first creates them, and copies the certificates into
// them. ports lists the first port of each server, and then the second.
func composeUp(ctx context.Context, opts ensemble.Options, p ensemble.Protection, image string, ports []int) error {
	env := append(environment(p), "ZKBENCH_IMAGE="+image, "ZKBENCH_NAME="+opts.Name, "ZKBENCH_LIFETIME="+string(opts.Lifetime))
	for i, port := range ports[:ensemble.Size] {
		env = append(env, fmt.Sprintf("ZKBENCH_PORT_%d=%d", i+1, port), fmt.Sprintf("ZKBENCH_SECOND_PORT_%d=%d", i+1, ports[ensemble.Size+i]))
	}
	return unpacked(func(dir string) error {
		args := []string{"-p", "zkbench-" + opts.Name, "-f", filepath.Join(dir, "compose.yaml")}
		if opts.TxnLog == ensemble.InMemory {
			env = append(env, "ZKBENCH_TXN_LOG="+string(opts.TxnLog), fmt.Sprintf("ZKBENCH_TXN_LOG_BYTES=%d", ensemble.MemoryLogBytes))
			args = append(args, "-f", filepath.Join(dir, "compose.memory.yaml"))
		}
		return withAddresses(ctx, opts.Name, func(beginning string) error {
			up := func(mode string) error {
				return compose(ctx, append(env, "ZKBENCH_QUORUM="+beginning), append(args, "up", mode)...)
			}
			if p.TLS {
				err := up("--no-start")
				if err == nil {
					err = copyCertificates(ctx, opts.Name, image, p)
				}
				if err != nil {
					return err
				}
			}
			return up("-d")
		})
	})
}

// Find returns the ensemble of that name if it is kept up, also with some of its servers killed. After a reboot, none is running.
// Find does not lock the ensemble, and Close leaves it up.
func Find(ctx context.Context, name string) (*Ensemble, error) {
	states, err := inspectAll(ctx, name)
	if err != nil {
		return nil, err
	}
	if states[0].lifetime != ensemble.Kept || len(states) != ensemble.Size || !slices.ContainsFunc(states, state.up) {
		return nil, ensemble.ErrNotUp
	}
	return assemble(name, states, true)
}

func assemble(name string, states []state, found bool) (*Ensemble, error) {
	protection := ensemble.ParseProtection(states[0].protection, stateDir(name))
	access, err := protection.Access()
	if err != nil {
		return nil, fmt.Errorf("ensemble %q: %w", name, err)
	}
	local := ensemble.Local{TxnLog: states[0].txnLog, Protection: protection, Found: found, LockName: name}
	e := &Ensemble{first: states[0], Local: local}
	possible := []ensemble.ServerFault{ensemble.Kill, ensemble.Pause, ensemble.Partition}
	e.Heap = e.heapOf
	e.Breakage = &ensemble.Breakage{Possible: possible, Cause: e.cause, Undo: e.undo}
	for i, s := range states {
		server := ensemble.Server{ID: i + 1, Name: s.service, Addr: s.address(0), Second: s.address(1)}
		e.Members = append(e.Members, access.To(server, server.Addr))
		e.ids = append(e.ids, s.id)
	}
	return e, nil
}

// Describe implements [ensemble.Ensemble].
func (e *Ensemble) Describe(ctx context.Context) (ensemble.Description, error) {
	d, err := ensemble.DescribeServers(ctx, ensemble.Container, e.Members)
	if err != nil {
		return d, err
	}
	d.Image = e.first.image
	if err := e.addEnvironment(ctx, d.Config); err != nil {
		return d, err
	}
	mounts, err := docker(ctx, "exec", e.ids[0], "cat", "/proc/mounts")
	if err != nil {
		return d, fmt.Errorf("ask %s where its transaction log is: %w", e.Members[0].Name, err)
	}
	d.TxnLog = ensemble.FileSystemOf(mounts, d.Config["dataLogDir"])
	return d, nil
}

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
			fmt.Fprintf(w, "%s | %s", e.Members[i].Name, line)
		}
	}
	return nil
}

// heapOf signals the container's first process, which is Java, and reads the lines that it adds to the log.
func (e *Ensemble) heapOf(ctx context.Context, s ensemble.Server) (int64, error) {
	id := e.ids[s.ID-1]
	last, err := dockerCombined(ctx, "logs", "--timestamps", "--tail", "1", id)
	if err != nil {
		return 0, err
	}
	since, _, _ := strings.Cut(last, " ")
	if _, err := docker(ctx, "kill", "--signal", "QUIT", id); err != nil {
		return 0, err
	}
	return ensemble.AwaitHistogram(ctx, func(ctx context.Context) (string, error) {
		text, err := dockerCombined(ctx, "logs", "--timestamps", "--since", since, id)
		return loggedAfter(text, since), err
	})
}

// loggedAfter returns the lines that are later than since, without their time stamps. Docker's --since includes the line at
// that very time. The time stamps have a fixed length and can be compared as text.
func loggedAfter(text, since string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if at, rest, ok := strings.Cut(line, " "); ok && at > since {
			out.WriteString(rest)
		}
	}
	return out.String()
}
