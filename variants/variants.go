// Package variants is the contract between a coordination recipe and whoever runs it.
//
// It takes one position: variants of a recipe differ in nothing but their algorithm. A variant never times or counts
// anything; it is given a session and does its work. What it was asked to do, and when, is recorded by the recipe's
// workload, which is the same for all its variants; what that cost is read off the wire by somebody it cannot see.
// So two variants can be compared, and a reader can lift one file into an application.
package variants

import (
	"context"
	"io/fs"
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
	Name     string // also the folder, unless that has several recipes: "lock"
	Summary  string // one line, for `zkbench list`
	Source   string // where its algorithms are described
	Variants []Variant

	// Phases are what is timed, first what tells most about a variant: tables show as many as there is room for.
	Phases []Phase
	// Spans finds the phases in a history, in any order.
	Spans func(History) []Span
	// Operation is the phase whose end completes one operation.
	Operation string
	// Batch is how many operations of each participant one step holds: their requests are not spread evenly over it, as
	// where ten items are put and then ten are taken. 0 means 1.
	Batch int

	// CountFrom says what of a lockstep run is counted.
	CountFrom CountFrom
	// Collective tells that no participant can complete a step unless all others take theirs, too, as in a barrier: so
	// all of them do the same number of steps.
	Collective bool

	// Size says what a scenario's size counts, such as "topics that each client watches"; empty if the recipe has no use for
	// one. The formulas hold for every size.
	Size string

	// Check returns every breach of the promise that all variants of the recipe must keep, in a whole history: every
	// participant has done all that it was going to do.
	Check func(History) []Violation
	// CheckPrefix returns the breaches that a history proves up to some moment, however it goes on. An operation that is
	// still open then breaks nothing: it may yet complete, and its client may yet learn that its session was lost. It is
	// Check itself where Check never depends on what comes later.
	CheckPrefix func(History) []Violation

	// Code is the Go files of the recipe's package. What `zkbench explain` says of a variant is the comment of its type.
	Code fs.FS
}

// Phase is a stretch of a participant's work that is timed.
type Phase struct {
	Name    string
	Meaning string // from when to when
	// Waits tells that the participant waits for notifications. A notification that comes in such a phase but does not
	// end it woke its receiver for nothing, as did every notification that came in any other phase.
	Waits bool
	// UntimedInLockstep tells that a lockstep run sets its length, so that it means nothing there.
	UntimedInLockstep bool
	// Of names a phase some of which are of this kind, too, as some reads are stale: then it is measured not only how
	// long they take, but how often they come.
	Of string
	// Floor is the raw operation that the phase cannot do without, whatever the algorithm: its length is given in
	// multiples of that, too. Empty where waiting for other participants is a part of the phase.
	Floor Floor
}

// Floor names a raw operation of ZooKeeper, which bounds from below what a phase takes.
type Floor string

// The raw operations.
const (
	FloorRead    Floor = "read"    // one read by one session
	FloorWrite   Floor = "write"   // one write, from just before it is sent until its reply
	FloorHandoff Floor = "handoff" // from just before one session sends a write until another is notified of it
)

// PhasesWhere returns the names of some of the phases, in their order.
func (r Recipe) PhasesWhere(wanted func(Phase) bool) []string {
	names := []string{}
	for _, p := range r.Phases {
		if wanted(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

// CountFrom says what of a lockstep run is counted. In such a run the participants start one after another, each when all
// others have come to rest: they hold, or wait with an armed watch, or are done. Then those who hold go on one by one, in
// the order in which they came to hold (those who did in the same step by their number), again each when all others have
// come to rest. A holder that another participant asks to go on has its turn at once, before the next one starts.
type CountFrom int

const (
	// FromLineUp leaves out what it takes until all have started: counted is how a line that has formed is served.
	FromLineUp CountFrom = iota
	// FromStart counts everything.
	FromStart
)

// Variant is one algorithm for a recipe.
type Variant struct {
	Name    string // the mechanism: "predecessor-watch"
	Kind    Kind
	Summary string // one line, for `zkbench list`
	Source  string // which document describes it
	Type    string // the Go type whose comment explains it
	BadAt   string // one sentence: what it should not be used for

	// Lockstep is the cost of one operation in a lockstep run of N participants (see [CountFrom]). Nothing coalesces then,
	// so the formulas are exact. It is empty for a variant that never comes to rest, such as one that polls.
	Lockstep Cost
	// Free is the cost of one operation when N participants loop at their own pace. Watches fire once until they are
	// set again, so events coalesce: for N > 1 the formulas are upper bounds.
	Free Cost

	// Prepare creates what must be there before anybody joins, such as the items of a full queue; nil if there is nothing.
	// It is called once, with a session that takes no part.
	Prepare func(ctx context.Context, session Session, env Env) error

	// Join makes the participants.
	Join JoinFunc
}

// JoinFunc makes one participant of a session. The session is the participant's alone.
type JoinFunc func(ctx context.Context, session Session, env Env) (Participant, error)

// JoinBy makes a variant's Join out of how a client opens its end of the recipe, such as a lock, and of whoever then works
// with that.
func JoinBy[E any](open func(context.Context, Session, Env) (E, error), worker func(E, Env) Participant) JoinFunc {
	return func(ctx context.Context, session Session, env Env) (Participant, error) {
		end, err := open(ctx, session, env)
		if err != nil {
			return nil, err
		}
		return worker(end, env), nil
	}
}

// HasLockstep tells whether the variant comes to rest while it waits, so that its cost in a lockstep run can be exact.
func (v Variant) HasLockstep() bool { return v.Lockstep.Requests != "" }

// Cost states what one operation costs.
type Cost struct {
	Requests      Formula
	Writes        Formula // of the requests, those that go through the leader, failed ones included
	FailedWrites  Formula // of the writes, those answered with an error
	Notifications Formula
	HerdMax       Formula // notifications set off by the worst single transaction
}

// Participant is one client in a recipe. Its methods are called by one goroutine at a time.
type Participant interface {
	// Step performs one measured operation. After ctx has ended it returns soon, having withdrawn.
	Step(ctx context.Context) error
	// Leave gives up whatever the participant still holds. The session is closed afterwards.
	Leave(ctx context.Context) error
}

// Refresher is a participant that watches, from when it joins, for others who join later. The runner calls Refresh when all
// have joined and every notification of that has arrived, so that the first step does not pay for it.
type Refresher interface {
	// Refresh acts on the notifications that have arrived. It costs no request if there are none.
	Refresh(ctx context.Context) error
}

// Env is what a participant knows of the run it takes part in.
type Env struct {
	Clients int // how many participants there are
	Index   int // which one of them this is, from 0 on
	Size    int // how much of what the recipe works on there is for each of them, see [Recipe]; 0 means 1

	Root   string                            // an existing znode, persistent, empty, and shared by the run's participants alone
	Lost   <-chan struct{}                   // closed once the session is gone or must be taken to be
	Record func(kind EventKind, value int64) // appends to the history, with the time; cheap

	// Hold is called while the participant holds what the recipe gives, and returns when it shall go on: after the
	// scenario's hold time, or, in a lockstep run, when its turn has come. lost cuts it short, or makes its turn the next
	// one. A lockstep run takes it that a channel other than Lost is closed as soon as the holder has received a
	// notification, and waits until it is.
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
