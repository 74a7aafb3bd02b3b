package blockingqueue

import (
	"cmp"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/items"
)

// newObserver returns an observer of a blocking queue's phases and promise.
func newObserver(out variants.Findings) variants.Observer {
	return variants.Observers{
		out.Between(phasePut, putting, put),
		out.Between(phaseTake, requested, taken),
		out.Between(phaseDrain, draining, drained),
		out.Across(phaseSojourn, putting, taken),
		&takes{out: out, open: map[int64]variants.Event{}, claimed: map[int]int64{}},
	}
}

// takes reports items that were taken twice, in the wrong order, before they were put, or never. There is one producer,
// whose items are numbered in the order of its puts.
//
// Two takes are known to be in the wrong order if the take of the later item had ended when the take of the earlier one was
// not yet claimed: times are taken just before a claim is sent and just after it was answered, on one clock.
type takes struct {
	out      variants.Findings
	open     map[int64]variants.Event // the last event of each item that is not taken: putting or put
	finished items.Finished
	latest   int64         // the highest item that was taken
	claimed  map[int]int64 // by client: latest when it claimed
}

// Observe implements [variants.Observer].
func (s *takes) Observe(e variants.Event) {
	switch e.Kind {
	case putting:
		if _, taken := s.finished.Owner(e.Value); !taken {
			s.open[e.Value] = e
		}
	case put:
		if _, open := s.open[e.Value]; open {
			s.open[e.Value] = e
		}
	case claiming:
		s.claimed[e.Client] = s.latest
	case taken:
		s.take(e)
	}
}

func (s *takes) take(e variants.Event) {
	owner, twice := s.finished.Owner(e.Value)
	if _, open := s.open[e.Value]; !open && !twice {
		s.out.Breach(e, "client %d took item %d, which was never put", e.Client, e.Value)
	}
	switch {
	case twice:
		s.out.Breach(e, "client %d took item %d, which %s had taken", e.Client, e.Value, owner)
		return
	case s.claimed[e.Client] > e.Value:
		s.out.Breach(e, "client %d took item %d after item %d had been taken", e.Client, e.Value, s.claimed[e.Client])
	}
	delete(s.open, e.Value)
	s.finished.Add(e.Value, items.Owner{Client: e.Client, Done: e.At})
	s.latest = max(s.latest, e.Value)
}

// Complete implements [variants.Observer]: it reports the items that were put and not taken. A put that was not answered may
// have failed.
func (s *takes) Complete() {
	left := slices.SortedFunc(maps.Values(s.open), func(a, b variants.Event) int { return cmp.Compare(a.Value, b.Value) })
	for _, e := range left {
		if e.Kind == put {
			s.out.Breach(e, "item %d was put and never taken", e.Value)
		}
	}
}
