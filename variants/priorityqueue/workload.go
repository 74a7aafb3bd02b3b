package priorityqueue

import (
	"context"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/takequeue"
)

// These phases come in addition to those of takequeue.
const (
	phaseUrgent    = "urgent"
	phaseInversion = "inversion"
)

func phases() []variants.Phase {
	own := []variants.Phase{
		{Name: phaseUrgent, Meaning: "the sojourn of an urgent item", UntimedInLockstep: true},
		{Name: phaseInversion, UntimedInLockstep: true, Of: takequeue.PhaseTake,
			Meaning: "from when the put of the most urgent item that a taker knew of was acknowledged, " +
				"until the end of the take that passed it over"},
	}
	return append(own, takequeue.Phases()...)
}

// A participant puts ordinary items, takes some of them, then puts an urgent one, and takes the rest. The formulas contain
// these numbers.
const (
	batch      = 10 // items of a step, one of them urgent
	takenFirst = 4  // before the urgent one is put
)

const (
	urgent   Priority = 10
	ordinary Priority = 50
)

// worker is a participant, the same for every variant. At any time it has put as many items as it has taken, or more, so
// that there is always one left for it.
type worker struct{ takequeue.Worker }

func newWorker(q Queue, env variants.Env) variants.Participant {
	put := func(ctx context.Context, class uint8, data []byte) error { return q.Put(ctx, Priority(class), data) }
	return &worker{takequeue.Worker{Queue: q, Env: env, Put: put}}
}

// In a lockstep run all participants put, then take in turn, then all put an urgent item, and take in turn again.
func (w *worker) Step(ctx context.Context) error {
	if err := w.Round(ctx, uint8(ordinary), batch-1, takenFirst); err != nil {
		return err
	}
	return w.Round(ctx, uint8(urgent), 1, batch-takenFirst)
}

func newObserver(out variants.Findings) variants.Observer {
	sojourns := out.Across(phaseUrgent, takequeue.Putting, takequeue.Took)
	return append(takequeue.Spans(out, phases()),
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
		b.out.Span(variants.SpanOf(phaseInversion, t.Client, overtaken.At, t.Moment()))
		if !unordered {
			o.Passed(t.Event, overtaken, "client %d took item %#x of priority %d, although it knew of item %#x of priority %d",
				t.Client, t.Value, priorityOf(t.Value), overtaken.ID, priorityOf(overtaken.ID))
		}
	}, passed...)
}
