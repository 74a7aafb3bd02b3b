package priorityqueue

import (
	"context"
	"slices"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/items"
)

// The phases that this queue has beside those of [items].
const (
	phaseUrgent    = "urgent"
	phaseInversion = "inversion"
)

// phases are what is timed, the most telling first.
func phases() []variants.Phase {
	own := []variants.Phase{
		{Name: phaseUrgent, Meaning: "the sojourn of an urgent item", UntimedInLockstep: true},
		{
			Name:              phaseInversion,
			Meaning:           "from when the put of the most urgent item was acknowledged that a taker knew of until the end of the take that passed it over",
			UntimedInLockstep: true,
			Of:                items.PhaseTake,
		},
	}
	return append(own, items.Phases()...)
}

// A participant puts ordinary items, takes some while there is nothing else, then puts an urgent one, and takes as many
// as it has put. The formulas contain these numbers.
const (
	batch      = 10 // items of a step, one of them urgent
	takenFirst = 4  // before that one is put
)

const (
	urgent   Priority = 10
	ordinary Priority = 50
)

// worker is a participant, the same for every variant. At any time it has put as many items as it has taken, or more, so
// that there is always one left for it.
type worker struct {
	items.Worker
	queue Queue
}

var _ variants.Participant = (*worker)(nil)

// join makes a variant's Join out of its constructor.
func join(open func(context.Context, variants.Session, variants.Env) (Queue, error)) variants.JoinFunc {
	return variants.JoinBy(open, func(q Queue, env variants.Env) variants.Participant {
		return &worker{items.Worker{Queue: q, Env: env}, q}
	})
}

// Step implements [variants.Participant]. In a lockstep run all participants put, then take in turn, then all put an
// urgent item, and take in turn again.
func (w *worker) Step(ctx context.Context) error {
	if err := w.round(ctx, ordinary, batch-1, takenFirst); err != nil {
		return err
	}
	return w.round(ctx, urgent, 1, batch-takenFirst)
}

// round puts some items of a priority and takes some of any.
func (w *worker) round(ctx context.Context, p Priority, puts, takes int) error {
	return w.Round(ctx, uint8(p), puts, takes, func(ctx context.Context, data []byte) error { return w.queue.Put(ctx, p, data) })
}

func spans(h variants.History) []variants.Span {
	out := items.Spans(h)
	urgentOnly := slices.DeleteFunc(slices.Clone(h), func(e variants.Event) bool { return priorityOf(e.Value) != urgent })
	out = append(out, urgentOnly.Across(phaseUrgent, items.Putting, items.Took)...)
	for _, i := range inversions(h, read(h)) {
		out = append(out, variants.Span{Phase: phaseInversion, Client: i.take.Client, Start: i.overtaken.PutEnded, End: i.take.At})
	}
	return out
}
