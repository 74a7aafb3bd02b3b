package rwlock

import (
	"maps"
	"slices"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/holding"
)

// newObserver returns an observer of the lock's phases and promise.
func newObserver(out variants.Findings) variants.Observer {
	return variants.Observers{
		holding.Spans(out, holding.PhaseAcquire, holding.PhaseHold, holding.PhaseRelease),
		handoffs(out),
		&exclusion{out: out, holders: map[int]Mode{}},
		&sharing{out: out, clients: map[int]*client{}, suspects: map[int]*suspect{}},
		holding.Vacancy(out, holding.LockWords()),
	}
}

// handoffs pairs each acquisition by a client that was already waiting with the release that made way for it: for a writer
// the one that left the lock free, for a reader the last one by a writer. Otherwise the time in between is idle time, not a
// handoff.
func handoffs(out variants.Findings) variants.Observer {
	const never = time.Duration(-1)
	free := map[Mode]time.Duration{Read: never, Write: never}
	waitingSince := map[int]time.Duration{}
	holders := map[int]bool{}
	return variants.ObserverFunc(func(e variants.Event) {
		mode, _ := unstamp(e.Value)
		switch e.Kind {
		case holding.Requested:
			waitingSince[e.Client] = e.At
		case holding.Releasing:
			delete(holders, e.Client)
			if mode == Write {
				free[Read] = e.At
			}
			if len(holders) == 0 {
				free[Write] = e.At
			}
		case holding.Acquired:
			if waitingSince[e.Client] < free[mode] {
				out.Span(variants.Span{Phase: holding.PhaseHandoff, Client: e.Client, Start: free[mode], End: e.At})
			}
			holders[e.Client] = true
			free[Write] = never
			if mode == Write {
				free[Read] = never
			}
		}
	})
}

// exclusion reports writers that do not hold alone, and fencing tokens that do not grow.
type exclusion struct {
	out     variants.Findings
	holders map[int]Mode
	largest [Write + 1]token // by mode, the largest granted so far
}

type token struct {
	value   int64
	granted bool
}

// Observe implements [variants.Observer].
func (x *exclusion) Observe(e variants.Event) {
	switch e.Kind {
	case holding.Acquired:
		x.overlap(e)
		x.order(e)
	case holding.Releasing:
		delete(x.holders, e.Client)
	}
}

// Complete implements [variants.Observer].
func (*exclusion) Complete() {}

// overlap reports the holders that the client must not meet: itself, a writer, and for a writer every other client.
func (x *exclusion) overlap(e variants.Event) {
	mode, _ := unstamp(e.Value)
	for _, client := range slices.Sorted(maps.Keys(x.holders)) {
		if held := x.holders[client]; client == e.Client || mode == Write || held == Write {
			x.out.Breach(e, "client %d acquired the lock as a %s while client %d held it as a %s", e.Client, mode, client, held)
		}
	}
	x.holders[e.Client] = mode
}

// order compares the token of a reader with all earlier ones of writers, and that of a writer with all earlier ones.
func (x *exclusion) order(e variants.Event) {
	mode, value := unstamp(e.Value)
	before := x.largest[Write]
	if mode == Write {
		before = before.or(x.largest[Read])
	}
	if before.granted && value <= before.value {
		x.out.Breach(e, "client %d was granted fencing token %d as a %s after token %d", e.Client, value, mode, before.value)
	}
	x.largest[mode] = x.largest[mode].or(token{value, true})
}

// or returns the larger one of those that were granted.
func (t token) or(other token) token {
	if !t.granted || other.granted && other.value > t.value {
		return other
	}
	return t
}
