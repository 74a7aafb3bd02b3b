package main

import (
	"context"
	"errors"
	"slices"
)

// The exit codes. When several apply, the first in precedence wins: a run that is wrong or void must not be reported
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

// precedence lists the codes of errors, most telling first.
func precedence() []int {
	return []int{codeBroken, codeUsage, codeFailed, codeInvalid, codeRegression}
}

// exitCode returns the code for what a command returned.
func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return codeOK
	}
	if errors.Is(context.Cause(ctx), errInterrupted) {
		return codeInterrupted
	}
	codes := codesOf(err)
	for _, code := range precedence() {
		if slices.Contains(codes, code) {
			return code
		}
	}
	return codeFailed
}

// codesOf returns the codes of all errors that were joined into one; an error that says nothing means failure.
func codesOf(err error) []int {
	switch e := err.(type) { //nolint:errorlint // it is the tree of errors itself that is walked here
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
	return []int{codeFailed}
}
