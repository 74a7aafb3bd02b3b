package exclusion_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/revocable"
)

// turns returns a history of clients that take turns, each after a random time. A release may end after the next client has acquired.
func turns(random *rand.Rand, clients, steps int) (h variants.History) {
	const idle = -1
	next := make([]variants.EventKind, clients) // what a client records next
	holder, token, at := idle, int64(0), time.Duration(0)
	for len(h) < steps {
		c := random.IntN(clients)
		kind := next[c]
		if kind == exclusion.Acquired && holder != idle {
			continue
		}
		at += time.Duration(random.Int64N(int64(10 * time.Millisecond)))
		switch kind {
		case exclusion.Requested:
			next[c] = exclusion.Acquired
		case exclusion.Acquired:
			next[c], holder = exclusion.Releasing, c
			token++
		case exclusion.Releasing:
			next[c], holder = exclusion.Released, idle
		case exclusion.Released:
			next[c] = exclusion.Requested
		}
		h = append(h, variants.Event{At: at, Client: c, Kind: kind, Value: token, Place: 2 * int64(len(h))})
	}
	return h
}

// before returns the last event of some kinds before h[i], of one client or, with -1, of any.
func before(h variants.History, i, client int, kinds ...variants.EventKind) (event, place int) {
	for j := i - 1; j >= 0; j-- {
		if slices.Contains(kinds, h[j].Kind) && (client < 0 || h[j].Client == client) {
			return int(h[j].Kind), j
		}
	}
	return -1, -1
}

// spans finds the spans of a history in the order of their ends, by a look back from each event.
func spans(h variants.History) (all []variants.Span) {
	for i, e := range h {
		begin := func(phase string, from variants.EventKind) {
			if _, j := before(h, i, e.Client, from); j >= 0 {
				all = append(all, variants.Span{Phase: phase, Client: e.Client, Start: h[j].At, End: e.At})
			}
		}
		switch e.Kind {
		case exclusion.Acquired:
			begin(exclusion.PhaseAcquire, exclusion.Requested)
			_, asked := before(h, i, e.Client, exclusion.Requested)
			if kind, given := before(h, i, -1, exclusion.Acquired, exclusion.Releasing); kind == int(exclusion.Releasing) && asked < given {
				all = append(all, variants.Span{Phase: exclusion.PhaseHandoff, Client: e.Client, Start: h[given].At, End: e.At})
			}
		case exclusion.Releasing:
			begin(exclusion.PhaseHold, exclusion.Acquired)
		case exclusion.Released:
			begin(exclusion.PhaseRelease, exclusion.Releasing)
		}
	}
	return all
}

// The observers of locks find the same spans as a slow search, to the nanosecond.
func TestSpansAgreeWithASearch(t *testing.T) {
	for seed := range uint64(20) {
		h := turns(rand.New(rand.NewPCG(seed, 0)), 1+int(seed)%5, 300)
		want := spans(h)
		for _, recipe := range []variants.Recipe{lock.Recipe(), revocable.Recipe()} {
			got, _ := recipe.Replay(h, false)
			if len(got) != len(want) {
				t.Fatalf("%s, seed %d: %d spans, want %d", recipe.Name, seed, len(got), len(want))
			}
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("%s, seed %d: span %+v, want %+v", recipe.Name, seed, got[i], want[i])
				}
			}
		}
	}
}
