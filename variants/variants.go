// Package variants is the contract between a coordination recipe and whoever runs it.
//
// It takes one position: variants of a recipe differ in nothing but their algorithm. A variant never times or counts
// anything; it is given a session and does its work. What it was asked to do, and when, is recorded by the recipe's
// workload, which is the same for all its variants; what that cost is read off the wire by somebody it cannot see.
// So two variants can be compared, and a reader can lift one file into an application.
package variants

import (
	"context"
	"time"
)

// Kind says which side of the comparison a variant is on.
type Kind string

// The kinds.
const (
	Naive     Kind = "naive"
	Optimized Kind = "optimized"
)

// Recipe is a coordination primitive that applications build from znodes and watches.
type Recipe struct {
	Name     string // also the znode names and the folder: "lock"
	Summary  string // one line, for `zkbench list`
	Source   string // where its algorithms are described
	Variants []Variant

	// Spans turns a history into its timed phases, in any order.
	Spans func(History) []Span
	// Operation is the phase whose end completes one operation.
	Operation string
	// Waiting is the phase in which a participant waits for notifications. A notification that comes in this phase
	// but does not end it woke its receiver for nothing, as did every notification that came in any other phase.
	Waiting string

	// PacedPhases are the phases whose length a stepped run sets, so that they mean nothing there.
	PacedPhases []string

	// Check returns every breach of the promise that all variants of the recipe must keep.
	Check func(History) []Violation
}

// Variant is one algorithm for a recipe.
type Variant struct {
	Name    string // the mechanism: "predecessor-watch"
	Kind    Kind
	Summary string // one line, for `zkbench list`
	Source  string // which document describes it

	// Stepped is the cost of one operation when N participants enqueue first and then leave one by one, each step
	// waiting until every waiter has re-armed its watch. Nothing coalesces then, so the formulas are exact.
	Stepped Cost
	// Free is the cost of one operation when N participants loop at their own pace. Watches fire once until they are
	// set again, so events coalesce: for N > 1 the formulas are upper bounds.
	Free Cost

	// Join makes one participant of a session. The session is the participant's alone.
	Join func(ctx context.Context, session Session, env Env) (Participant, error)
}

// Cost states what one operation costs.
type Cost struct {
	Requests      Formula
	Writes        Formula // of the requests, those that go through the leader, failed ones included
	FailedWrites  Formula // of the writes, those answered with an error
	Notifications Formula
	HerdMax       Formula // notifications set off by the worst single transaction
}

// Formula is a cost as a function of N, the number of participants: for people and for machines.
type Formula struct {
	Text string
	At   func(n int) float64
}

// Participant is one client in a recipe. Its methods are called by one goroutine at a time.
type Participant interface {
	// Step performs one measured operation. After ctx has ended it returns soon, having withdrawn.
	Step(ctx context.Context) error
	// Leave gives up whatever the participant still holds. The session is closed afterwards.
	Leave(ctx context.Context) error
}

// Env is what a participant knows of the run it takes part in.
type Env struct {
	Root   string                            // an existing znode, persistent, empty, and shared by the run's participants alone
	Lost   <-chan struct{}                   // closed once the session is gone or must be taken to be
	Record func(kind EventKind, value int64) // appends to the history, with the time; cheap

	// Hold is called while the participant holds what the recipe gives, and returns when it shall go on: after the
	// scenario's hold time, or, in a stepped run, when its turn has come. lost cuts it short.
	Hold func(ctx context.Context, lost <-chan struct{}) error
}

// WaitFor waits for d, for ctx or for lost, whichever is first. It is an error only if ctx ended.
func WaitFor(ctx context.Context, lost <-chan struct{}, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-lost:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
