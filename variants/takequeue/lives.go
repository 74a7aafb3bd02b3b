package takequeue

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// The following is certain about an item when a client fails:
//
//   - An item that the client had, and had processed, is not lost. If another client processes it, too, it is doubled.
//   - An item that the client had removed and not processed is lost.
//   - An item that the client had claimed is free again when the session has ended at the servers. It is lost if clients pass it
//     over afterwards. A client that has died joins again after the time in which its session runs out. If a leader was elected
//     meanwhile, sessions run out as much later, so the item counts as free when that time has passed twice. A client whose
//     session was lost may join again at once, even if the servers have not ended the session: it remains unknown when the
//     item is free.
//   - An attempt that ended with the life of its client may have taken one item that was put before that. It did so if an item
//     was passed over that no other attempt has taken.
//   - Where such an item is put behind the others by one take in so many, clients must know of it when such a take has begun since the item
//     was free, and has ended. Of T takes that have ended, and of the attempts that have not, T/behind are such, and so one has ended if
//     these are more than the attempts. No client failed meanwhile.
//   - A client of some libraries may take an item that it does not know of, because it repeats a delete whose reply was lost. Such an
//     attempt is like one that ended with the client's life. An item that it removed is lost, and one that it claimed, too, unless another
//     client has it in the end, as the session has ended.
//   - It may also put an item twice, because it repeats a create whose reply was lost. That one item may be taken twice, and
//     is then doubled.
//
// Other items may be lost, too, such as one that was removed by a request whose reply its client did not live to see, and that
// no client was expected to find afterwards. They are not counted.

type ending struct {
	client int
	at     variants.Moment
	place  int             // of the end in the history
	freed  variants.Moment // when all claims of that life were free again; none while that is unknown
	unsure bool            // it remains unknown
}

// broken is an attempt that ended with its client's life. It may have taken an item that was put before that. Where clients take tickets,
// it may have taken one that was put later: a ticket whose create was delayed.
type broken struct {
	attempt
	*ending
	spent  bool // an item that it may have taken is attributed to it
	unseen bool // its client lives, and does not know of the item
	later  bool // it may have taken an item that was put later
}

// mayHaveTaken reports whether the attempt can explain that an item was passed over at a place in the history.
func (b *broken) mayHaveTaken(item *Stored, place int) bool {
	return b.Begun < place && (b.later || item.PutBegun < b.place)
}

// freeing is an item that becomes free when the claims of these lives end.
type freeing struct {
	item  *Stored
	lives []*ending
	free  bool // clients need not know of that yet
	due   int  // the place in the history at which the lives had ended, where items are put behind the others
	takes int  // that have begun since, and in which no client failed
}

// unknown stands for the zxid of a write that was not answered, and of an item that no client needs to know.
const unknown int64 = math.MaxInt64

// at returns when the item is free; false while that is unknown.
func (f freeing) at() (at variants.Moment, known bool) {
	for _, l := range f.lives {
		if l.freed.IsNone() {
			return at, false
		}
		at = at.Latest(l.freed)
	}
	return at, true
}

type repeatedWork struct {
	event   variants.Event
	earlier int // the client that had processed it
}

func (o *Observer) observeLife(c *client, e variants.Event) {
	o.fail()
	for i := range o.freeing {
		o.freeing[i].takes = 0
	}
	switch e.Kind {
	case variants.SessionLost:
		c.attempt.Known = 0
	case variants.Died:
		o.endLife(c, e)
	case variants.Rejoined:
		if c.ending == nil {
			o.endLife(c, e)
		} else {
			c.ending.freed = variants.Moment{At: 2*e.At - c.ending.at.At, Worker: e.Worker}
		}
		*c = client{}
	}
}

func (o *Observer) endLife(c *client, e variants.Event) {
	c.ending = &ending{client: e.Client, at: e.Moment(), place: o.place, unsure: e.Kind == variants.Rejoined}
	if t := c.held; t != nil && t.Item != nil {
		t.Item.takes = slices.DeleteFunc(t.Item.takes, func(other *Take) bool { return other == t })
		if len(t.Item.takes) == 0 {
			o.forsake(t.Item, c, e)
		}
	}
	if c.put != nil {
		c.put.unanswered = true
	}
	c.held, c.put = nil, nil
	if c.looking {
		o.pruneBroken()
		o.broken = append(o.broken, &broken{attempt: c.attempt, ending: c.ending, later: o.behind > 0})
		o.endAttempt(c, nil)
	}
}

