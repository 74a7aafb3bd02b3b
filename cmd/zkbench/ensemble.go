package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/ensemble/container"
	"github.com/zkbench/zkbench/ensemble/external"
	"github.com/zkbench/zkbench/ensemble/process"
	"github.com/zkbench/zkbench/results/table"
)

func ensembleCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ensemble",
		Short: "Start, inspect, break and end the servers to measure on",
		Long: `Start, inspect and end an ensemble of three servers that several runs use.

'zkbench run' starts and ends an ensemble itself when none is up. The next 'up'
or 'down' finds what a crash left behind by its label, and removes it.

'kill', 'pause' and 'partition' make a server fail, in an ensemble that 'up' has
started. 'status' shows such a server, and 'heal' restores it.`,
	}
	addCommands(cmd, upCommand(a), downCommand(a), statusCommand(a), logsCommand(a),
		killCommand(a), pauseCommand(a), partitionCommand(a), healCommand(a), imageCommand(a))
	return cmd
}

func upCommand(a *app) *cobra.Command {
	var f ensembleFlags
	cmd := &cobra.Command{
		Use:     "up",
		Short:   "Start three servers and keep them",
		Example: "  zkbench ensemble up\n  zkbench ensemble up --ensemble process --ports 2181,2182,2183",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			opts := f.options(a.stderr)
			opts.Lifetime = ensemble.Kept
			if cmd.Flags().Changed("ports") {
				var err error
				if opts.Ports, err = portNumbers(f.ports); err != nil {
					return err
				}
			}
			return a.up(cmd.Context(), f.choice(), opts)
		},
	}
	f.bindEngine(cmd, []string{"auto", string(ensemble.Container), string(ensemble.Process)})
	cmd.Flags().StringSliceVar(&f.ports, "ports", nil, "client ports, one per server (default free ones)")
	return cmd
}

// portNumbers parses --ports. The error names all mistakes.
func portNumbers(values []string) ([]int, error) {
	var ports []int
	var bad []string
	for _, text := range values {
		text = strings.TrimSpace(text)
		port, err := strconv.Atoi(text)
		if err != nil || port < 1 || text != strconv.Itoa(port) { // 010 is refused: other tools read it as 8
			bad = append(bad, strconv.Quote(text))
		}
		ports = append(ports, port)
	}
	switch {
	case len(values) == 0:
		return nil, usage(errors.New("--ports is empty"))
	case len(bad) > 0:
		return nil, usage(fmt.Errorf("--ports wants whole numbers of at least 1, separated by commas, not %s", strings.Join(bad, ", ")))
	case len(ports) != ensemble.Size:
		return nil, usage(fmt.Errorf("--ports wants %d ports, one for each server, not %d", ensemble.Size, len(ports)))
	}
	for i, port := range ports {
		if port > 65535 || slices.Contains(ports[:i], port) {
			return nil, usage(fmt.Errorf("--ports wants %d different ports of at most 65535, not %d", ensemble.Size, port))
		}
	}
	return ports, nil
}

// releaser is an ensemble that stays up when its lock is released.
type releaser interface{ Release() error }

func (a *app) up(ctx context.Context, choice auto.Choice, opts ensemble.Options) error {
	done := a.started.starts(ensemble.Container, opts.Name) // or processes: `ensemble down` removes both
	defer done()
	e, err := auto.Open(ctx, choice, opts)
	if err != nil {
		return err
	}
	if r, ok := e.(releaser); ok {
		defer r.Release() //nolint:errcheck // the lock ends with the process at the latest
	}
	return a.printStatus(ctx, e, opts.Name)
}

func downCommand(a *app) *cobra.Command {
	var f ensembleFlags
	cmd := &cobra.Command{
		Use:   "down",
		Short: "End an ensemble, or remove what a crash left of one",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := ensemble.CheckName(f.name); err != nil {
				return usage(err)
			}
			return a.down(cmd.Context(), f.name)
		},
	}
	f.bindName(cmd)
	return cmd
}

