package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/ensemble/namespace"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/runner"
)

// target is the ensemble that a run measures on.
type target struct {
	ensemble.Ensemble
	stays bool   // it outlives the run, and so do znodes that are not removed
	list  string // its addresses, as --servers takes them
	name  string
	done  func() // removes it from app.started
}

// openTarget prepares the ensemble that a run measures on. Until it is closed, a second signal prints what would be left.
func (a *app) openTarget(ctx context.Context, selected []scenarios.Scenario, f ensembleFlags, engine ensemble.Engine, run string) (target, error) {
	opts := f.options(a.stderr)
	for _, s := range selected {
		sessions := 0
		if s.Background != nil {
			sessions = s.Background.Sessions
		}
		opts.Clients = max(opts.Clients, slices.Max(s.Clients)+sessions)
	}
	done := a.started.starts(engine, f.name)
	e, err := a.servers, error(nil)
	if e == nil {
		e, err = auto.Start(ctx, f.choice(), engine, opts, func(next ensemble.Engine) error { return a.admit(selected, next, &f) })
	}
	if err != nil {
		done()
		return target{}, err
	}
	t := target{Ensemble: e, stays: outlives(e), list: serverList(e, f), name: f.name}
	restored := a.started.breaks(t)
	t.done = func() { restored(); done() }
	base := ensemble.ChrootOf(e)
	root := namespace.Root(base, run)
	if t.stays {
		done()
		cleaned := a.started.add(fmt.Sprintf("znodes below %s, in use until their session ends about %s later,", root, ensemble.SessionTimeout), cleanHint(t.list))
		t.done = func() { restored(); cleaned() }
		a.printLeftovers(ctx, e.Servers(), base, t.list)
	}
	if !e.Owned() {
		fmt.Fprintf(a.stderr, "all znodes are below %s, which is removed at the end\n", root)
	}
	return t, nil
}

// close takes the ensemble down, or restores the servers of one that stays up.
func (t target) close(ctx context.Context) error {
	_, canBreak := t.Ensemble.(ensemble.Breaker)
	switch err := t.Close(ctx); {
	case err != nil && t.stays && canBreak:
		return fmt.Errorf("%w\n`%s` restores the servers", err, healHint(t.name))
	case err != nil && t.stays:
		return err
	case err != nil:
		return fmt.Errorf("take down ensemble %q: %w\n`%s` removes what is left", t.name, err, downHint(t.name))
	}
	t.done()
	return nil
}

// explain adds the command that removes znodes to the error of a run that could not remove them.
func (t target) explain(err error) error {
	if left := new(runner.LeftError); t.stays && errors.As(err, &left) {
		return fmt.Errorf("%w\n`%s` removes them after the servers have ended the session of this run (in about %s)", err, cleanHint(t.list), ensemble.SessionTimeout)
	}
	return err
}

// starts registers an ensemble that is about to be started, if its servers could outlive this process.
func (s *started) starts(engine ensemble.Engine, name string) (done func()) {
	if engine != ensemble.Container && engine != ensemble.Process {
		return func() {}
	}
	return s.add(fmt.Sprintf("ensemble %q", name), downHint(name))
}

// breaks registers an ensemble whose servers this process may break.
func (s *started) breaks(t target) (done func()) {
	b, ok := t.Ensemble.(interface {
		RestoreAll(ctx context.Context, servers []ensemble.Server) (int, error)
	})
	if !ok {
		return func() {}
	}
	return s.append(&item{
		what: fmt.Sprintf("broken servers in ensemble %q", t.name), command: healHint(t.name),
		restore: func(ctx context.Context) error {
			if _, err := b.RestoreAll(ctx, t.Servers()); t.stays {
				return err
			}
			return nil // the ensemble itself is among the things that are left
		},
	})
}

// outlives reports whether an ensemble stays up after a run.
func outlives(e ensemble.Ensemble) bool {
	found, ok := e.(interface{ Attached() bool })
	return !e.Owned() || ok && found.Attached()
}

// serverList returns an ensemble's addresses as --servers takes them.
func serverList(e ensemble.Ensemble, f ensembleFlags) string {
	if f.servers != "" {
		return f.servers
	}
	return strings.Join(list.Map(e.Servers(), func(s ensemble.Server) string { return s.Addr }), ",")
}
