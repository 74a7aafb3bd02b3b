// Package auto chooses the engine to measure on.
//
// It takes one position: it uses the most realistic engine that works on the machine, and reports every fallback with its
// reason. Containers come first, then local processes, then the embedded server.
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

// Choice is the engine that the user asked for.
type Choice struct {
	Engine  string // "auto" or an engine's name
	Servers string // connect string of an external ensemble, see external.Parse; implies that engine

	AccessFlags []string // by which another zkbench gets the same access to these servers
}

// Engines lists the valid values of Choice.Engine.
func Engines() []string {
	return []string{"auto", string(ensemble.Container), string(ensemble.Process), string(ensemble.Embedded), string(ensemble.External)}
}

// Resolve returns the engine that a choice means on this machine, and why. It starts nothing, and reports fallbacks on opts.Progress.
func Resolve(ctx context.Context, c Choice, opts ensemble.Options) (engine ensemble.Engine, why string, err error) {
	switch {
	case c.Servers != "":
		return ensemble.External, "--servers was given", nil
	case c.Engine != "" && c.Engine != "auto":
		return ensemble.Engine(c.Engine), "--ensemble was given", nil
	case opts.Home != "":
		return ensemble.Process, "--zookeeper-home was given", nil
	case opts.Image != "":
		return ensemble.Container, "--image was given", nil
	}
	containerErr := container.Available(ctx)
	if ctx.Err() != nil { // interrupted before it was known whether the engine works
		return "", "", ctx.Err()
	}
	up := fmt.Sprintf("ensemble %q is up", opts.Name)
	containerUp := func() bool { _, err := container.Find(ctx, opts.Name); return err == nil }
	_, processDown := process.Find(opts.Name)
	processErr := process.Available("")
	missing := errors.Join(containerErr, processErr)
	switch { // an ensemble that is up comes before one that is not
	case containerErr == nil && containerUp():
		return ensemble.Container, up, nil
	case processDown == nil:
		return ensemble.Process, up, nil
	case containerErr == nil:
		return ensemble.Container, "containers can be started here", nil
	case processErr == nil:
		return ensemble.Process, "processes can be started here, and containers cannot: " + containerErr.Error(), nil
	case opts.Lifetime == ensemble.Kept: // the embedded server ends with its process
		return "", "", fmt.Errorf("no ensemble can be kept up here until one of these is fixed, "+
			"but --ensemble embedded serves one until it is interrupted: %w", missing)
	case opts.TxnLog != "": // the embedded server has no transaction log
		return "", "", fmt.Errorf("no server with a transaction log can be started here until one of these is fixed: %w", missing)
	}
	fmt.Fprintf(opts.WithDefaults().Progress, "no real ensemble can be started here: FALLING BACK to %s\n%s\n",
		embeddedServer, indent(missing))
	return ensemble.Embedded, "no real ensemble can be started here", nil
}

const embeddedServer = "the embedded server, whose latencies are not those of an ensemble"

func indent(err error) string { return "  " + strings.ReplaceAll(err.Error(), "\n", "\n  ") }

// Open starts (or attaches to) the chosen ensemble; the caller closes it.
func Open(ctx context.Context, c Choice, opts ensemble.Options) (ensemble.Ensemble, error) {
	engine, _, err := Resolve(ctx, c, opts)
	if err != nil {
		return nil, err
	}
	return Start(ctx, c, engine, opts, func(ensemble.Engine) error { return nil })
}

// Start is the second half of Open: it starts the engine that Resolve has returned for the choice. If the choice is auto and
// the servers do not come up, it reports the reason on opts.Progress and starts the next engine, unless admit refuses it.
// An interrupt, or an ensemble that is in use or kept up without a quorum, ends the start. Describe names the engine.
func Start(
	ctx context.Context, c Choice, engine ensemble.Engine, opts ensemble.Options, admit func(ensemble.Engine) error,
) (ensemble.Ensemble, error) {
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
		what := map[ensemble.Engine]string{ensemble.Process: "three local processes", ensemble.Embedded: embeddedServer}[next]
		fmt.Fprintf(opts.Progress, "the %s engine does not start here: FALLING BACK to %s\n%s\n", engine, what, indent(err))
		engine = next
	}
}

func (c Choice) auto(opts ensemble.Options) bool {
	return c.Servers == "" && (c.Engine == "" || c.Engine == "auto") && opts.Home == "" && opts.Image == ""
}

// fallback returns the next engine. ok is false if none is left: the embedded server cannot be kept up, and has no transaction log.
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
		return orNil(embedded.Up(ctx, opts))
	default:
		return nil, fmt.Errorf("unknown engine %q", engine)
	}
}

// Available returns an error that says what is missing if servers of an engine cannot be started here. It starts nothing.
func Available(ctx context.Context, engine ensemble.Engine, opts ensemble.Options) error {
	switch engine {
	case ensemble.Container:
		return container.Available(ctx)
	case ensemble.Process:
		return process.Available(opts.Home)
	}
	return nil
}

// orNil returns a nil interface after an error. Without it, the interface would hold a nil pointer.
func orNil[E ensemble.Ensemble](e E, err error) (ensemble.Ensemble, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}
