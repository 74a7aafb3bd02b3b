package items

import (
	"slices"

	"github.com/zkbench/zkbench/variants"
)

// maxDoubts is how many doubts an observer keeps. There are that many only if an attempt does not end for so long that its
// client must have died.
const maxDoubts = 256

// doubt is an event in which a client passed over items that no client had taken. It breaks the promise unless all of these
// items were taken by attempts that had begun before.
type doubt struct {
	event    variants.Event
	place    int  // of the event in the history
	proves   bool // that items which were passed over were not there
	report   func(item *Stored)
	attempts int       // that had begun before the event and have not ended
	items    []*Stored // that no such attempt has taken, the one that was due first at the head
}

// Doubt calls report with the first of the items that a client passed over in the current event, as soon as it is certain
// that the item was not just being taken. It never does so if all items were. proves says that the variant passes over no item
// that is there, so that one which was passed over was taken.
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

// decide ends a doubt for which all attempts have ended. The items that are left in it were taken by attempts that ended with
// their client's life, each at most one, or they were passed over.
func (o *Observer) decide(d *doubt) {
	for _, item := range slices.Clone(d.items) {
		if d.proves && o.attribute(item, d.place) || !d.proves && o.mayBeTaken(item, d.place) {
			d.excuse(item)
		}
	}
	d.conclude(func(*Stored) bool { return false })
}

// settledBy takes the end of an attempt, and reports whether the doubt is over.
func (d *doubt) settledBy(o *Observer, a attempt, item *Stored) bool {
	if a.Begun >= d.place {
		return false
	}
	d.attempts--
	d.excuse(item)
	if d.attempts == 0 {
		o.decide(d)
	}
	return d.attempts == 0 || len(d.items) == 0
}

// excuse takes an item, if not nil, out of the doubt. Another client may have finished it meanwhile, so that its id decides.
func (d *doubt) excuse(item *Stored) {
	d.items = slices.DeleteFunc(d.items, func(passed *Stored) bool { return item != nil && passed.ID == item.ID })
}

// conclude reports the first item that is not excused, if any.
func (d *doubt) conclude(excused func(*Stored) bool) {
	if i := slices.IndexFunc(d.items, func(item *Stored) bool { return !excused(item) }); i >= 0 {
		d.report(d.items[i])
	}
}
