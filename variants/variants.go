// Package variants is the contract between a coordination recipe and the runner that measures it.
//
// It takes one position: variants of a recipe differ in nothing but their algorithm. A variant never times or counts
// anything; it is given a session and does its work. The recipe's workload, which is the same for all its variants, records
// what a participant was asked to do and when. What that costs is counted on the wire, which a variant cannot see. So two
// variants can be compared, and a reader can lift one file into an application.
//
// The comment of a variant has its steps and the exact formulas of its cost. The lockstep scenarios of a recipe, such as lock-drain,
// check the formulas, except those of variants that never come to rest.
package variants

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/zkbench/zkbench/variants/session"
)

// Kind is a side of the comparison.
type Kind string

// The kinds.
const (
	Naive     Kind = "naive"
	Optimized Kind = "optimized"
	Library   Kind = "library" // comes with a client library, and is measured together with the recipe's own variants
)

// Recipe is a coordination primitive that applications build from znodes and watches.
type Recipe struct {
	Name     string // also the folder, unless that has several recipes: "lock"
	Summary  string // one line, for `zkbench list`
	Source   string // where its algorithms are described
	Variants []Variant
	// Libraries are variants that come with a client library. They run only where they are named: the library decides
	// what happens on a failure, so that the rules for a recipe's own variants do not apply.
	Libraries []Variant
	// JoinDriven is the Join of a variant whose driver the user gives. It is nil if none can be given.
	JoinDriven JoinFunc
	// DrivenForgoes are the losses that no variant with a driver can avoid.
	DrivenForgoes []Loss
	// DrivenFixed reports whether clients in drivers cannot join again, see [Workload.Fixed].
	DrivenFixed bool
	// Broken are variants that are known to break the promise, such as a published algorithm with a fault. They run only where
	// they are named. See [Variant.Broken].
	Broken []Variant

	// Phases are ordered by how much they show of a variant: tables show as many as they have room for.
	Phases []Phase
	// Operation is the phase whose end completes one operation.
	Operation string
	Workload

	// Prepare creates the znodes that must exist before the first participant joins; nil if none must. It is called once, with a session
	// that takes no part.
	Prepare func(ctx context.Context, env Env) error
	// Losses are the possible costs of a failure. A run with faults has them as metrics, beside the metrics of every
	// recipe.
	Losses []Loss
	// Orphans counts the znodes below env.Root that no client will remove, when all participants have left; nil if the
	// recipe leaves none. The session takes no part.
	Orphans func(ctx context.Context, env Env) (int64, error)

	// NewObserver returns an observer of one measurement, which finds the phases and checks the promise that all variants of
	// the recipe must keep.
	NewObserver func(Findings) Observer
	// Bound is what any algorithm with this promise must do.
	Bound Bound
	// Events names the kinds of event that participants record, counted from 0, in words that follow "client 1", such as
	// "requests it" or "is granted it". Stories of simulated runs use them.
	Events []string
	// Calls are the kinds that participants record just before they send a write. They record all other kinds after an answer,
	// or without a request.
	Calls []EventKind

	// Code is the Go files of the recipe's package. `zkbench explain` prints the comment of a variant, see [Variant.Type].
	Code fs.FS
}

// Workload describes how the participants of a recipe work, with any variant, so that the runner can give them steps and faults.
type Workload struct {
	// Batch is the number of operations of each participant in one step. Their requests are not spread evenly over the step:
	// ten items may be put and then ten taken. 0 means 1.
	Batch int
	// SizeIsBatch reports whether the scenario's size is the number of operations in one step; see [Workload.BatchOf].
	SizeIsBatch bool

	// Collective reports whether a participant can complete a step only if all others take theirs, too, as in a barrier: all of
	// them then take the same number of steps.
	Collective bool

	// Unpaced reports whether participants with different work do not wait for each other, such as readers and a writer. The formulas
	// hold only if all of them take the same number of steps, and so not in a load that lasts a duration.
	Unpaced bool

	// Size describes what a scenario's size counts, such as "topics that each client watches". It is empty if the recipe does
	// not use a size. The formulas hold for all sizes, and name the size S where they depend on it.
	Size string

	// DefaultSize is the size of a scenario that states none; 0 means 1.
	DefaultSize int

	// Together reports whether participants share memory, such as the channel that a recipe is about, so that one process has all of them.
	Together bool

	// Threaded reports whether the size counts participants that use one session at the same time, as threads of a process do.
	// N in the formulas is then their total number, and a load with a size must be closed.
	Threaded bool

	// NeverHolds reports whether no participant calls [Env.Hold], so that a fault cannot be aimed at one that holds.
	NeverHolds bool
	// Revocable reports whether other participants can ask a holder to stop holding, see [Env.Hold], so that one can be deaf.
	Revocable bool
	// Fixed reports whether no participant can join again, because all must have joined before the first step. Faults that end
	// sessions do not apply then.
	Fixed bool
	// SingleThreaded reports whether a client of any variant works only in the goroutine of its step. If all clients wait for
	// notifications, with no request and no notification under way, then none can ever proceed, and the runner reports that at
	// once.
	SingleThreaded bool
	// Roles are the roles of participants at which a fault can be aimed, see [Roled]; empty if all have the same role.
	Roles []string
}

