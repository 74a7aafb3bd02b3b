package items

import "github.com/zkbench/zkbench/variants"

// What a participant records. The value is the item's id, where there is one.
const (
	Putting   variants.EventKind = iota // just before the put is sent
	Put                                 // acknowledged
	Taking                              // begins to look for an item
	Empty                               // found none, and looks again
	Took                                // has one
	Finishing                           // has processed it
	Done                                // it is gone for good
	GivenUp                             // just before it is given back; or its claim was lost
	Unordered                           // the variant promises no order
	Removes                             // the variant takes items out of the queue before they are processed
)

// The phases that all these queues have.
const (
	PhasePut     = "put"
	PhaseTake    = "take"
	PhaseSojourn = "sojourn"
	PhaseReclaim = "reclaim"
)

// Phases returns these phases, the most telling first.
func Phases() []variants.Phase {
	return []variants.Phase{
		{Name: PhaseTake, Meaning: "from the call until the client has an item", Floor: variants.FloorWrite},
		{Name: PhaseSojourn, Meaning: "an item's stay in the queue, from just before its put is sent until a client has taken it", UntimedInLockstep: true},
		{Name: PhaseReclaim, Meaning: "from when the client that had taken an item died, until a client has taken it again", UntimedInLockstep: true},
		{Name: PhasePut, Meaning: "from just before a put is sent until its reply", Floor: variants.FloorWrite},
	}
}

// Spans returns observers that find these phases.
func Spans(out variants.Findings) variants.Observers {
	return variants.Observers{
		out.Between(PhasePut, Putting, Put),
		out.Between(PhaseTake, Taking, Took),
		out.Across(PhaseSojourn, Putting, Took),
	}
}
