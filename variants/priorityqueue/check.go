package priorityqueue

import (
	"maps"
	"slices"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/takequeue"
)

func newObserver(out variants.Findings) variants.Observer {
	sojourns := out.Across(phaseUrgent, takequeue.Putting, takequeue.Took)
	return append(takequeue.Spans(out),
		variants.ObserverFunc(func(e variants.Event) {
			if priorityOf(e.Value) == urgent {
				sojourns.Observe(e)
			}
		}),
		takequeue.NewObserver(out, &byPriority{out: out, left: map[Priority]*takequeue.Waiting{}}))
}

func priorityOf(id int64) Priority { return Priority(takequeue.ClassOf(id)) }

// byPriority finds inversions, see the comment of the package. An inversion is a breach unless the variant has them.
type byPriority struct {
	out  variants.Findings
	left map[Priority]*takequeue.Waiting
}

func (b *byPriority) Add(item *takequeue.Stored) {
	variants.StateOf(b.left, priorityOf(item.ID)).Add(item)
}

func (b *byPriority) Took(o *takequeue.Observer, t *takequeue.Take, unordered bool) {
	var passed []*takequeue.Stored
	for _, p := range slices.Sorted(maps.Keys(b.left)) {
		if p >= priorityOf(t.Value) {
			break
		}
		for _, item := range b.left[p].Before(t.Begun) {
			if item.FoundBy(t) {
				passed = append(passed, item)
			}
		}
	}
	o.Doubt(t.Event, !unordered, func(overtaken *takequeue.Stored) {
		b.out.Span(variants.Span{Phase: phaseInversion, Client: t.Client, Start: overtaken.At, End: t.At})
		if !unordered {
			o.Passed(t.Event, overtaken, "client %d took item %#x of priority %d, although it knew of item %#x of priority %d",
				t.Client, t.Value, priorityOf(t.Value), overtaken.ID, priorityOf(overtaken.ID))
		}
	}, passed...)
}