func (o *Observer) forsake(item *Stored, c *client, e variants.Event) {
	item.forsaken = e.Moment()
	switch {
	case o.removes && item.processed == nil:
		o.lose(e, item, "item %#x is lost: client %d had removed it from the queue when it failed", item.ID, e.Client)
	case o.removes:
		o.finish(item, Owner{Client: e.Client, Done: o.place})
	case item.processed == nil:
		o.freeLater(item, c.ending)
	}
}

// freeLater makes an item available again as soon as the claims of some lives, one of which had it, have ended.
func (o *Observer) freeLater(item *Stored, lives ...*ending) {
	if !slices.ContainsFunc(lives, func(l *ending) bool { return l.unsure }) {
		o.freeing = append(o.freeing, freeing{item: item, lives: lives})
	}
}

// freeDue makes the items available again that were free when a client began a write. A client must know of such an
// item once its server has shown the state after the write, which has this zxid.
func (o *Observer) freeDue(begun time.Duration, zxid int64) {
	for i, f := range o.freeing {
		at, known := f.at()
		if !known || at.At >= begun || f.item.forsaken.IsNone() || o.items[f.item.ID] != f.item {
			continue
		}
		o.freeing[i].due = cmp.Or(f.due, o.place)
		if f.takes < o.behind*(o.attempts+1) {
			continue
		}
		f.item.Zxid = zxid
		if !f.free {
			o.freeing[i].free = true
			f.item.taken, f.item.freed, f.item.Since, f.item.At = false, true, o.place-1, at
			o.present.Add(f.item)
			o.order.Add(f.item)
		}
	}
	o.freeing = slices.DeleteFunc(o.freeing, func(f freeing) bool {
		return f.item.forsaken.IsNone() || f.free && f.item.Zxid < unknown // it is taken again, or nothing is left to do
	})
}

// countTakes counts a take for the items that are to be put behind the others.
func (o *Observer) countTakes(t *Take) {
	for i, f := range o.freeing {
		if f.due > 0 && t.Begun > f.due {
			o.freeing[i].takes++
		}
	}
}

// attribute finds an attempt that may have taken an item which was passed over at a place in the history, and reports
// whether there is one. Attempts take one item each. It uses up the attempt that ended first, which can explain the
// fewest items that are put later.
func (o *Observer) attribute(item *Stored, place int) bool {
	var taker *broken
	var endings []*ending
	for _, b := range o.broken {
		if !b.mayHaveTaken(item, place) {
			continue
		}
		endings = append(endings, b.ending)
		if !b.spent && (taker == nil || b.place < taker.place) {
			taker = b
		}
	}
	if taker == nil {
		return false
	}
	taker.spent = true
	for _, d := range o.doubts {
		d.explain(item)
	}
	switch e := (variants.Event{At: taker.at.At, Client: taker.client}); {
	case item.taken: // and given up, or lost with the session, so that another client could take it
	case taker.unseen && !o.removes:
		item.taken, item.withheld = true, taker
		if o.withheld = append(o.withheld, item); len(o.withheld) > maxDoubts {
			o.loseWithheld(o.withheld[:1])
			o.withheld = o.withheld[1:]
		}
	case taker.unseen:
		o.lose(e, item, "item %#x is lost: client %d has taken it without knowing, as its connection was lost", item.ID, e.Client)
	case o.removes && o.behind == 0:
		o.lose(e, item, "item %#x is lost: client %d was taking it when it failed", item.ID, e.Client)
	default:
		item.taken, item.forsaken = true, taker.at
		o.freeLater(item, endings...)
	}
	return true
}

// recordUnseen records that a client may have taken an item that it does not know of. Where items are claimed, it may
// have claimed one. A remainder of the attempt, such as a watch that still acts, may claim another one at any later
// time: kazoo's LockingQueue does.
func (o *Observer) recordUnseen(c *client, e variants.Event) {
	if !c.looking {
		return
	}
	o.pruneBroken()
	add := func(until int) {
		end := &ending{client: e.Client, at: e.Moment(), place: until, unsure: true}
		o.broken = append(o.broken, &broken{attempt: c.attempt, ending: end, unseen: true})
	}
	add(o.place)
	if !o.removes {
		add(math.MaxInt)
	}
}

