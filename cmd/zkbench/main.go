// Command zkbench measures what ZooKeeper recipes cost, naive and optimized variants side by side.
//
// This package has the command line only: flags in, exit code out, one file per command. The packages that it calls do the
// work.
package main

import (
	"context"
	"os"

	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/screen"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	a := app{stdout: os.Stdout, stderr: screen.Of(os.Stderr), args: os.Args[1:], started: &started{}}
	signals := catchSignals()
	go func() {
		awaitSecond(signals, cancel, a)
		os.Exit(outcome.CodeInterrupted)
	}()
	os.Exit(run(ctx, a))
}
