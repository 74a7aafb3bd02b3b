//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notifyMarks sends the signals that begin and end the reported part of an observation to marks.
func notifyMarks(marks chan<- os.Signal) { signal.Notify(marks, syscall.SIGUSR1, syscall.SIGUSR2) }

// begins reports whether the reported part begins at the mark.
func begins(mark os.Signal) bool { return mark == syscall.SIGUSR1 }
