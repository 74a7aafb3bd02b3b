package main

import (
	"context"
	"errors"
)

// The exit codes. When several apply, the first of 4, 1, 5, 3 wins: a run that is wrong or void must not be reported
// as merely slow.
const (
	codeOK          = 0
	codeFailed      = 1   // could not run
	codeUsage       = 2   // usage, or an invalid scenario
	codeRegression  = 3   // a gate found a regression
	codeBroken      = 4   // a recipe broke its promise
	codeInvalid     = 5   // the numbers are void or inconclusive
	codeInterrupted = 130 // stopped by a signal
)

// errInterrupted is the cause of a context that a signal ended.
var errInterrupted = errors.New("interrupted")

// exitError is an error that says with which code to exit. Its text may be empty if everything has been said.
type exitError struct {
	code int
	err  error
}

func (e exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exitError) Unwrap() error { return e.err }

// usage marks an error as the user's to mend.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return exitError{codeUsage, err}
}

// exitCode returns the code for what a command returned.
func exitCode(ctx context.Context, err error) int {
	var exit exitError
	switch {
	case err == nil:
		return codeOK
	case errors.Is(context.Cause(ctx), errInterrupted):
		return codeInterrupted
	case errors.As(err, &exit):
		return exit.code
	default:
		return codeFailed
	}
}
