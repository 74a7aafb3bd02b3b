package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/ensemble/container"
	"github.com/zkbench/zkbench/ensemble/external"
	"github.com/zkbench/zkbench/ensemble/process"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

func ensembleCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "ensemble", Short: "Start, inspect, break and end the servers to measure on",
		Long: `Start, inspect and end an ensemble of three servers that several runs use.

'zkbench run' starts and ends an ensemble itself when none is up. The next 'up'
or 'down' finds what a crash left behind by its label, and removes it.

'kill', 'pause' and 'partition' make a server fail, in an ensemble that 'up' has
started. 'status' shows such a server, and 'heal' restores it.`,
	}
	addCommands(cmd, upCommand(a), downCommand(a), statusCommand(a), logsCommand(a),
		faultCommand(a, ensemble.Kill, "Kill a server, as a crash does",
			`Kill a server of an ensemble at once, as a crash does. Its data stays.`),
		faultCommand(a, ensemble.Pause, "Stop a server without ending its connections",
			`Stop a server of an ensemble without ending its connections, as a long garbage
collection does. Its client port takes connections and answers nothing.`),
		faultCommand(a, ensemble.Partition, "Cut a server off from the other servers",
			`Cut a server off from the other servers, while clients still reach it. The
servers notice within 10 s (syncLimit x tickTime); then it stops serving. Only
containers can be cut off: local processes share one network.`),
		healCommand(a), imageCommand(a))
	return cmd
}

func upCommand(a *app) *cobra.Command {
	var f ensembleFlags
	cmd := &cobra.Command{
		Use: "up", Short: "Start three servers and keep them",
		Long: `Start three servers and keep them until 'zkbench ensemble down'. The last line
on standard output is the connect string, for 'zkbench observe' and for any
ZooKeeper client. With --tls or --digest, the line before has the flags by which
zkbench connects to the servers when they are given by --servers.

With --ensemble embedded, which needs neither Docker nor Java, the command runs
until Ctrl-C, and the servers are in its process: one, or --voters. All data is
in memory. It exits with 0, because an interrupt is its regular end.`,
		Example: `  zkbench ensemble up
  zkbench ensemble up --ensemble process --ports 2181,2182,2183
  zkbench ensemble up --ensemble embedded --ports 2181`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.up(cmd.Context(), f) },
	}
	f.bindEngine(a, cmd, list.Where(auto.Engines(), func(name string) bool { return name != string(ensemble.External) }))
	f.bindEmbedded(cmd)
	cmd.Flags().BoolVar(&f.TLS, "tls", false, "servers speak TLS only, with certificates that\nzkbench issues")
	cmd.Flags().IntSliceVar(&f.Ports, "ports", nil, "client ports, one per server (default free ones)")
	return cmd
}

// openWithPorts opens the ensemble, unless --ports does not suit its number of servers.
func (f *ensembleFlags) openWithPorts(ctx context.Context, servers int) (ensemble.Ensemble, error) {
	switch distinct := list.Distinct(f.Ports); {
	case len(f.Ports) == 0: // free ones are found
	case len(f.Ports) != servers:
		return nil, usage(fmt.Errorf("--ports wants %d %s, one for each server, not %d",
			servers, table.Plural(servers, "port"), len(f.Ports)))
	case distinct[0] < 1 || slices.Max(distinct) > 65535 || len(distinct) < len(f.Ports):
		return nil, usage(fmt.Errorf("--ports wants different ports from 1 to 65535, not %s", joined(f.Ports, ", ")))
	}
	return auto.Open(ctx, f.Choice, f.Options)
}

func (a *app) up(ctx context.Context, f ensembleFlags) error {
	if f.Engine == string(ensemble.Embedded) {
		return a.serve(ctx, f)
	}
	defer a.started.starts(ensemble.Container, f.Name)() // or processes: `ensemble down` removes both
	f.Lifetime = ensemble.Kept
	e, err := f.openWithPorts(ctx, ensemble.Size)
	if err != nil {
		return err
	}
	if r, ok := e.(interface{ Release() error }); ok { // the ensemble stays up
		defer r.Release() //nolint:errcheck // the lock ends with the process at the latest
	}
	return a.printUp(ctx, e, f.Name)
}

