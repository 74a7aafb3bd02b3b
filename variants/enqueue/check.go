package enqueue

import "github.com/zkbench/zkbench/variants"

// The promise that newObserver checks: no variant loses an item, and one that claims to enqueue once leaves one copy.
func newObserver(out variants.Findings) variants.Observer {
	return variants.Observers{
		out.Between(phaseEnqueue, enqueuing, enqueued),
		out.Between(phaseEnqueue, enqueuingOnce, enqueued),
		out.Between(phaseAudit, enqueued, audited),
		copies(out),
	}
}

type item struct {
	once, done bool
	copies     int
}

// copies counts the copies of each item. A client has one item at a time. The number of copies remains unknown if a
// failure of the client has prevented the audit.
func copies(out variants.Findings) variants.ObserverFunc {
	clients := map[int]*item{}
	return func(e variants.Event) {
		i := variants.StateOf(clients, e.Client)
		switch e.Kind {
		case enqueuing, enqueuingOnce:
			*i = item{once: e.Kind == enqueuingOnce}
		case enqueued:
			i.done = true
		case found:
			i.copies++
		case audited:
			i.audited(out, e)
		}
	}
}

// audited reports the result of an audit. Copies of an item are damage. They are a breach only of a variant that
// promises one copy.
func (i *item) audited(out variants.Findings, e variants.Event) {
	switch {
	case i.copies == 0 && i.done:
		out.Lose(e, variants.ItemsLost, 1, "client %d enqueued item %d, which is not in the queue", e.Client, e.Value)
	case i.copies > 1 && (i.once || out.Damage != nil):
		out.Lose(e, variants.ItemsDoubled, int64(i.copies-1),
			"client %d enqueued item %d once, and it is in the queue %d times", e.Client, e.Value, i.copies)
	}
}
