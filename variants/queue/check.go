package queue

import (
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/takequeue"
)

func newObserver(out variants.Findings) variants.Observer {
	return append(takequeue.Spans(out),
		out.Between(phaseScan, takequeue.Scanning, takequeue.Scanned),
		out.Between(phaseInVain, takequeue.Scanning, takequeue.InVain),
		out.Between(phaseDone, takequeue.Finishing, takequeue.Done),
		takequeue.NewObserver(out, &fifo{}))
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
