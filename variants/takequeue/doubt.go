package takequeue

import (
	"slices"

	"github.com/zkbench/zkbench/variants"
)

// maxDoubts is how many doubts an observer keeps. More doubts arise only if an attempt does not end for so long that
// its client must have died.
const maxDoubts = 256

// doubt is an event in which a client passed over items that no client had taken. It breaks the promise unless attempts
// that had begun before took all of these items.
type doubt struct {
	event    variants.Event
	place    int  // of the event in the history
	proves   bool // that items which were passed over were not there
	report   func(item *Stored)
	attempts int       // attempts that had begun before the event and have not ended
	items    []*Stored // items that no such attempt has taken, the one that was due first at the head
}

// Doubt calls report with the first of the items that a client passed over in the current event, as soon as it is
// certain that the item was not just being taken. It does not call report if all items were being taken. proves says
// that the variant passes over no item that is there, so that an item that was passed over had been taken.
func (o *Observer) Doubt(e variants.Event, proves bool, report func(item *Stored), items ...*Stored) {
	if len(items) == 0 {
		return
	}
	d := &doubt{e, o.place, proves, report, o.attempts, items}
	if d.attempts == 0 {
		o.decide(d)
		return
	}
	if len(o.doubts) == maxDoubts {
		o.doubts[0].conclude(func(item *Stored) bool { return !item.taken })
		o.doubts = o.doubts[1:]
	}
	o.doubts = append(o.doubts, d)
}

// decide ends a doubt for which all attempts have ended. Either attempts that ended with their client's life took the
// items that are left in it, each at most one, or the items were passed over.
func (o *Observer) decide(d *doubt) {
	for _, item := range slices.Clone(d.items) {
		if d.proves && o.attribute(item, d.place) || !d.proves && o.mayBeTaken(item, d.place) {
			d.explain(item)
		}
	}
	d.conclude(func(*Stored) bool { return false })
}

// settledBy handles the end of an attempt, and reports whether the doubt is over.
func (d *doubt) settledBy(o *Observer, a attempt, item *Stored) bool {
	if a.Begun >= d.place {
		return false
	}
	d.attempts--
	d.explain(item)
	if d.attempts == 0 {
		o.decide(d)
	}
	return d.attempts == 0 || len(d.items) == 0
}

// explain removes an item, which may be nil, from the doubt. Another client may have finished it meanwhile, so that
// items are compared by their ids.
func (d *doubt) explain(item *Stored) {
	d.items = slices.DeleteFunc(d.items, func(passed *Stored) bool { return item != nil && passed.ID == item.ID })
}

// conclude calls report for the first item that is not explained, if any.
func (d *doubt) conclude(explained func(*Stored) bool) {
	if i := slices.IndexFunc(d.items, func(item *Stored) bool { return !explained(item) }); i >= 0 {
		d.report(d.items[i])
	}
}
