package variants

import (
	"errors"
	"slices"
)

// The events that the runner records when a client fails. They are the same for all recipes, whose own kinds are smaller.
// The value is the number of the client's life, counted from zero: a client that joins again begins the next one.
const (
	// SessionLost is recorded at the earliest moment at which a client can know that its session is lost, see
	// [session.Monitor.Lost]. The client continues until it notices, and its events are recorded.
	SessionLost EventKind = 250 + iota
	// Died is recorded when a client stops dead. It is the last event of that life: the client sends nothing more. Its
	// session, and its ephemeral znodes with it, end up to a session timeout later.
	Died
	// Rejoined is recorded when a client has joined again with a new session. Operations that were open in its former life
	// never end.
	Rejoined
	// Deafened is recorded when a client no longer acts on requests of other clients: a fault makes it ignore them, or
	// has cut it off from them.
	Deafened
	// Hearing is recorded when a deaf client acts on requests again.
	Hearing
)

// ErrTakenAway is wrapped by the error of a step that fails although the session lives, because another client has taken the
// hold away.
var ErrTakenAway = errors.New("taken away")

// EndsLife reports whether an event ends all open operations of its client: the client is dead, or has begun another life.
func (e Event) EndsLife() bool { return e.Kind == Died || e.Kind == Rejoined }

// Loss is a cost of a failure to the users of a recipe. It is also the name of a metric.
type Loss string

// The losses.
const (
	ItemsLost    Loss = "items-lost"    // items or tasks whose submission was acknowledged, and that no client will process
	ItemsDoubled Loss = "items-doubled" // items or tasks that were processed again
	OutOfStep    Loss = "out-of-step"   // times that a member began a round before all had entered, or left it before all had finished
	Orphans      Loss = "orphans"       // znodes that no client will remove
	Blocked      Loss = "blocked-ns"    // the longest time that a live client has waited for one that had failed
	TornReads    Loss = "torn-reads"    // uses of values that belong to different updates
	Fenced       Loss = "fenced"        // operations that overlapped a later holder's, and that a check of the fencing token stops
)

// IsBreach reports whether a loss breaks the promise of a variant that does not forgo it. Fenced operations are not a breach:
// fencing tokens exist to stop them.
func (l Loss) IsBreach() bool { return l != Fenced }

// IsLongest reports whether the longest of several amounts counts, which are times. Other amounts are added up.
func (l Loss) IsLongest() bool { return l == Blocked }

// Sum combines two amounts of a loss.
func (l Loss) Sum(a, b int64) int64 {
	if l.IsLongest() {
		return max(a, b)
	}
	return a + b
}

// Damage is a loss that an observer has found.
type Damage struct {
	Loss      Loss
	Amount    int64
	Violation // for variants that do not forgo the loss
}

// Lose reports a loss at the time of an event. Findings without Damage receive it as a violation if it is a breach.
func (f Findings) Lose(e Event, loss Loss, amount int64, format string, args ...any) {
	d := Damage{loss, amount, e.Violation(format, args...)}
	switch {
	case f.Damage != nil:
		f.Damage(d)
	case loss.IsBreach():
		f.Violation(d.Violation)
	}
}

// Forgone reports whether a variant may cause a loss when something fails.
func (v Variant) Forgone(l Loss) bool { return slices.Contains(v.Forgoes, l) }

// ForgoneAlways reports whether a variant may cause a loss even while nothing fails.
func (v Variant) ForgoneAlways(l Loss) bool { return slices.Contains(v.ForgoesAlways, l) }

// Roled is a participant that has a role, such as the master among workers, at which a fault can be aimed. Its role is one of
// [Workload.Roles] and may change over time. Role may be called concurrently with the other methods.
type Roled interface {
	Role() string
}

// Rounded is a participant whose steps are numbered: in each step, all participants take part in the same round. One that
// joins again finds the group in the round in which it failed, or in a later one.
type Rounded interface {
	// Round returns the number of the participant's next step, counted from 0. It is not called during a step.
	Round() int64
}
