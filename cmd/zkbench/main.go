// Command zkbench measures what ZooKeeper recipes cost, naive and optimized variants side by side.
//
// This package is how zkbench is invoked, and nothing else: flags in, exit code out. One file per command; what the
// commands do lives in the packages that they call.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	go interrupt(cancel)
	os.Exit(run(ctx, app{stdout: os.Stdout, stderr: os.Stderr, args: os.Args[1:]}))
}

// interrupt turns the first signal into a cancellation, which ends the work in good order, and the second into an
// immediate exit.
func interrupt(cancel context.CancelCauseFunc) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	<-signals
	fmt.Fprintln(os.Stderr, "\nstopping: whole results are kept, what was started is taken down; once more leaves at once")
	cancel(errInterrupted)
	<-signals
	fmt.Fprintln(os.Stderr, "left at once: servers may still be running; `zkbench ensemble down --name NAME` removes those of the name that was asked for, or told")
	os.Exit(codeInterrupted)
}
