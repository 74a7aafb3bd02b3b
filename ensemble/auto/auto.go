// Package auto chooses the engine to measure on.
//
// It takes one position: the most realistic engine that the machine can run, and no silent second choice. Containers
// if a Docker engine answers, else local processes if ZooKeeper is installed, else an error that says what to install.
package auto

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/container"
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
	return []string{"auto", string(ensemble.Container), string(ensemble.Process), string(ensemble.External)}
}

// Resolve returns the engine that a choice means on this machine. It starts nothing.
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
	return "", fmt.Errorf("no ensemble to measure on, give --servers or mend one of these: %w", errors.Join(containerErr, processErr))
}

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
