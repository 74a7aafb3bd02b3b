// Command zkbench measures what ZooKeeper recipes cost, naive and optimized variants side by side.
//
// This package has the command line only: flags in, exit code out, one file per command. The packages that it calls do the work.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/screen"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	a := app{stdout: screen.Of(os.Stdout), stderr: screen.Of(os.Stderr), args: os.Args[1:], started: &started{}}
	addTemplates()
	signals := catchSignals()
	go func() {
		awaitSecond(signals, cancel, a)
		os.Exit(outcome.CodeInterrupted)
	}()
	os.Exit(run(ctx, a))
}

// errInterrupted is the cause of a context that a signal has cancelled.
var errInterrupted = errors.New("interrupted")

func usage(err error) error {
	if err == nil {
		return nil
	}
	return outcome.With(outcome.CodeUsage, err)
}

func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return outcome.CodePass
	}
	if errors.Is(context.Cause(ctx), errInterrupted) {
		return outcome.CodeInterrupted
	}
	return cmp.Or(outcome.Deciding(outcome.CodesOf(err)...), outcome.CodeFailed)
}

// catchSignals returns the signals that end zkbench: an interrupt, a request to terminate, and the end of its terminal,
// unless nohup has switched that off.
//
// Note: SIGPIPE is caught and has no effect, so that a write to a pipe without a reader returns an error. By default it
// would end the process during its clean-up, such as after the terminal and `| tee` have ended. It is not ignored, because
// child processes would inherit that.
func catchSignals() <-chan os.Signal {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return signals
}

// awaitSecond cancels the work at the first signal, and returns at the second, after it has restored the servers that this process has
// broken, or at the third. A hangup cancels, but counts as neither: a terminal that closes sends several, and a session manager more.
func awaitSecond(signals <-chan os.Signal, cancel context.CancelCauseFunc, a app) {
	stopping := sync.OnceFunc(func() {
		own, _ := a.started.ending.Load().(string)
		ending := cmp.Or(own, "stopping: the results so far are kept, started servers are taken down")
		fmt.Fprintf(a.stderr, "\n%s; a second interrupt exits at once\n", ending)
	})
	for asked := 0; asked < 2; {
		if <-signals != syscall.SIGHUP {
			asked++
		}
		cancel(errInterrupted)
		stopping()
	}
	ctx, done := context.WithTimeout(context.Background(), restoreTimeout)
	go func() {
		a.started.restore(ctx)
		done()
	}()
	go func() {
		for <-signals == syscall.SIGHUP {
		}
		done()
	}()
	<-ctx.Done()
	fmt.Fprintf(a.stderr, "exited at once%s\n", a.started.left())
}

// restoreTimeout bounds the wait after a second interrupt. Restoring a server takes less than a second.
const restoreTimeout = 15 * time.Second

// started lists the things that would be left behind if zkbench exited at once. It may be used concurrently.
type started struct {
	mu     sync.Mutex
	items  []*item
	ending atomic.Value // what the first signal prints, if the command has neither results to keep nor servers to take down
}

type item struct {
	what, command string
	restore       func(context.Context) error // undoes the faults of servers; nil if nothing can be broken
}

// add appends something that is about to be started. done removes it from the list.
func (s *started) add(one item) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = append(s.items, &one)
	return func() { s.remove(&one) }
}

func (s *started) remove(one *item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = slices.DeleteFunc(s.items, func(i *item) bool { return i == one })
}

// restore restores all servers that may be broken. The items for which it fails stay in the list.
func (s *started) restore(ctx context.Context) {
	s.mu.Lock()
	items := slices.Clone(s.items)
	s.mu.Unlock()
	for _, i := range items {
		if i.restore != nil && i.restore(ctx) == nil {
			s.remove(i)
		}
	}
}

func (s *started) left() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.items) == 0 {
		return ": nothing is left behind"
	}
	var out strings.Builder
	for _, i := range s.items {
		remedy := "remove"
		if i.restore != nil {
			remedy = "restore"
		}
		fmt.Fprintf(&out, "\n  %s may be left; to %s: `%s`", i.what, remedy, i.command)
	}
	return out.String()
}