// loseWithheld reports the items of a list that clients have claimed without knowing, and that no other client has had since:
// they become free only when the sessions of these clients end.
func (o *Observer) loseWithheld(withheld []*Stored) {
	for _, item := range withheld {
		if o.items[item.ID] == item && len(item.takes) == 0 && item.processed == nil {
			e := variants.Event{At: item.withheld.beganAt, Client: item.withheld.client}
			o.lose(e, item, "item %#x is lost: client %d has claimed it without knowing, as its connection was lost", item.ID, e.Client)
		}
	}
}

func (o *Observer) recordTwice(e variants.Event) {
	if len(o.twice) == maxDoubts {
		o.twice = o.twice[1:] // the oldest, which has been taken twice by now if it is there twice
	}
	o.twice = append(o.twice, e.Value)
}

func (o *Observer) takesCopy(t *Take) bool {
	i := slices.Index(o.twice, t.Value)
	if i < 0 || len(t.Item.takes) == 0 {
		return false
	}
	o.twice = slices.Delete(o.twice, i, i+1)
	o.out.Lose(t.Event, variants.ItemsDoubled, 1, "client %d took item %#x, which was put twice, as a connection was lost", t.Client, t.Value)
	return true
}

// mayBeTaken reports whether an item that was passed over at a place in the history may have been taken by an attempt whose
// client has failed.
func (o *Observer) mayBeTaken(item *Stored, place int) bool {
	return slices.ContainsFunc(o.broken, func(b *broken) bool { return !b.spent && b.mayHaveTaken(item, place) })
}

// pruneBroken forgets the attempts that can have taken none of the items that are left.
func (o *Observer) pruneBroken() {
	if len(o.broken) == 0 {
		return
	}
	if o.behind > 0 {
		o.broken = o.broken[max(0, len(o.broken)-maxDoubts):]
		return
	}
	oldest := -1
	for _, item := range o.items {
		if !item.taken && !item.unanswered && (oldest < 0 || item.PutBegun < oldest) {
			oldest = item.PutBegun
		}
	}
	for _, d := range o.doubts {
		for _, item := range d.items {
			oldest = min(oldest, item.PutBegun)
		}
	}
	o.broken = slices.DeleteFunc(o.broken, func(b *broken) bool {
		return oldest < 0 && b.place <= o.place || oldest >= b.place || b.unseen && b.spent
	})
}

// process records that a client has processed its item. A second processing is damage if a client has failed; otherwise
// both clients have the item for good, see [Observer.checkTakes].
func (o *Observer) process(t *Take, e variants.Event) {
	if t.Item == nil {
		return
	}
	if earlier := t.Item.processed; earlier != nil && len(o.again) < maxDoubts {
		o.again = append(o.again, repeatedWork{e, earlier.Client})
	}
	t.Item.processed, t.worked = t, true
	if o.failed {
		o.reportAgain()
	}
}

func (o *Observer) fail() {
	o.failed = true
	o.reportAgain()
}

func (o *Observer) reportAgain() {
	for _, a := range o.again {
		o.out.Lose(a.event, variants.ItemsDoubled, 1, "client %d processed item %#x, which client %d had processed",
			a.event.Client, a.event.Value, a.earlier)
	}
	o.again = nil
}

// Passed reports an item that was passed over although it was there, in words. If it should have been free again after its
// taker had failed, it is lost.
func (o *Observer) Passed(e variants.Event, item *Stored, format string, args ...any) {
	if !item.freed {
		o.out.Breach(e, format, args...)
		return
	}
	if o.items[item.ID] == item {
		o.lose(e, item, format+"; it was not free again after the session of its taker had ended", args...)
	}
}

func (o *Observer) lose(e variants.Event, item *Stored, format string, args ...any) {
	item.taken = true
	o.out.Lose(e, variants.ItemsLost, 1, format, args...)
	o.finish(item, Owner{Client: e.Client, Done: o.place})
}