// serve keeps embedded servers up until ctx ends. Without an interrupt they would never end, so it is not an error.
func (a *app) serve(ctx context.Context, f ensembleFlags) (err error) {
	e, err := f.openWithPorts(ctx, f.Voters)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx))) }()
	a.started.ending.Store("stopping: the embedded servers end, and their data with them")
	if err := a.printUp(ctx, e, f.Name); err != nil {
		return err
	}
	fmt.Fprintln(a.stderr, "serving until Ctrl-C; all data is in memory")
	<-ctx.Done()
	return nil
}

func (a *app) printUp(ctx context.Context, e ensemble.Ensemble, name string) error {
	err := a.printStatus(ctx, e, name)
	if err == nil {
		_, err = fmt.Fprintf(a.stdout, "\nconnect string: %s\n", connectString(e))
	}
	return err
}

// protected is an ensemble that zkbench has started, perhaps with TLS or a digest, with the flags by which other commands get access to it.
type protected interface{ AccessFlags() []string }

func connectString(e ensemble.Ensemble) string {
	return strings.Join(list.Map(e.Servers(), func(s ensemble.Server) string { return s.Addr }), ",")
}

// onEnsemble completes a command on the ensemble that --name chooses.
func onEnsemble(a *app, cmd *cobra.Command, f *ensembleFlags, run func(ctx context.Context, args []string) error) *cobra.Command {
	f.bindName(a, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args) }
	return cmd
}

func downCommand(a *app) *cobra.Command {
	var f ensembleFlags
	cmd := &cobra.Command{Use: "down", Short: "End an ensemble, or remove what a crash left of one", Args: noArguments}
	f.bindWait(a, cmd)
	return onEnsemble(a, cmd, &f, func(ctx context.Context, _ []string) error { return a.down(ctx, f.Options) })
}

func (a *app) down(ctx context.Context, opts ensemble.Options) error {
	var removed container.Remains
	var containerErr error
	if container.Available(ctx) == nil {
		removed, containerErr = container.Down(ctx, opts)
	}
	if errors.Is(containerErr, ensemble.ErrBusy) {
		opts.Wait = 0 // its time is over
	}
	_, dir := process.Inventory(opts.Name)
	ended, processErr := process.Down(ctx, opts)
	if err := errors.Join(containerErr, processErr); err != nil {
		return err
	}
	if !removed.Any() && dir == "" {
		fmt.Fprintf(a.stdout, "no ensemble %q was up%s\n", opts.Name, others(ctx, opts.Name))
		return nil
	}
	fmt.Fprintf(a.stdout, "ensemble %q is down: removed %s; ended %d processes\n", opts.Name, removed, ended)
	return nil
}

func remains(ctx context.Context, name string) string {
	var found []string
	if container.Available(ctx) == nil {
		if r, err := container.Inventory(ctx, name); err == nil && r.Any() {
			found = append(found, r.String())
		}
	}
	if alive, dir := process.Inventory(name); dir != "" {
		found = append(found, fmt.Sprintf("%d processes in %s", alive, dir))
	}
	return strings.Join(found, " and ")
}

func others(ctx context.Context, name string) string {
	names := process.Names()
	if container.Available(ctx) == nil {
		containers, _ := container.Names(ctx)
		names = append(names, containers...)
	}
	names = list.Where(list.Distinct(names), func(other string) bool { return other != name })
	if len(names) == 0 {
		return ""
	}
	return "; other ensembles: " + strings.Join(names, ", ")
}

func statusCommand(a *app) *cobra.Command {
	var f ensembleFlags
	cmd := &cobra.Command{Use: "status", Short: "Show role, address, sessions and watches of each server", Args: noArguments}
	cmd.Flags().StringVar(&f.Servers, "servers", "", "show these servers instead: host:port,…")
	f.access.bind(cmd)
	onEnsemble(a, cmd, &f, func(ctx context.Context, _ []string) error {
		e, err := find(ctx, f)
		if err != nil {
			return err
		}
		return a.printStatus(ctx, e, f.Name)
	})
	putInGroup(cmd, serverFlags)
	return cmd
}

