// Package outcome names the possible outcomes of a check, and the exit codes of zkbench.
//
// It takes one position: of several outcomes the worst decides, in one order for all commands. A measurement that is wrong
// or void must not be reported as merely slow.
package outcome

import (
	"cmp"
	"slices"
)

// Outcome is the result of one check. The zero value is none of the outcomes below, and passes nothing.
type Outcome string

// The outcomes.
const (
	Pass         Outcome = "pass"
	Regression   Outcome = "regression"   // worse than the limit
	Violation    Outcome = "violation"    // the recipe broke its promise
	Inconclusive Outcome = "inconclusive" // neither shown nor ruled out
	Invalid      Outcome = "invalid"      // the numbers must not be used
	Error        Outcome = "error"        // the check could not be made
)

// The exit codes. Scripts depend on them.
const (
	CodePass        = 0
	CodeFailed      = 1   // could not run
	CodeUsage       = 2   // a mistake in flags or files
	CodeRegression  = 3   // worse than a limit, a baseline or another build
	CodeBroken      = 4   // a recipe broke its promise
	CodeInvalid     = 5   // void or inconclusive
	CodeInterrupted = 130 // stopped by a signal
	CodeSkip        = 125 // for `git bisect run`: this commit cannot be decided
)

// rank is an exit code and the outcomes that lead to it, the worst first.
type rank struct {
	code     int
	outcomes []Outcome
}

func precedence() []rank {
	return []rank{
		{CodeBroken, []Outcome{Violation}}, {CodeUsage, nil}, {CodeFailed, []Outcome{Error}}, {CodeInvalid, []Outcome{Invalid, Inconclusive}},
		{CodeRegression, []Outcome{Regression}}, {CodePass, []Outcome{Pass}},
	}
}

// Compare orders outcomes for slices.SortFunc, the worst first. An unknown outcome is as bad as Inconclusive.
func Compare(a, b Outcome) int {
	var order []Outcome
	for _, r := range precedence() {
		order = append(order, r.outcomes...)
	}
	severity := func(o Outcome) int {
		return cmp.Or(slices.Index(order, o)+1, slices.Index(order, Inconclusive)+1)
	}
	return severity(a) - severity(b)
}

// Code returns the exit code that one outcome leads to; CodeInvalid for an unknown one.
func (o Outcome) Code() int {
	for _, r := range precedence() {
		if slices.Contains(r.outcomes, o) {
			return r.code
		}
	}
	return CodeInvalid
}

// ForBisect returns the exit code for `git bisect run` in place of another one: a commit that could not be measured or decided is skipped,
// whereas other failures mean that it is bad.
func ForBisect(code int) int {
	switch code {
	case CodeFailed, CodeUsage, CodeInvalid:
		return CodeSkip
	default:
		return code
	}
}

// Deciding returns the exit code that decides among several; CodePass without any, CodeFailed if the precedence has none of them.
func Deciding(codes ...int) int {
	for _, r := range precedence() {
		if slices.Contains(codes, r.code) {
			return r.code
		}
	}
	if len(codes) > 0 {
		return CodeFailed
	}
	return CodePass
}

type withCode struct {
	code int
	err  error
}

// With adds an exit code to an error, which is nil if its text has been printed.
func With(code int, err error) error { return withCode{code, err} }

// Error returns the text of the error; empty if it has been printed.
func (e withCode) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap returns the error without its code.
func (e withCode) Unwrap() error { return e.err }

// CodesOf returns the codes of all errors that were joined into one. An error without a code counts as CodeFailed.
func CodesOf(err error) []int {
	switch e := err.(type) { //nolint:errorlint // this walks the tree of errors
	case withCode:
		return []int{e.code}
	case interface{ Unwrap() []error }:
		var codes []int
		for _, part := range e.Unwrap() {
			codes = append(codes, CodesOf(part)...)
		}
		return codes
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return CodesOf(inner)
		}
	}
	return []int{CodeFailed}
}
