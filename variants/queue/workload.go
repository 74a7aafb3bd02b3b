package queue

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
)

func phases() []variants.Phase {
	return append(takequeue.Phases(), []variants.Phase{
		{Name: "done", From: takequeue.Finishing, To: takequeue.Done, // none with the variants that delete an item before they process it
			Meaning: "from when an item has been processed until it is out of the queue"},
		{Name: "scan", From: takequeue.Scanning, To: takequeue.Scanned,
			Meaning: "from when a client begins to walk a list of the items, or what is left of one, " +
				"until it has an item or is at the end of the list"},
		{Name: "in-vain", From: takequeue.Scanning, To: takequeue.InVain, Of: "scan",
			Meaning: "a scan in vain: the client was at the end of the list and had no item"},
	}...)
}

// batch is how many items a participant puts before it takes as many: enough that a list is worth keeping. The formulas
// of the variants that keep one contain it.
const batch = 10

// worker is a participant: it puts a batch of items and takes as many, which other clients may have put, the same way for
// every variant. A client that takes has put before, so that there is always an item left for it.
type worker struct{ takequeue.Worker }

var _ variants.Refresher = (*worker)(nil)

func newWorker(q Queue, env variants.Env) variants.Participant {
	put := func(ctx context.Context, _ uint8, data []byte) error { return q.Put(ctx, data) }
	return &worker{takequeue.Worker{Queue: q, Env: env, Put: put}}
}

func join[Q Queue](open func(context.Context, *session.Session, string) (Q, error)) variants.JoinFunc {
	return variants.JoinIn(open, func(q Q, env variants.Env) variants.Participant { return newWorker(q, env) })
}

// In a lockstep run all participants put first, then they take in turn.
func (w *worker) Step(ctx context.Context) error {
	return w.Round(ctx, 0, batch, batch)
}

// Refresh is for the variant whose clients watch each other.
func (w *worker) Refresh(ctx context.Context) error {
	if q, ok := w.Queue.(variants.Refresher); ok {
		return q.Refresh(ctx)
	}
	return nil
}

// fifo reports items that were passed over, each once: when a client takes an item, all items that clients could find
// before that item's put began must be taken.
type fifo struct{ left takequeue.Waiting }

func (f *fifo) Add(item *takequeue.Stored) { f.left.Add(item) }

func (f *fifo) Took(o *takequeue.Observer, t *takequeue.Take, unordered bool) {
	if unordered {
		return
	}
	for _, item := range f.left.Until(t.Item.PutBegun) {
		o.Doubt(t.Event, true, func(item *takequeue.Stored) {
			o.Passed(t.Event, item, "client %d took item %#x, although item %#x had been put before it", t.Client, t.Value, item.ID)
		}, item)
	}
}
