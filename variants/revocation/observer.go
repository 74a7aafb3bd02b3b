package revocation

import (
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
)

// Deafness is the set of clients that a fault makes ignore requests, in all their lives until the fault is over.
type Deafness map[int]bool

// Observe takes the next event.
func (d Deafness) Observe(e variants.Event) {
	switch e.Kind {
	case variants.Deafened:
		d[e.Client] = true
	case variants.Hearing:
		delete(d, e.Client)
	}
}

// Waiting is the set of clients that wait and may ask holders to give up, such as [exclusion.Waiting].
type Waiting interface {
	Observe(e variants.Event)
	// Longest returns the time of the first request; waiting is false if there is none.
	Longest() (since variants.Moment, waiting bool)
}

// PhaseRevoke is the time that it takes until a holder that is asked gives up.
const PhaseRevoke = "revoke"

// Phases returns the phases of a lock, of which the last is its hold, with the phase of revocations before them. asker is who wants
// it then, such as "another client".
func Phases(asker string, lock []variants.Phase) []variants.Phase {
	hold := &lock[len(lock)-1]
	hold.Meaning, hold.Waits = "how long holders hold, as the scenario makes them or until they are asked", true
	return append([]variants.Phase{{
		Name: PhaseRevoke, UntimedInLockstep: true,
		Meaning: "from when " + asker + " wants the lock, or its holder has it if that is later, " +
			"until the holder has come to an end because it was asked",
	}}, lock...)
}

// Revocations returns an observer of the times from when a client wants a lock that is held until its holder heeds that. A holder
// that is deaf when its hold ends has not heeded it.
func Revocations(out variants.Findings, waiting Waiting) variants.Observer {
	since, deaf := map[int]variants.Moment{}, Deafness{}
	return variants.ObserverFunc(func(e variants.Event) {
		waiting.Observe(e)
		deaf.Observe(e)
		switch e.Kind {
		case exclusion.Acquired:
			since[e.Client] = e.Moment()
		case exclusion.Heeded:
			if asked, ok := waiting.Longest(); ok && !deaf[e.Client] {
				out.Span(variants.SpanOf(PhaseRevoke, e.Client, asked.Latest(since[e.Client]), e.Moment()))
			}
		}
	})
}

// Overdue reports that a client has held on for longer than the grace after it was asked. One that a fault has made deaf for some of the
// time breaks no promise: it blocks the others.
func Overdue(out variants.Findings, e variants.Event, client int, deaf bool, held, grace time.Duration) {
	const late = "client %d held on for %s after it was asked; the grace is %s"
	if deaf {
		out.Lose(e, variants.Blocked, int64(held-grace), late, client, held, grace)
		return
	}
	out.Breach(e, late, client, held, grace)
}
