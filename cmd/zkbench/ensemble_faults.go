package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
)

type breakable interface {
	ensemble.Breaker
	CheckPossible(f ensemble.ServerFault) error
	Lock(ctx context.Context, opts ensemble.Options) error
	Release() error
}

// breakableCommand completes a command that breaks or restores servers of a kept ensemble. It locks the ensemble, except with --force.
func breakableCommand(a *app, cmd *cobra.Command, use func(context.Context, breakable, string, []string) error) *cobra.Command {
	var f ensembleFlags
	force := cmd.Flags().Bool("force", false, "also while a run uses the ensemble")
	f.bindWait(a, cmd)
	cmd.MarkFlagsMutuallyExclusive("force", "wait")
	return onEnsemble(a, cmd, &f, func(ctx context.Context, args []string) (err error) {
		found, err := find(ctx, f)
		if err != nil {
			return err
		}
		e, ok := found.(breakable)
		if !ok {
			return fmt.Errorf("the servers of ensemble %q cannot be made to fail", f.Name)
		}
		if !*force {
			switch err := e.Lock(ctx, f.Options); {
			case errors.Is(err, ensemble.ErrBusy):
				return fmt.Errorf("a run uses ensemble %q: wait for it with --wait 10m, or add --force", f.Name)
			case err != nil:
				return err
			}
			defer func() { err = errors.Join(err, e.Release()) }()
		}
		return use(ctx, e, f.Name, args)
	})
}

func faultCommand(a *app, fault ensemble.ServerFault, short, long string) *cobra.Command {
	return breakableCommand(a, &cobra.Command{
		Use: string(fault) + " <server|leader|follower>", Short: short,
		Long: long + `

'leader' and 'follower' mean the servers that have these roles now; of several
followers it is the first. 'zkbench ensemble heal' undoes the fault.

While a run uses the ensemble, the command is refused without --force: a fault
that the run's scenario does not have makes the run invalid.`,
		Example:           fmt.Sprintf("  zkbench ensemble %[1]s leader\n  zkbench ensemble %[1]s zoo2 --name mine", fault),
		Args:              arguments(1, 1, "it wants one server: a name such as zoo1, leader or follower"),
		ValidArgsFunction: serverNames(string(ensemble.Leader), string(ensemble.Follower)),
	}, func(ctx context.Context, e breakable, name string, args []string) error {
		return a.breakServer(ctx, e, name, args[0], fault)
	})
}

func healCommand(a *app) *cobra.Command {
	return breakableCommand(a, &cobra.Command{
		Use: "heal [server]", Short: "Undo kill, pause and partition",
		Long: `Undo the faults of one server or of all servers: start those that were killed or
have crashed, continue paused ones, and connect those that were cut off. Then
wait until one server leads and all others follow.

While a run uses the ensemble, the command is refused without --force: it would
undo faults that the run's scenario has.`,
		Example:           "  zkbench ensemble heal\n  zkbench ensemble heal zoo2 --name mine",
		Args:              arguments(0, 1, "it wants one server at most: a name such as zoo1; without a name it heals all"),
		ValidArgsFunction: serverNames(),
	}, a.heal)
}

// breakServer causes a fault on a server. whom is its name, or the role that it has now.
func (a *app) breakServer(ctx context.Context, e breakable, name, whom string, fault ensemble.ServerFault) error {
	if err := e.CheckPossible(fault); err != nil {
		return usage(err)
	}
	faults, err := e.Faults(ctx)
	if err != nil {
		return err
	}
	s, err := resolveServer(ctx, e, faults, whom)
	if err != nil {
		return err
	}
	if already, ok := faults[s.Name]; ok {
		return fmt.Errorf("%s is already %s: `%s` restores it", s.Name, already.Condition(), ensemble.HealCommand(name))
	}
	runs := func(other ensemble.Server) bool { return other != s && faults[other.Name] != ensemble.Kill }
	if fault == ensemble.Kill && !slices.ContainsFunc(e.Servers(), runs) {
		return fmt.Errorf("%s is the last server that runs: `%s` ends the ensemble", s.Name, ensemble.DownCommand(name))
	}
	if err := e.Break(ctx, s, fault); err != nil {
		return err
	}
	role := ""
	if whom != s.Name {
		role = fmt.Sprintf(" (%s)", whom)
	}
	done := map[ensemble.ServerFault]string{ensemble.Kill: "killed", ensemble.Pause: "paused", ensemble.Partition: "cut off"}[fault]
	fmt.Fprintf(a.stdout, "%s %s%s: `%s` restores it\n", done, s.Name, role, ensemble.HealCommand(name))
	return nil
}

func resolveServer(ctx context.Context, e breakable, faults map[string]ensemble.ServerFault, whom string) (ensemble.Server, error) {
	if whom != string(ensemble.Leader) && whom != string(ensemble.Follower) {
		return serverNamed(e.Servers(), whom, string(ensemble.Leader), string(ensemble.Follower))
	}
	var seen []string
	for _, s := range e.Servers() {
		if f, broken := faults[s.Name]; broken { // it may not answer, or report a role that it has lost
			seen = append(seen, s.Name+" is "+f.Condition())
			continue
		}
		switch status, err := ensemble.Srvr(ctx, s); {
		case err != nil:
			seen = append(seen, fmt.Sprintf("%s: %v", s.Name, err))
		case string(status.Role) == whom:
			return s, nil
		default:
			seen = append(seen, fmt.Sprintf("%s is %s", s.Name, status.Role))
		}
	}
	return ensemble.Server{}, fmt.Errorf("there is no %s now: %s", whom, strings.Join(seen, ", "))
}

// serverNamed returns the server with that name. more are other words that the command accepts; they are listed in the error.
func serverNamed(servers []ensemble.Server, name string, more ...string) (ensemble.Server, error) {
	names := append(list.Map(servers, func(s ensemble.Server) string { return s.Name }), more...)
	if i := slices.Index(names[:len(servers)], name); i >= 0 {
		return servers[i], nil
	}
	return ensemble.Server{}, usage(fmt.Errorf("there is no server %q: there are %s", name, strings.Join(names, ", ")))
}

// heal restores the named server, or all that have a fault. It waits for a quorum of all servers unless some stay broken.
func (a *app) heal(ctx context.Context, e breakable, name string, args []string) error {
	faults, err := e.Faults(ctx)
	if err != nil {
		return err
	}
	chosen := e.Servers()
	if len(args) > 0 {
		s, err := serverNamed(e.Servers(), args[0])
		if err != nil {
			return err
		}
		chosen = []ensemble.Server{s}
	}
	chosen = list.Where(chosen, func(s ensemble.Server) bool { return faults[s.Name] != "" })
	start := time.Now()
	for _, s := range chosen {
		if err := e.Restore(ctx, s); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s was %s, and is restored\n", s.Name, faults[s.Name].Condition())
		delete(faults, s.Name)
	}
	if len(chosen) == 0 {
		fmt.Fprintln(a.stdout, "no fault to undo")
	}
	if len(faults) > 0 {
		fmt.Fprintf(a.stdout, "%v still: `%s` restores all\n", &ensemble.FaultyError{Faults: faults}, ensemble.HealCommand(name))
		return nil
	}
	if err = ensemble.AwaitReady(ctx, e); err == nil {
		fmt.Fprintf(a.stdout, "all %d servers are in the quorum after %.1f s\n", len(e.Servers()), time.Since(start).Seconds())
	}
	return err
}