// Phase is a timed part of a participant's work.
type Phase struct {
	Name    string
	Meaning string // from when to when
	// From and To are the events of one participant at which the phase begins and ends, see [Findings.Timed]. Both are 0 if an observer
	// of the recipe's own finds it.
	From, To EventKind
	// Waits reports whether the participant waits for notifications. A notification that comes in such a phase but does not
	// end it is spurious, as is every notification that comes in any other phase.
	Waits bool
	// UntimedInLockstep reports whether the runner sets the length of the phase in a lockstep run, so that it is not reported
	// there.
	UntimedInLockstep bool
	// Of names the phase of which this one is a special case, as stale reads are of reads. The share of the special case is
	// then a metric, too.
	Of string
	// Floor is the raw operation that every algorithm needs in this phase: the phase is also reported in multiples of it. It
	// is empty if waiting for other participants is a part of the phase.
	Floor Floor
}

// Floor names a raw operation of ZooKeeper, which is a lower bound of a phase.
type Floor string

// The raw operations.
const (
	FloorRead    Floor = "read"    // one read by one session
	FloorWrite   Floor = "write"   // one write, from just before it is sent until its reply
	FloorHandoff Floor = "handoff" // from just before one session sends a write until another is notified of it
)

// BatchOf returns how many operations of each participant one step holds, at a scenario's size.
func (w Workload) BatchOf(size int) int {
	if w.SizeIsBatch {
		return max(size, 1)
	}
	return max(w.Batch, 1)
}

// UsualSize returns the size of a scenario that states none.
func (w Workload) UsualSize() int { return max(w.DefaultSize, 1) }

// All returns all variants of the recipe, those that run only where they are named last.
func (r Recipe) All() []Variant { return slices.Concat(r.Variants, r.Libraries, r.Broken) }

// IsFixed reports whether no participant of a variant can join again.
func (r Recipe) IsFixed(v Variant) bool { return r.Fixed || r.DrivenFixed && v.Driver != nil }

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

// Variant is one algorithm for a recipe.
type Variant struct {
	Name    string // the mechanism: "predecessor-watch"
	Kind    Kind
	Summary string // one line, for `zkbench list`
	Type    string // the Go type or function whose comment explains it; empty if it has the variant's name, as PredecessorWatch
	BadAt   string // one sentence: the use for which it is not suited

	// Broken states, in one sentence without its full stop, which promise the variant breaks and how. It is empty for a variant
	// that is not known to break any. A variant that is known to is listed in [Recipe.Broken].
	Broken string

	Forgoes []Loss // losses that it may cause when a client, a connection or a server fails
	// ForgoesAlways is the part of Forgoes that it may cause even while nothing fails. Runs without faults have these
	// losses as metrics. Any other loss breaks the promise of the variant there.
	ForgoesAlways []Loss

	// Lockstep is the cost of one operation in a lockstep run. It is exact, because nothing coalesces there, and contains all that the
	// N participants send from the first start of a step until all steps are complete, and not what they send to join and to leave.
	// They start one at a time, each when the others are at rest (see docs/glossary.md). Then the holders proceed
	// one at a time, in the order in which they began to hold; those that began in the same step, in the order of their numbers. A
	// holder that is asked to stop holding does so before the next participant starts. The formulas are empty for a variant that never
	// comes to rest, such as one that polls.
	Lockstep Cost
	// Free is the cost of one operation when N participants loop without waiting for each other. Watches fire once until
	// they are set again, so that events coalesce: for N > 1 the formulas are upper bounds.
	Free Cost

	// Driver is the program that has the participants' sessions; nil for a variant in Go. Only libraries have one.
	Driver *Driver

	Join JoinFunc
}

// JoinFunc makes one participant with a session of its own.
type JoinFunc func(ctx context.Context, env Env) (Participant, error)

