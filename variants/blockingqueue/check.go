package blockingqueue

import (
	"cmp"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/takequeue"
)

func newObserver(out variants.Findings) variants.Observer {
	return append(out.Timed(phases()), out.Across(phaseSojourn, putting, taken), &takes{
		out: out, open: map[int64]variants.Event{}, clients: map[int]*consumer{}, broken: map[int64]variants.Event{},
		ended: map[int]variants.Event{},
	})
}

// takes reports items that were taken twice, in the wrong order, before they were put, or never. There is one producer,
// whose items are numbered in the order of its puts, beside clients that make up for items that their failure may have
// cost.
//
// Two takes are known to be in the wrong order if the take of the later item had ended when the take of the earlier one
// was not yet claimed: a claim is recorded just before it is sent, and a take just after it was answered.
//
// A client that fails after it has sent a claim may have taken that item. It did so if a later item was taken and this
// one never was: the item is lost. Items may be left then, because a client that fails takes fewer than were put for
// it.
//
// Where items have no order, nothing is known of an item that was not taken when a client has failed: it may go behind the others later.
//
// Where items end with the session of their producer, an item that was never taken is lost when that session has ended.
type takes struct {
	out      variants.Findings
	open     map[int64]variants.Event // the last event of each item that is not taken: putting or put
	finished takequeue.Finished
	latest   int64 // the highest item of the producer that was taken
	clients  map[int]*consumer
	failed   bool
	short    bool                     // items end with the session of their producer
	unsorted bool                     // items are taken in any order
	ended    map[int]variants.Event   // by client: the last end of a life or a session
	broken   map[int64]variants.Event // by item that is not taken: the end of the life of a client that was claiming it
}

type consumer struct {
	waiting bool  // it has requested an item
	claims  int64 // the item that it claims; zero if it claims none
	latest  int64 // of takes, when it began to claim
}

func (s *takes) Observe(e variants.Event) {
	c := variants.StateOf(s.clients, e.Client)
	switch e.Kind {
	case putting:
		if _, taken := s.finished.Owner(e.Value); !taken {
			s.open[e.Value] = e
		}
	case put:
		if _, open := s.open[e.Value]; open {
			s.open[e.Value] = e
		}
	case requested:
		c.waiting = true
	case claiming:
		c.claims, c.latest = e.Value, s.latest
	case taken:
		s.take(e, c.latest)
		*c = consumer{}
	case shortLived:
		s.short = true
	case unordered:
		s.unsorted = true
	case variants.SessionLost:
		s.failed, s.ended[e.Client] = true, e
	case variants.Died, variants.Rejoined:
		s.failed, s.ended[e.Client] = true, e
		if _, open := s.open[c.claims]; open {
			s.broken[c.claims] = e
		}
		*c = consumer{}
	}
}

// take handles the take of an item. latest is the highest item that had been taken when the claim was sent.
func (s *takes) take(e variants.Event, latest int64) {
	owner, twice := s.finished.Owner(e.Value)
	begun, open := s.open[e.Value]
	if !open && !twice {
		s.out.Breach(e, "client %d took %s, which was never put", e.Client, variants.Named("item %d", e.Value))
	}
	switch {
	case twice:
		s.out.Lose(e, variants.ItemsDoubled, 1, "client %d took item %d, which %s had taken", e.Client, e.Value, owner)
		return
	case !s.unsorted && latest > e.Value && (begun.Kind == put || s.ended[begun.Client].At <= begun.At):
		// Otherwise the put was not answered in the life of its producer: it may take effect in the next one, after others.
		s.out.Breach(e, "client %d took item %d after item %d had been taken", e.Client, e.Value, latest)
	}
	delete(s.open, e.Value)
	delete(s.broken, e.Value)
	s.finished.Add(e.Value, takequeue.Owner{Client: e.Client})
	if e.Value&spare == 0 {
		s.latest = max(s.latest, e.Value)
	}
}

// Complete reports the items that were put and not taken. A put that was not answered may have failed.
func (s *takes) Complete() {
	left := slices.SortedFunc(maps.Values(s.open), func(a, b variants.Event) int { return cmp.Compare(a.Value, b.Value) })
	waits := slices.ContainsFunc(slices.Collect(maps.Values(s.clients)), func(c *consumer) bool { return c.waiting })
	for _, e := range left {
		end, broken := s.broken[e.Value]
		passed := e.Value < s.latest // never a spare item
		switch {
		case e.Kind != put || s.unsorted && s.failed: // a client may find it later
		case s.short && s.ended[e.Client].At > e.At:
			s.out.Lose(s.ended[e.Client], variants.ItemsLost, 1,
				"item %d is lost: the session of client %d, which had put it, has ended", e.Value, e.Client)
		case !s.failed || passed && !broken:
			s.out.Breach(e, "item %d was put and never taken", e.Value)
		case passed:
			s.out.Lose(end, variants.ItemsLost, 1, "item %d is lost: client %d was claiming it when it failed", e.Value, end.Client)
		case waits && !broken:
			s.out.Breach(e, "item %d was put and never taken, although a client waits for one", e.Value)
		}
	}
}
