package campaign

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/ensemble/container"
	"github.com/zkbench/zkbench/ensemble/process"
)

// ErrNoEnsemble is returned if only the embedded server could be started, and the user did not choose it.
var ErrNoEnsemble = errors.New("neither containers nor processes can be started, " +
	"and times of the embedded server are not those of an ensemble: install what is missing, or choose --ensemble embedded")

// Share prepares the ensemble that all runs of a series use: a new one, or a running one that the choice and the name in the
// options select. It returns the flags by which a run finds the ensemble, and a function that takes a new ensemble down. On
// the embedded engine, each run starts its own servers. Share calls starts before it starts servers, and the result of starts
// once they are down.
func Share(
	ctx context.Context, c auto.Choice, opts ensemble.Options, starts func(ensemble.Engine) (done func()),
) (where []string, down func(context.Context) error, err error) {
	stay := func(context.Context) error { return nil }
	if c.Servers != "" { // opened here too, because errors of the runs are only in their logs
		e, err := auto.Open(ctx, c, opts)
		if err != nil {
			return nil, nil, err
		}
		return []string{"--servers", c.Servers}, stay, e.Close(ctx)
	}
	engine, err := auto.Resolve(ctx, c, opts)
	if err != nil {
		return nil, nil, err
	}
	if engine == ensemble.Embedded {
		if c.Engine != string(ensemble.Embedded) {
			return nil, nil, ErrNoEnsemble
		}
		return embedded(opts), stay, nil
	}
	switch engine {
	case ensemble.Container:
		_, err = container.Find(ctx, opts.Name)
	case ensemble.Process:
		_, err = process.Find(opts.Name)
	default:
		return nil, nil, fmt.Errorf("runs cannot share servers of engine %s", engine)
	}
	switch {
	case err == nil: // started by `zkbench ensemble up`, and stays up
		where = on(engine, opts.Name)
		if opts.TxnLog != "" { // each run checks where the ensemble keeps its logs
			where = append(where, "--txn-log", string(opts.TxnLog))
		}
		return where, stay, nil
	case !errors.Is(err, ensemble.ErrNotUp):
		return nil, nil, fmt.Errorf("look for ensemble %q: %w", opts.Name, err)
	}
	engine, down, err = start(ctx, c, engine, opts, starts)
	return on(engine, opts.Name), down, err
}

func on(engine ensemble.Engine, name string) []string {
	return []string{"--ensemble", string(engine), "--name", name}
}

func embedded(opts ensemble.Options) []string {
	where := on(ensemble.Embedded, opts.Name)
	if opts.ReadDelay+opts.WriteDelay > 0 {
		where = append(where, "--read-delay", opts.ReadDelay.String(), "--write-delay", opts.WriteDelay.String())
	}
	if opts.Voters > 1 {
		where = append(where, "--voters", strconv.Itoa(opts.Voters), "--lag", opts.Lag.String())
	}
	return where
}

// start starts an ensemble that outlives the runs. It returns the engine that the ensemble came up on and a function that
// takes it down. If the start fails, the engine has already removed its servers.
func start(
	ctx context.Context, c auto.Choice, engine ensemble.Engine, opts ensemble.Options, starts func(ensemble.Engine) (done func()),
) (used ensemble.Engine, down func(context.Context) error, err error) {
	opts.Lifetime = ensemble.Kept
	fmt.Fprintf(opts.Progress, "starting an ensemble for all runs; if zkbench is killed, `%s` removes it\n", ensemble.DownCommand(opts.Name))
	done := starts(engine)
	e, err := auto.Start(ctx, c, engine, opts, func(ensemble.Engine) error { return nil })
	if err != nil {
		done()
		return "", nil, err
	}
	if _, isProcess := e.(*process.Ensemble); isProcess {
		engine = ensemble.Process
	}
	down = func(ctx context.Context) (err error) {
		if engine == ensemble.Container {
			_, err = container.Down(ctx, opts.Name)
		} else {
			_, err = process.Down(opts.Name)
		}
		if err != nil {
			return fmt.Errorf("take down ensemble %q: %w\n`%s` removes what is left", opts.Name, err, ensemble.DownCommand(opts.Name))
		}
		done()
		return nil
	}
	if r, ok := e.(interface{ Release() error }); ok { // each run locks the ensemble for itself
		if err := r.Release(); err != nil {
			return "", nil, errors.Join(err, down(context.WithoutCancel(ctx)))
		}
	}
	return engine, down, nil
}
