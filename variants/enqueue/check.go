package enqueue

import "github.com/zkbench/zkbench/variants"

// newObserver returns an observer of the phases and of the promise: no variant loses an item, and one that claims to
// enqueue once leaves one copy.
func newObserver(out variants.Findings) variants.Observer {
	return variants.Observers{
		out.Between(phaseEnqueue, enqueuing, enqueued),
		out.Between(phaseEnqueue, enqueuingOnce, enqueued),
		out.Between(phaseAudit, enqueued, audited),
		copies(out),
	}
}

// item is what the observer knows of an item until it has been audited.
type item struct {
	once, done bool
	copies     int
}

// copies counts the copies of each item.
func copies(out variants.Findings) variants.ObserverFunc {
	open := map[int64]item{}
	return func(e variants.Event) {
		i := open[e.Value]
		switch e.Kind {
		case enqueuingOnce:
			i.once = true
		case enqueued:
			i.done = true
		case found:
			i.copies++
		case audited:
			switch {
			case i.copies == 0 && i.done:
				out.Breach(e, "client %d enqueued item %d, which is not in the queue", e.Client, e.Value)
			case i.copies > 1 && i.once:
				out.Breach(e, "client %d enqueued item %d once, and it is in the queue %d times", e.Client, e.Value, i.copies)
			}
			delete(open, e.Value)
			return
		}
		open[e.Value] = i
	}
}