// down ends the ensemble of that name on all engines.
func (a *app) down(ctx context.Context, name string) error {
	var removed container.Remains
	var containerErr error
	if container.Available(ctx) == nil {
		removed, containerErr = container.Down(ctx, name)
	}
	_, dir := process.Inventory(name)
	ended, processErr := process.Down(name)
	if err := errors.Join(containerErr, processErr); err != nil {
		return err
	}
	if !removed.Any() && dir == "" {
		fmt.Fprintf(a.stdout, "no ensemble %q was up%s\n", name, others(ctx, name))
		return nil
	}
	fmt.Fprintf(a.stdout, "ensemble %q is down: removed %s; ended %d processes\n", name, removed, ended)
	return nil
}

// remains describes the containers and processes of an ensemble. It returns an empty string if there are none.
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

// others lists other ensembles, as the end of a message.
func others(ctx context.Context, name string) string {
	names := process.Names()
	if container.Available(ctx) == nil {
		containers, _ := container.Names(ctx)
		names = append(names, containers...)
	}
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(other string) bool { return other == name })
	if len(names) == 0 {
		return ""
	}
	return "; other ensembles: " + strings.Join(names, ", ")
}

func statusCommand(a *app) *cobra.Command {
	var f ensembleFlags
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show role, address, sessions and watches of each server",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := find(cmd.Context(), f)
			if err != nil {
				return err
			}
			return a.printStatus(cmd.Context(), e, f.name)
		},
	}
	f.bindName(cmd)
	cmd.Flags().StringVar(&f.servers, "servers", "", "show these servers instead: host:port,…")
	return cmd
}

// find returns an ensemble that is up, without locking it.
func find(ctx context.Context, f ensembleFlags) (ensemble.Ensemble, error) {
	if f.servers != "" {
		return external.Attach(ctx, f.servers)
	}
	if err := ensemble.CheckName(f.name); err != nil {
		return nil, usage(err)
	}
	if container.Available(ctx) == nil {
		e, err := container.Find(ctx, f.name)
		if !errors.Is(err, ensemble.ErrNotUp) {
			return e, err
		}
	}
	e, err := process.Find(f.name)
	if errors.Is(err, ensemble.ErrNotUp) {
		return nil, notUp(ctx, f.name)
	}
	return e, err
}

// notUp returns the error for an ensemble that is not up, with what exists of that name.
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
// off may not know yet that it has lost its role.
func (a *app) printStatus(ctx context.Context, e ensemble.Ensemble, name string) error {
	t := table.New(table.Left("server", "role", "version", "client address", "sessions", "znodes", "watches")...)
	faults := new(ensemble.FaultyError)
	err := ensemble.CheckFaults(ctx, e)
	if errors.As(err, &faults) {
		err = fmt.Errorf("%w: `%s` restores the servers", err, ensemble.HealCommand(name))
	}
	errs := []error{err}
	for _, s := range e.Servers() {
		missing := func(role string) {
			t.Row(s.Name, role, table.Missing, s.Addr, table.Missing, table.Missing, table.Missing)
		}
		if fault, ok := faults.Faults[s.Name]; ok {
			missing(fault.Condition())
			continue
		}
		status, err := ensemble.Probe(ctx, s)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.Name, err))
			if errors.Is(err, ensemble.ErrNotServing) {
				missing("not serving")
			} else {
				missing("unreachable")
			}
			continue
		}
		t.Row(s.Name, status.Role, status.Version, s.Addr, known(status.Sessions), known(status.Znodes), known(status.Watches))
	}
	fmt.Fprintln(a.stdout, t)
	return errors.Join(errs...)
}

func known(n int64) string {
	if n == ensemble.Unknown {
		return table.Missing
	}
	return fmt.Sprint(n)
}

func logsCommand(a *app) *cobra.Command {
	var f ensembleFlags
	var lines int
	cmd := &cobra.Command{
		Use:   "logs",
		Short: "Print the last lines of each server's log",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if lines < 1 {
				return usage(fmt.Errorf("--lines wants at least 1, not %d", lines))
			}
			e, err := find(cmd.Context(), f)
			if err != nil {
				return err
			}
			return e.Logs(cmd.Context(), a.stdout, lines)
		},
	}
	f.bindName(cmd)
	cmd.Flags().IntVar(&lines, "lines", 20, "lines per server")
	return cmd
}

func imageCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "image",
		Short: "Pull or build the ZooKeeper image for containers",
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
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.stdout, image)
			return err
		},
	}
}
