package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// catchSignals returns the signals that end zkbench: an interrupt, a request to terminate, and the end of its terminal,
// unless nohup has switched that off.
//
// Note: SIGPIPE is caught, too, and then does nothing: writing to a pipe without a reader is an error of the write. By
// default it would end the process in the middle of its clean-up, such as when the terminal and `| tee` are gone. It is
// caught and not ignored, because what zkbench starts would inherit that.
func catchSignals() <-chan os.Signal {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return signals
}

// awaitSecond turns the first signal into a cancellation, which ends the work in good order, and returns at the second.
// A hangup is never the second one, nor does it make the next signal that: a terminal that closes sends several, and a
// session manager adds its own.
func awaitSecond(signals <-chan os.Signal, cancel context.CancelCauseFunc, a app) {
	stopping := sync.OnceFunc(func() {
		fmt.Fprintln(a.stderr, "\nstopping: whole results are kept, what was started is taken down; a second interrupt leaves at once")
	})
	for asked := 0; asked < 2; {
		if <-signals != syscall.SIGHUP {
			asked++
		}
		cancel(errInterrupted)
		stopping()
	}
	fmt.Fprintf(a.stderr, "left at once%s\n", a.started.left())
}

// started is what zkbench would leave behind if it ended at once. It may be used concurrently, and a nil one keeps nothing.
type started struct {
	mu    sync.Mutex
	items []*item
}

// item is something that was started and the command that removes it.
type item struct{ what, command string }

// add takes note of something that is about to be started, and returns what takes it off the list again.
func (s *started) add(what, command string) (done func()) {
	if s == nil {
		return func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	one := &item{what, command}
	s.items = append(s.items, one)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.items = slices.DeleteFunc(s.items, func(i *item) bool { return i == one })
	}
}

// left names what is on the list, each with its command.
func (s *started) left() string {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.items) == 0 {
		return ": nothing was started that could be left behind"
	}
	var out strings.Builder
	for _, i := range s.items {
		fmt.Fprintf(&out, "\n  %s may be left; to remove: `%s`", i.what, i.command)
	}
	return out.String()
}

// downHint is how an ensemble that zkbench has started is removed.
func downHint(name string) string { return "zkbench ensemble down --name " + name }
