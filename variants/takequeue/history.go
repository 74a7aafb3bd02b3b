package takequeue

import "github.com/zkbench/zkbench/variants"

// What a participant records. The value is the item's id, where there is one.
const (
	Putting    variants.EventKind = iota // just before the put is sent
	Put                                  // acknowledged
	Taking                               // begins to look for an item
	Empty                                // found none, and looks again
	Took                                 // has one
	Finishing                            // has processed it
	Done                                 // it is gone for good
	GivenUp                              // just before it is given back; or its claim was lost
	Unordered                            // the variant promises no order
	Removes                              // the variant takes items out of the queue before they are processed
	Scanning                             // begins to walk a list of the items, or the rest of one
	Scanned                              // has an item, or is at the end of the list
	InVain                               // right after Scanned: it is at the end of the list, without an item
	PutTwice                             // just before Put, or in place of it: the item may be there twice, or not at all
	TookUnseen                           // just before Scanned, or in place of it: the client may have taken an item that it does not know of
	Behind                               // one take in so many puts items whose clients have failed behind the others
)

// Events returns the names of the events in this package, see [variants.Recipe].
func Events() []string {
	return []string{
		"begins to put an item", "has put it", "looks for an item", "finds no item", "has taken an item",
		"has processed it", "is done with it", "gives it up",
		"promises no order", "removes items before it processes them", "begins to scan", "ends the scan", "has scanned in vain",
		"may have put the item twice, or not at all", "may have taken an item unseen",
		"puts items of clients that have failed behind the others",
	}
}

// Calls returns the events of this package that a client records just before a write, see [variants.Recipe].
func Calls() []variants.EventKind { return []variants.EventKind{Putting, Finishing, GivenUp} }

// PhaseTake completes an operation of these queues.
const PhaseTake = "take"

const (
	phaseSojourn = "sojourn"
	phaseReclaim = "reclaim"
)

// Phases returns the phases of all these queues, in the order in which tables show them.
func Phases() []variants.Phase {
	return []variants.Phase{
		{Name: PhaseTake, From: Taking, To: Took, Meaning: "from the call until the client has an item", Floor: variants.FloorWrite},
		{Name: phaseSojourn, UntimedInLockstep: true,
			Meaning: "an item's stay in the queue, from just before its put is sent until a client has taken it"},
		{Name: phaseReclaim, UntimedInLockstep: true,
			Meaning: "from when the client that had taken an item died, until a client has taken it again"},
		{Name: "put", From: Putting, To: Put, Meaning: "from just before a put is sent until its reply", Floor: variants.FloorWrite},
	}
}

// Spans returns observers of the phases of a queue that begin and end with an event. An [Observer] finds the rest of [Phases].
func Spans(out variants.Findings, phases []variants.Phase) variants.Observers {
	return append(out.Timed(phases), out.Across(phaseSojourn, Putting, Took))
}
