// Package auto chooses the engine to measure on.
//
// It takes one position: the most realistic engine that the machine can run, and no silent second choice. Containers
// if a Docker engine answers, else local processes if ZooKeeper is installed, else the embedded server. If an engine is
// there but its servers do not come up, the next one takes its place. Each fallback is reported with its reason.
package auto

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/container"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/external"
	"github.com/zkbench/zkbench/ensemble/process"
)

// Choice is what the user asked for.
type Choice struct {
	Engine  string // "auto" or an engine's name
	Servers string // connect string of an external ensemble, see external.Parse; implies that engine
}

// Engines lists the values that Choice.Engine may take.
func Engines() []string {
	return []string{"auto", string(ensemble.Container), string(ensemble.Process), string(ensemble.Embedded), string(ensemble.External)}
}

// Resolve returns the engine that a choice means on this machine. It starts nothing, and tells opts.Progress if it had
// to fall back to the embedded server.
func Resolve(ctx context.Context, c Choice, opts ensemble.Options) (ensemble.Engine, error) {
	switch {
	case c.Servers != "":
		return ensemble.External, nil
	case c.Engine != "" && c.Engine != "auto":
		return ensemble.Engine(c.Engine), nil
	case opts.Home != "":
		return ensemble.Process, nil
	case opts.Image != "":
		return ensemble.Container, nil
	}
	containerErr := container.Available(ctx)
	if ctx.Err() != nil { // interrupted, which says nothing about what this machine has
		return "", ctx.Err()
	}
	if containerErr == nil {
		if _, err := container.Find(ctx, opts.Name); err == nil {
			return ensemble.Container, nil
		}
	}
	if _, err := process.Find(opts.Name); err == nil { // one that is up comes before one that is not
		return ensemble.Process, nil
	}
	if containerErr == nil {
		return ensemble.Container, nil
	}
	processErr := process.Available("")
	if processErr == nil {
		return ensemble.Process, nil
	}
	missing := errors.Join(containerErr, processErr)
	if opts.Lifetime == ensemble.Kept { // the embedded server ends with its process
		return "", fmt.Errorf("no ensemble can be kept up here unless one of these is mended: %w", missing)
	}
	if opts.TxnLog != "" { // and has no transaction log
		return "", fmt.Errorf("no server with a transaction log can be started here unless one of these is mended: %w", missing)
	}
	fmt.Fprintf(opts.WithDefaults().Progress, "no real ensemble can be started here: FALLING BACK to the embedded server, whose latencies are no ensemble's\n%s\n", indent(missing))
	return ensemble.Embedded, nil
}

func indent(err error) string { return "  " + strings.ReplaceAll(err.Error(), "\n", "\n  ") }

// Open starts (or attaches to) the chosen ensemble; the caller closes it.
func Open(ctx context.Context, c Choice, opts ensemble.Options) (ensemble.Ensemble, error) {
	engine, err := Resolve(ctx, c, opts)
	if err != nil {
		return nil, err
	}
	return Start(ctx, c, engine, opts, func(ensemble.Engine) error { return nil })
}

// Start is the second half of Open: it starts the engine that Resolve has returned for the choice. Where the choice is
// auto and the servers do not come up, it goes on as on a machine without that engine, and tells opts.Progress why;
// admit may refuse the engine that comes next. Describe of the ensemble names the engine that was used.
//
// What does not mean that the engine is unfit ends the start instead: an interrupt, an ensemble that is in use, or one
// that is kept up and not well.
func Start(ctx context.Context, c Choice, engine ensemble.Engine, opts ensemble.Options, admit func(ensemble.Engine) error) (ensemble.Ensemble, error) {
	opts = opts.WithDefaults()
	var failed error
	for {
		e, err := start(ctx, engine, c, opts)
		if err == nil {
			return e, nil
		}
		failed = errors.Join(failed, err)
		unfit := errors.Is(err, ensemble.ErrUnavailable) || errors.Is(err, ensemble.ErrNotStarted)
		next, ok := fallback(engine, opts)
		if !c.auto(opts) || !unfit || !ok || ctx.Err() != nil {
			return nil, failed
		}
		if err := admit(next); err != nil {
			return nil, errors.Join(failed, err)
		}
		what := "three local processes"
		if next == ensemble.Embedded {
			what = "the embedded server, whose latencies are no ensemble's"
		}
		fmt.Fprintf(opts.Progress, "the %s engine does not start here: FALLING BACK to %s\n%s\n", engine, what, indent(err))
		engine = next
	}
}

// auto reports whether the engine is left to this package.
func (c Choice) auto(opts ensemble.Options) bool {
	return c.Servers == "" && (c.Engine == "" || c.Engine == "auto") && opts.Home == "" && opts.Image == ""
}

// fallback returns the engine that comes after one that does not start, if there is one. The embedded server ends with its
// process, so it cannot be kept, and has no transaction log, so it cannot keep one in memory.
func fallback(engine ensemble.Engine, opts ensemble.Options) (next ensemble.Engine, ok bool) {
	switch {
	case engine == ensemble.Container && process.Available("") == nil:
		return ensemble.Process, true
	case engine == ensemble.Container || engine == ensemble.Process:
		return ensemble.Embedded, opts.Lifetime != ensemble.Kept && opts.TxnLog == ""
	default:
		return "", false
	}
}

func start(ctx context.Context, engine ensemble.Engine, c Choice, opts ensemble.Options) (ensemble.Ensemble, error) {
	switch engine {
	case ensemble.Container:
		if err := container.Available(ctx); err != nil {
			return nil, err
		}
		return orNil(container.Up(ctx, opts))
	case ensemble.Process:
		return orNil(process.Up(ctx, opts))
	case ensemble.External:
		return orNil(external.Open(ctx, c.Servers, opts))
	case ensemble.Embedded:
		return orNil(embedded.Up(opts))
	default:
		return nil, fmt.Errorf("unknown engine %q", engine)
	}
}

// orNil keeps a nil pointer from becoming an interface that is not nil.
func orNil[E ensemble.Ensemble](e E, err error) (ensemble.Ensemble, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}
