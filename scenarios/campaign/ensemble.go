package campaign

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/ensemble/process"
	"github.com/zkbench/zkbench/results/outcome"
)

// Share prepares the ensemble that all runs of a series use: a new one, or a running one that the choice and the name in the
// options select. It returns the flags by which a run finds the ensemble, and a function that takes a new ensemble down. On
// the embedded engine, each run starts its own servers. Share calls starts before it starts servers, and the result of starts
// once they are down, or at once if it found a kept ensemble.
func Share(
	ctx context.Context, c auto.Choice, opts ensemble.Options, starts func(ensemble.Engine) (done func()),
) (where []string, down func(context.Context) error, err error) {
	engine, _, err := auto.Resolve(ctx, c, opts)
	if err != nil {
		return nil, nil, err
	}
	stay := func(context.Context) error { return nil }
	if engine == ensemble.Embedded && c.Engine != string(ensemble.Embedded) {
		return nil, nil, outcome.With(outcome.CodeUsage, errors.New("neither containers nor processes can be started, and times of "+
			"the embedded server are not those of an ensemble: install what is missing, or choose --ensemble embedded"))
	}
	if engine == ensemble.Embedded {
		return onEmbedded(opts), stay, nil
	}
	opts.Lifetime = ensemble.Kept
	done := starts(engine)
	e, err := auto.Start(ctx, c, engine, opts, func(ensemble.Engine) error { return nil })
	if err != nil {
		done()
		return nil, nil, err
	}
	local, ok := e.(lockable)
	if !ok { // opened here too, because errors of the runs are only in their logs
		return append([]string{"--servers", c.Servers}, c.AccessFlags...), stay, e.Close(ctx)
	}
	if _, isProcess := e.(*process.Ensemble); isProcess {
		engine = ensemble.Process
	}
	where, down = on(engine, opts), func(ctx context.Context) error {
		err := local.Lock(ctx, ensemble.Options{}) // without a wait, which an interrupt could not end
		if err == nil {
			err = e.Close(ctx)
		}
		if err != nil {
			return fmt.Errorf("take down ensemble %q: %w\n`%s` removes what is left", opts.Name, err, ensemble.DownCommand(opts.Name))
		}
		done()
		return nil
	}
	if local.Attached() { // started by `zkbench ensemble up`
		done()
		return where, stay, local.Release()
	}
	fmt.Fprintf(opts.Progress, "started an ensemble for all runs; if zkbench is killed, `%s` removes it\n", ensemble.DownCommand(opts.Name))
	if err := local.Release(); err != nil {
		return nil, nil, errors.Join(err, down(context.WithoutCancel(ctx)))
	}
	return where, down, nil
}

// lockable is an ensemble that each run locks for itself.
type lockable interface {
	Attached() bool
	Lock(ctx context.Context, opts ensemble.Options) error
	Release() error
}

func on(engine ensemble.Engine, opts ensemble.Options) []string {
	where := []string{"--ensemble", string(engine), "--name", opts.Name}
	if opts.Wait > 0 {
		where = append(where, "--wait", opts.Wait.String())
	}
	return where
}

// onEmbedded returns all flags of the servers, which each run starts for itself.
func onEmbedded(opts ensemble.Options) []string {
	where := on(ensemble.Embedded, opts)
	if opts.ReadDelay+opts.WriteDelay > 0 {
		where = append(where, "--read-delay", opts.ReadDelay.String(), "--write-delay", opts.WriteDelay.String())
	}
	if opts.TLS {
		where = append(where, "--tls")
	}
	if opts.Digest {
		where = append(where, "--digest")
	}
	if opts.Voters > 1 {
		where = append(where, "--voters", strconv.Itoa(opts.Voters), "--lag", opts.Lag.String())
	}
	return where
}
