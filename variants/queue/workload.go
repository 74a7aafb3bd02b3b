package queue

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/items"
)

// phaseDone is the phase that this queue has beside those of [items]. It is empty for the variants that delete an item
// before they process it.
const phaseDone = "done"

// batch is how many items a participant puts before it takes as many: enough that a list is worth keeping. The formulas
// of the variants that keep one contain it.
const batch = 10

// worker is a participant: it puts a batch of items and takes as many, which others may have put, the same way for every
// variant. Whoever takes has put before, so that there is always an item left for it.
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

// Step implements [variants.Participant]. In a lockstep run all participants put first, then they take in turn.
func (w *worker) Step(ctx context.Context) error {
	return w.Round(ctx, 0, batch, batch, w.queue.Put)
}

func spans(h variants.History) []variants.Span {
	return append(items.Spans(h), h.Between(phaseDone, items.Finishing, items.Done)...)
}
