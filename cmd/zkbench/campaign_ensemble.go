package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/ensemble/container"
	"github.com/zkbench/zkbench/ensemble/process"
)

// share prepares the ensemble that all runs of a campaign use. This is a new ensemble, or a running one that the flags
// select. It returns the flags by which a run finds the ensemble, and a function that takes a new ensemble down. On the
// embedded engine, each run starts its own servers.
func (a *app) share(ctx context.Context, f ensembleFlags, named bool) (where []string, down func(context.Context) error, err error) {
	stay := func(context.Context) error { return nil }
	if f.servers != "" { // opened here too, because errors of the runs are only in their logs
		e, err := auto.Open(ctx, f.choice(), f.options(a.stderr))
		if err != nil {
			return nil, nil, asUsage(err)
		}
		return []string{"--servers", f.servers}, stay, e.Close(ctx)
	}
	if !named {
		f.name = fmt.Sprintf("gate-%d", os.Getpid())
	}
	engine, err := auto.Resolve(ctx, f.choice(), f.options(a.stderr))
	if err != nil {
		return nil, nil, err
	}
	where = []string{"--ensemble", string(engine), "--name", f.name}
	if engine == ensemble.Embedded {
		if f.engine != string(ensemble.Embedded) {
			return nil, nil, usage(errors.New("neither containers nor processes can be started, and times of the embedded server are not those of an ensemble: install what is missing, or choose --ensemble embedded"))
		}
		if f.readDelay+f.writeDelay > 0 {
			where = append(where, "--read-delay", f.readDelay.String(), "--write-delay", f.writeDelay.String())
		}
		if f.voters > 1 {
			where = append(where, "--voters", strconv.Itoa(f.voters), "--lag", f.lag.String())
		}
		return where, stay, nil
	}
	switch err := kept(ctx, engine, f.name); {
	case err == nil: // started by `zkbench ensemble up`, and stays up
		if f.txnLog != "" { // each run checks where the ensemble keeps its logs
			where = append(where, "--txn-log", f.txnLog)
		}
		return where, stay, nil
	case !errors.Is(err, ensemble.ErrNotUp):
		return nil, nil, fmt.Errorf("look for ensemble %q: %w", f.name, err)
	}
	engine, down, err = a.startShared(ctx, engine, f)
	return []string{"--ensemble", string(engine), "--name", f.name}, down, err
}

// startShared starts an ensemble that outlives the runs. It returns the engine that the ensemble came up on and a
// function that takes it down. If the start fails, the engine has already removed its servers.
func (a *app) startShared(ctx context.Context, engine ensemble.Engine, f ensembleFlags) (used ensemble.Engine, down func(context.Context) error, err error) {
	opts := f.options(a.stderr)
	opts.Lifetime = ensemble.Kept
	fmt.Fprintf(a.stderr, "starting an ensemble for all runs; if zkbench is killed, `%s` removes it\n", downHint(f.name))
	done := a.started.starts(engine, f.name)
	e, err := auto.Start(ctx, f.choice(), engine, opts, func(ensemble.Engine) error { return nil })
	if err != nil {
		done()
		return "", nil, err
	}
	if _, isProcess := e.(*process.Ensemble); isProcess {
		engine = ensemble.Process
	}
	down = func(ctx context.Context) error {
		if err := takeDown(ctx, engine, f.name); err != nil {
			return fmt.Errorf("take down ensemble %q: %w\n`%s` removes what is left", f.name, err, downHint(f.name))
		}
		done()
		return nil
	}
	if r, ok := e.(releaser); ok { // each run locks the ensemble for itself
		if err := r.Release(); err != nil {
			return "", nil, errors.Join(err, down(context.WithoutCancel(ctx)))
		}
	}
	return engine, down, nil
}

// kept returns nil if an ensemble of that name is up on the engine, [ensemble.ErrNotUp] if there is none, and other
// errors if this is unknown.
func kept(ctx context.Context, engine ensemble.Engine, name string) (err error) {
	if engine == ensemble.Container {
		_, err = container.Find(ctx, name)
	} else {
		_, err = process.Find(name)
	}
	return err
}

// takeDown takes down the ensemble of that name on the engine.
func takeDown(ctx context.Context, engine ensemble.Engine, name string) (err error) {
	if engine == ensemble.Container {
		_, err = container.Down(ctx, name)
	} else {
		_, err = process.Down(name)
	}
	return err
}
