package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/zkbench/zkbench/results/outcome"
)

// errInterrupted is the cause of a context that a signal has cancelled.
var errInterrupted = errors.New("interrupted")

// exitError is an error with an exit code. Its text is empty if the reason has been printed.
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

func usage(err error) error {
	if err == nil {
		return nil
	}
	return exitError{outcome.CodeUsage, err}
}

func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return outcome.CodePass
	}
	if errors.Is(context.Cause(ctx), errInterrupted) {
		return outcome.CodeInterrupted
	}
	return cmp.Or(outcome.Deciding(codesOf(err)...), outcome.CodeFailed)
}

// codesOf returns the codes of all errors that were joined into one. An error without a code counts as outcome.CodeFailed.
func codesOf(err error) []int {
	switch e := err.(type) { //nolint:errorlint // this walks the tree of errors
	case exitError:
		return []int{e.code}
	case interface{ Unwrap() []error }:
		var codes []int
		for _, part := range e.Unwrap() {
			codes = append(codes, codesOf(part)...)
		}
		return codes
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return codesOf(inner)
		}
	}
	return []int{outcome.CodeFailed}
}
