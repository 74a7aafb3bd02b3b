package queue

import (
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/items"
)

func newObserver(out variants.Findings) variants.Observer {
	return append(append(items.Spans(out), items.ScanSpans(out)...),
		out.Between(phaseDone, items.Finishing, items.Done),
		items.NewObserver(out, &fifo{}))
}

// fifo reports items that were passed over, each once: when a client takes an item, all items that clients could find
// before that item's put began must be taken.
type fifo struct{ left items.Waiting }

func (f *fifo) Add(item *items.Stored) { f.left.Add(item) }

func (f *fifo) Took(o *items.Observer, t *items.Take, unordered bool) {
	if unordered {
		return
	}
	for _, item := range f.left.Until(t.Item.PutBegun) {
		o.Doubt(t.Event, true, func(item *items.Stored) {
			o.Passed(t.Event, item, "client %d took item %#x, although item %#x had been put before it", t.Client, t.Value, item.ID)
		}, item)
	}
}
