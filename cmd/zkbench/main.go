// Command zkbench measures what ZooKeeper recipes cost, naive and optimized variants side by side.
//
// This package is how zkbench is invoked, and nothing else: flags in, exit code out. One file per command; what the
// commands do lives in the packages that they call.
package main

import (
	"context"
	"os"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	a := app{stdout: os.Stdout, stderr: os.Stderr, args: os.Args[1:], started: &started{}}
	signals := catchSignals()
	go func() {
		awaitSecond(signals, cancel, a)
		os.Exit(codeInterrupted)
	}()
	os.Exit(run(ctx, a))
}
