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
	Longest() (since time.Duration, waiting bool)
}

// Revocations returns an observer of the times from when a client wants a lock that is held until its holder heeds that. A holder
// that is deaf when its hold ends has not heeded it.
func Revocations(out variants.Findings, phase string, waiting Waiting) variants.Observer {
	since, deaf := map[int]time.Duration{}, Deafness{}
	return variants.ObserverFunc(func(e variants.Event) {
		waiting.Observe(e)
		deaf.Observe(e)
		switch e.Kind {
		case exclusion.Acquired:
			since[e.Client] = e.At
		case exclusion.Heeded:
			if asked, ok := waiting.Longest(); ok && !deaf[e.Client] {
				out.Span(variants.Span{Phase: phase, Client: e.Client, Start: max(asked, since[e.Client]), End: e.At})
			}
		}
	})
}
