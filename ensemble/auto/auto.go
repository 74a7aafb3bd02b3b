// Package auto chooses the engine to measure on.
//
// It takes one position: the most realistic engine that the machine can run, and no silent second choice. Containers
// if a Docker engine answers, else local processes if ZooKeeper is installed, else, and not without saying so, the
// embedded server.
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
	Servers string // host:port,… of an external ensemble; implies that engine
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
	fmt.Fprintf(opts.WithDefaults().Progress, "no real ensemble can be started here: FALLING BACK to the embedded server, whose latencies are no ensemble's\n%s\n", indent(missing))
	return ensemble.Embedded, nil
}

func indent(err error) string { return "  " + strings.ReplaceAll(err.Error(), "\n", "\n  ") }

// Open starts (or attaches to) the chosen ensemble; the caller closes it.
func Open(ctx context.Context, c Choice, opts ensemble.Options) (ensemble.Ensemble, error) {
	opts = opts.WithDefaults()
	engine, err := Resolve(ctx, c, opts)
	if err != nil {
		return nil, err
	}
	switch engine {
	case ensemble.Container:
		if err := container.Available(ctx); err != nil {
			return nil, err
		}
		return orNil(container.Up(ctx, opts))
	case ensemble.Process:
		return orNil(process.Up(ctx, opts))
	case ensemble.External:
		return orNil(external.Open(ctx, c.Servers))
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
