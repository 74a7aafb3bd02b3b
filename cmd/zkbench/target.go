package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/ensemble/namespace"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/machine"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/scenarios/progress"
	"github.com/zkbench/zkbench/scenarios/runner"
)

// site is what the flags choose: scenarios, and the place to measure them. Nothing has been started there.
type site struct {
	ensembleFlags
	selected []scenarios.Scenario
	engine   ensemble.Engine
	run      string
	why      string // the engine was chosen
}

func (a *app) resolve(ctx context.Context, f ensembleFlags, selected ...scenarios.Scenario) (site, error) {
	engine, why, err := auto.Resolve(ctx, f.Choice, f.Options)
	return site{f, selected, engine, newRun(), why}, err
}

func (w site) folder(given string) string { return cmp.Or(given, filepath.Join(defaultRuns, w.run)) }

func (w site) ability() faults.Ability { return scenarios.AbilityOf(w.engine, w.Voters) }

// options returns the options for the largest of the scenarios.
func (w site) options() ensemble.Options {
	opts := w.Options
	for _, s := range w.selected {
		opts.Clients = max(opts.Clients, slices.Max(w.workers.share(s).Clients)+cmp.Or(s.Background, new(results.BackgroundLoad)).Sessions)
	}
	return opts
}

type target struct {
	site
	ensemble.Ensemble
	stays bool   // it outlives the run, and so do znodes that are not removed
	list  string // its addresses, as --servers takes them
	done  func() // removes it from app.started
}

// openTarget prepares the ensemble that a run measures on. Until it is closed, a second signal prints the commands that remove it.
func (a *app) openTarget(ctx context.Context, w site) (target, error) {
	done := a.started.starts(w.engine, w.Name)
	e, err := a.servers, error(nil)
	if e == nil {
		e, err = auto.Start(ctx, w.Choice, w.engine, w.options(), func(next ensemble.Engine) error {
			return a.admit(site{w.ensembleFlags, w.selected, next, w.run, w.why})
		})
	}
	if err != nil {
		done()
		return target{}, asUsage(err)
	}
	if own, ok := e.(protected); ok {
		w.AccessFlags = own.AccessFlags()
	}
	kept, ok := e.(interface{ Attached() bool })
	t := target{site: w, Ensemble: e, stays: !e.Owned() || ok && kept.Attached(), list: cmp.Or(w.Servers, connectString(e))}
	restored := a.started.breaks(t)
	t.done = func() { restored(); done() } // the last done
	base := ensemble.ChrootOf(e)
	root := namespace.Root(base, w.run)
	if t.stays {
		done()
		what := fmt.Sprintf("znodes below %s, in use until their session ends about %s later,", root, ensemble.SessionTimeout)
		done = a.started.add(item{what: what, command: cleanHint(t.list, t.AccessFlags)})
		a.printLeftovers(ctx, e.Servers(), base, t.list, t.AccessFlags)
	}
	if !e.Owned() {
		fmt.Fprintf(a.stderr, "all znodes are below %s, which is removed at the end\n", root)
	}
	return t, nil
}

// withTarget prepares the ensemble for scenarios, calls use with a runner for them, shows its progress, and closes the ensemble.
func (a *app) withTarget(ctx context.Context, where site, use func(*runner.Runner, *progress.Progress) error) (err error) {
	t, err := a.openTarget(ctx, where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close(context.WithoutCancel(ctx))) }()
	shown := progress.New(a.stderr)
	defer shown.Close()
	r := a.newRunner(t, shown)
	workers, err := a.gather(ctx, &where.workers, t, r)
	if err == nil {
		err = t.explain(failedRun(use(r, shown)))
	}
	return errors.Join(err, workers.end(context.WithoutCancel(ctx)))
}

func (a *app) newRunner(t target, p *progress.Progress) *runner.Runner {
	return &runner.Runner{
		Ensemble: t.Ensemble, Recipes: a.recipes(), Environment: machine.Describe(versionText()), Run: t.run, Temporary: !t.stays,
		Dedicated: t.dedicated, Progress: p.Step, Live: p.Show, Connecting: p.Connecting,
		Notice: func(text string) { p.Pause(); fmt.Fprintln(a.stderr, text) },
	}
}

func (t target) close(ctx context.Context) error {
	_, canBreak := t.Ensemble.(ensemble.Breaker)
	switch err := t.Close(ctx); {
	case err != nil && t.stays && canBreak:
		return fmt.Errorf("%w\n`%s` restores the servers", err, ensemble.HealCommand(t.Name))
	case err != nil && t.stays:
		return err
	case err != nil:
		return fmt.Errorf("take down ensemble %q: %w\n`%s` removes what is left", t.Name, err, ensemble.DownCommand(t.Name))
	}
	t.done()
	return nil
}

// explain adds the command that removes znodes to the error of a run that has left some.
func (t target) explain(err error) error {
	if left := new(pool.LeftError); t.stays && errors.As(err, &left) {
		return fmt.Errorf("%w\n`%s` removes them after the servers have ended the session of this run (in about %s)",
			err, cleanHint(t.list, t.AccessFlags), ensemble.SessionTimeout)
	}
	return err
}

// starts registers an ensemble that is about to be started, if its servers could outlive this process.
func (s *started) starts(engine ensemble.Engine, name string) (done func()) {
	if engine != ensemble.Container && engine != ensemble.Process {
		return func() {}
	}
	return s.add(item{what: fmt.Sprintf("ensemble %q", name), command: ensemble.DownCommand(name)})
}

func (s *started) breaks(t target) (done func()) {
	b, ok := t.Ensemble.(interface {
		RestoreAll(ctx context.Context, servers []ensemble.Server) (int, error)
	})
	if !ok {
		return func() {}
	}
	return s.add(item{
		what: fmt.Sprintf("broken servers in ensemble %q", t.Name), command: ensemble.HealCommand(t.Name),
		restore: func(ctx context.Context) error {
			if _, err := b.RestoreAll(ctx, t.Servers()); t.stays {
				return err
			}
			return nil // the ensemble itself is among the things that are left
		},
	})
}