// JoinBy makes a variant's Join from two functions: one that opens a client's end of the recipe, such as a lock, and one that
// returns the participant that works with it.
func JoinBy[E any](open func(context.Context, Env) (E, error), worker func(E, Env) Participant) JoinFunc {
	return func(ctx context.Context, env Env) (Participant, error) {
		end, err := open(ctx, env)
		if env.Opened != nil {
			env.Opened(end)
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		return worker(end, env), nil
	}
}

// JoinIn is JoinBy for an end that is opened with the participant's session in the run's directory.
func JoinIn[E any](open func(context.Context, *session.Session, string) (E, error), worker func(E, Env) Participant) JoinFunc {
	return JoinBy(func(ctx context.Context, env Env) (E, error) { return open(ctx, env.Session, env.Root) }, worker)
}

// JoinNew is JoinIn for an end that sends nothing when it is opened.
func JoinNew[E any](open func(*session.Session, string) E, worker func(E, Env) Participant) JoinFunc {
	return JoinBy(func(_ context.Context, env Env) (E, error) { return open(env.Session, env.Root), nil }, worker)
}

// HasLockstep reports whether the variant comes to rest while it waits, so that its cost in a lockstep run is exact.
func (v Variant) HasLockstep() bool { return v.Lockstep.Requests != "" }

// Participant is one client in a recipe. Its methods are called by one goroutine at a time.
type Participant interface {
	// Step performs one measured operation. After ctx has ended it returns soon, having withdrawn.
	Step(ctx context.Context) error
	// Leave gives up everything that the participant still holds. The session is closed afterwards.
	Leave(ctx context.Context) error
}

// Refresher is a participant that watches, from when it joins, for participants that join later. The runner calls Refresh when
// all have joined and all notifications of that have arrived, so that the first step does not pay for it.
type Refresher interface {
	// Refresh acts on the notifications that have arrived. It costs no request if there are none.
	Refresh(ctx context.Context) error
}

// Env is the environment of a participant: the run, its session, and the functions by which it reports to the runner.
type Env struct {
	Clients int // the number of participants
	Index   int // of this participant, counted from 0
	Life    int // how often this one has joined before, see [Rejoined]
	Size    int // for each participant, see [Workload.Size]; 0 means the recipe's default

	Completed int // how many steps this one has completed in its earlier lives

	Session *session.Session // the participant's alone
	Dial    DialFunc         // opens a further session of the participant
	// Driven is the client in the variant's driver; nil without a driver. Nothing can be sent on Session then: it only
	// reports the loss of the driver's session.
	Driven Caller

	// Witness returns a session of the run, whose requests are not counted, to look at what other clients can see. It waits until that
	// session has seen all transactions that the participant's session has seen. It is nil where a look could delay the participant.
	Witness func(ctx context.Context) (*session.Session, error)

	Root   string                            // an existing znode, persistent, empty, and shared by the run's participants alone
	Record func(kind EventKind, value int64) // appends to the history, with the time; cheap
	// RecordUnless records otherwise in place of kind if the channel is closed; see [Log.RecordUnless].
	RecordUnless func(closed <-chan struct{}, kind, otherwise EventKind, value int64)

	// Beside returns the environment of a further participant on the same session, such as the lock of another thread. number
	// counts from 1, and the participant records as client Index + number x Clients.
	Beside func(number int) Env

	// Hold is called while the participant holds, such as a lock. It returns after the scenario's hold time or, in a lockstep
	// run, when it is this participant's turn; and when the session is lost.
	//
	// asked is nil unless other participants can ask this one to stop holding, as with a lock that can be revoked. When it is
	// closed, Hold returns early or, in a lockstep run, this participant's turn is next. In a lockstep run, the runner waits
	// after each notification that such a participant receives until asked is closed.
	Hold func(ctx context.Context, asked <-chan struct{}) error

	// Opened takes the end that [JoinBy] has opened, so that no participant is made. It is nil in runs.
	Opened func(end any)
}

// Timed records from, calls op, and records to if op has succeeded, both with the same value, as [Findings.Between] expects.
// what says in an error what was attempted.
func (e Env) Timed(ctx context.Context, what string, from, to EventKind, value int64, op func(context.Context) error) error {
	e.Record(from, value)
	if err := op(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	e.Record(to, value)
	return nil
}

// DialFunc opens a further session of a participant, on the server of its first one. The participant closes it with hangUp,
// which returns when the session has ended, or at once if the session is lost. A session that is left open is closed when the
// participant has left.
//
// The requests of the session are counted with the participant's own, and so are its opening (createSession) and its closing
// (closeSession): a request and a write each, because the servers commit both by a transaction. The session must not set
// watches: the runner looks only at the first session to find out whether the participant is at rest.
type DialFunc func(ctx context.Context) (s *session.Session, hangUp func(), err error)

// WaitFor returns after d, or earlier when asked or lost is closed or ctx ends. It returns an error only if ctx has ended. Both
// channels may be nil.
func WaitFor(ctx context.Context, d time.Duration, asked, lost <-chan struct{}) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
	case <-asked:
	case <-lost:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