// find returns an ensemble that is up, without locking it.
func find(ctx context.Context, f ensembleFlags) (ensemble.Ensemble, error) {
	if f.Servers != "" {
		return external.Attach(ctx, f.Servers, f.Access)
	}
	if container.Available(ctx) == nil {
		e, err := container.Find(ctx, f.Name)
		if !errors.Is(err, ensemble.ErrNotUp) {
			return e, err
		}
	}
	e, err := process.Find(f.Name)
	if errors.Is(err, ensemble.ErrNotUp) {
		return nil, notUp(ctx, f.Name)
	}
	return e, err
}

func notUp(ctx context.Context, name string) error {
	left := remains(ctx, name)
	if left == "" {
		return fmt.Errorf("no ensemble %q is up: start one with `zkbench ensemble up --name %s`%s", name, name, others(ctx, name))
	}
	if container.InUse(name) || process.InUse(name) {
		return fmt.Errorf("no ensemble %q is up: %s belong to a run that is under way and takes them down", name, left)
	}
	return fmt.Errorf("no ensemble %q is up, but a former one left %s; `%s` removes it", name, left, ensemble.DownCommand(name))
}

// printStatus prints a row for each server. It does not ask servers with a fault: a paused one would not answer, and one that is cut
// off may not know yet that it is no longer the leader or a follower.
func (a *app) printStatus(ctx context.Context, e ensemble.Ensemble, name string) error {
	t := table.New(table.Left("server", "role", "version", "client address", "sessions", "znodes", "watches")...)
	faults := new(ensemble.FaultyError)
	err := ensemble.CheckFaults(ctx, e)
	if errors.As(err, &faults) {
		err = fmt.Errorf("%w: `%s` restores the servers", err, ensemble.HealCommand(name))
	}
	for _, s := range e.Servers() {
		role := "unreachable"
		if fault, ok := faults.Faults[s.Name]; ok {
			role = fault.Condition()
		} else {
			status, silent := ensemble.Srvr(ctx, s)
			if silent == nil {
				watches := table.Missing
				counters, _ := ensemble.Monitor(ctx, s) // nil after an error: servers need not allow it
				if n, ok := counters["zk_watch_count"]; ok {
					watches = fmt.Sprint(n)
				}
				version := strings.TrimPrefix(status.Product+" "+status.Version, ensemble.ZooKeeper+" ") // names another product only
				t.Row(s.Name, status.Role, version, s.Addr, known(status.Sessions), known(status.Znodes), watches)
				continue
			}
			if errors.Is(silent, ensemble.ErrNotServing) {
				role = "not serving"
			}
			why := fmt.Errorf("%s: %w", s.Name, silent)
			if !e.Owned() {
				why = asUsage(external.Explain(ctx, s, silent))
			}
			err = errors.Join(err, why)
		}
		t.Row(s.Name, role, table.Missing, s.Addr, table.Missing, table.Missing, table.Missing)
	}
	fmt.Fprintln(a.stdout, t)
	if own, ok := e.(protected); ok && len(own.AccessFlags()) > 0 {
		fmt.Fprintf(a.stdout, "\nflags for --servers: %s\n", strings.Join(own.AccessFlags(), " "))
	}
	return err
}

func known(n int64) string {
	if n == ensemble.Unknown {
		return table.Missing
	}
	return fmt.Sprint(n)
}

func logsCommand(a *app) *cobra.Command {
	var f ensembleFlags
	cmd := &cobra.Command{Use: "logs", Short: "Print the last lines of each server's log", Args: noArguments}
	lines := cmd.Flags().Int("lines", 20, "lines per server")
	return onEnsemble(a, cmd, &f, func(ctx context.Context, _ []string) error {
		if *lines < 1 {
			return usage(fmt.Errorf("--lines wants at least 1, not %d", *lines))
		}
		e, err := find(ctx, f)
		if err != nil {
			return err
		}
		return e.Logs(ctx, a.stdout, *lines)
	})
}

func imageCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "image", Short: "Pull or build the ZooKeeper image for containers",
		Long: `Get the ZooKeeper image that 'up' and 'run' start containers from: the official
` + container.OfficialImage + ` if it is present or a registry has it, else
` + container.DebianImage + `, which is built from Debian packages with
mmdebstrap in about a minute.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := container.Available(cmd.Context()); err != nil {
				return err
			}
			image, err := container.EnsureImage(cmd.Context(), a.stderr)
			if err == nil {
				fmt.Fprintln(a.stdout, image)
			}
			return err
		},
	}
}
