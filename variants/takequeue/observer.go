package takequeue

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// Observer checks a queue's promise: each item that is taken was put, no other client has it, and no client finds the queue
// empty while an item is there that no client takes, unless clients stand in line. The recipe's [Order] decides in which order items must
// be taken.
//
// A client may fail. Its cost is a [variants.Loss]; lives.go explains which losses are certain.
//
// The observer keeps the items that are not finished, each client's attempt to take one, the last attempts of lives that have
// ended, and the doubts that depend on attempts which have not ended. It compares events of different clients by their places
// in the history and by zxids. Only how long the claims of a failed client stand is a matter of time.
type Observer struct {
	out       variants.Findings
	order     Order
	items     map[int64]*Stored
	finished  Finished
	clients   map[int]*client
	attempts  int     // of clients in their present lives, that have not ended
	present   Waiting // items that clients have not missed yet
	doubts    []*doubt
	unordered bool

	place    int // of the current event, an even number; odd ones stand for moments between two events
	failed   bool
	removes  bool           // items are out of the queue before they are processed
	behind   int            // one take in so many puts items whose takers have failed behind the others; zero if they keep their places
	broken   []*broken      // attempts that ended with their client's life, and may have taken an item
	freeing  []freeing      // items whose takers have died
	again    []repeatedWork // waits for a failure that explains it
	withheld []*Stored      // items that clients may have claimed without knowing
	twice    []int64        // ids of items that may be there twice, the oldest first
}

// Order is a recipe's rule for which item is next.
type Order interface {
	// Add is called when the put of an item has been acknowledged, unless the item was taken before that.
	Add(item *Stored)
	// Took is called when a client has taken an item. It passes items to o.Doubt that the client should have taken instead.
	// If unordered, the variant promises no order.
	Took(o *Observer, t *Take, unordered bool)
}

// Stored is an item that was put and is not finished.
type Stored struct {
	ID       int64
	PutBegun int             // the place in the history at which its client began to put it
	Since    int             // the place from which clients could find it, as its put was acknowledged or it was free again
	Zxid     int64           // of a transaction: a client whose server has shown the state after it must know of the item
	At       variants.Moment // when clients could first find it
	taken    bool            // a client has taken it, or may have
	takes    []*Take         // in the order in which they ended, without takes that were given up or whose client's life has ended

	unanswered bool            // its put never ends, because its client has failed
	processed  *Take           // the last one whose client has processed it
	forsaken   variants.Moment // when the client that had taken it failed; none if none did since it was taken last
	withheld   *broken         // the attempt that may have claimed it without its client's knowledge
	freed      bool            // it must be free again because the session of the client that had taken it has ended
}

// FoundBy reports whether a client must have found an item if it is still there.
func (s *Stored) FoundBy(t *Take) bool { return s.Zxid <= t.Known }

// Take is an attempt of a client that ended with an item.
type Take struct {
	variants.Event // the event Took
	attempt
	Item     *Stored // nil if it was never put
	done     int     // the place in the history at which it was done; zero if it is not
	worked   bool
	kept     bool // the client has the item for good
	reported bool
}

type attempt struct {
	Begun   int // the place in the history at which it begins
	beganAt time.Duration
	Known   int64 // the client's server knows of the transactions up to this one
}

type client struct {
	putting time.Duration // when it began its last put
	looking bool
	attempt attempt
	held    *Take // the last one, unless that has ended

	put    *Stored // nil unless it waits for the answer to its put
	ending *ending // of its life; nil while it lives
}

// NewObserver returns an observer of one measurement.
func NewObserver(out variants.Findings, order Order) *Observer {
	return &Observer{out: out, order: order, items: map[int64]*Stored{}, clients: map[int]*client{}}
}

// Observe implements [variants.Observer].
func (o *Observer) Observe(e variants.Event) {
	c := variants.StateOf(o.clients, e.Client)
	o.place += 2
	switch e.Kind {
	case Putting:
		if c.put != nil { // it was given up
			c.put.unanswered = true
		}
		o.freeDue(e.At, unknown)
		c.putting, c.put = e.At, &Stored{ID: e.Value, PutBegun: o.place}
		o.items[e.Value] = c.put
	case Put:
		o.freeDue(c.putting, cmp.Or(e.Shown, unknown))
		c.put = nil
		if item := o.items[e.Value]; item != nil && !item.taken {
			item.Since, item.Zxid, item.At = o.place, cmp.Or(e.Shown, unknown), e.Moment()
			o.present.Add(item)
			o.order.Add(item)
		}
	case Taking:
		o.endAttempt(c, nil)
		o.beginAttempt(c, e)
	case Empty:
		o.endAttempt(c, nil)
		o.miss(e, c.attempt.Known)
		o.beginAttempt(c, e)
	case Took:
		o.take(c, e)
	case Finishing:
		if t := c.held; t != nil && t.Value == e.Value {
			o.process(t, e)
		}
	case Done, GivenUp:
		if t := c.held; t != nil && t.Value == e.Value {
			c.held = nil
			o.end(t, e)
		}
	case Unordered:
		o.unordered = true
	case Removes:
		o.removes = true
	case Behind:
		o.behind = int(e.Value)
	case PutTwice:
		o.recordTwice(e)
	case TookUnseen:
		o.recordUnseen(c, e)
	case variants.SessionLost, variants.Died, variants.Rejoined:
		o.observeLife(c, e)
	}
}

func (o *Observer) beginAttempt(c *client, e variants.Event) {
	c.looking, c.attempt = true, attempt{o.place, e.At, e.Shown}
	o.attempts++
}

func (o *Observer) endAttempt(c *client, item *Stored) {
	if !c.looking {
		return
	}
	c.looking = false
	o.attempts--
	o.doubts = slices.DeleteFunc(o.doubts, func(d *doubt) bool { return d.settledBy(o, c.attempt, item) })
}

func (o *Observer) miss(e variants.Event, known int64) {
	for _, item := range o.present.Known(known) {
		o.Doubt(e, true, func(item *Stored) {
			o.Passed(e, item, "client %d found nothing, although item %#x was there and no client took it", e.Client, item.ID)
		}, item)
	}
}

// take ends a client's attempt with an item. If the client has neither finished its last item nor given it up, it keeps it.
func (o *Observer) take(c *client, e variants.Event) {
	t := &Take{Event: e, attempt: c.attempt, Item: o.find(e.Value)}
	if !c.looking {
		t.attempt = attempt{}
	}
	o.endAttempt(c, t.Item)
	o.keep(c.held)
	o.countTakes(t)
	o.freeDue(t.beganAt, cmp.Or(e.Shown, unknown))
	c.held = t
	if t.Item == nil {
		o.out.Breach(e, "client %d took %s, which was never put", e.Client, variants.Named("item %#x", e.Value))
		return
	}
	if o.takesCopy(t) {
		t.Item = nil // the item is not followed any further
		return
	}
	if !t.Item.forsaken.IsNone() {
		o.out.Span(variants.SpanOf(phaseReclaim, t.Client, t.Item.forsaken, t.Moment()))
		t.Item.forsaken = variants.Moment{}
	}
	t.Item.taken = true
	t.Item.takes = append(t.Item.takes, t)
	o.checkTakes(t.Item)
	o.order.Took(o, t, o.unordered)
}

// find returns an item, with its owner's take if the item is finished, or nil if the item was never put.
func (o *Observer) find(id int64) *Stored {
	if item := o.items[id]; item != nil {
		return item
	}
	owner, finished := o.finished.Owner(id)
	if !finished {
		return nil
	}
	take := &Take{Event: variants.Event{Client: owner.Client}, done: owner.Done, kept: true}
	return &Stored{ID: id, taken: true, takes: []*Take{take}}
}

func (o *Observer) end(t *Take, e variants.Event) {
	item := t.Item
	switch {
	case item == nil:
	case e.Kind == GivenUp:
		if t.worked { // it could not finish the item
			o.fail()
		}
		item.takes = slices.DeleteFunc(item.takes, func(other *Take) bool { return other == t })
	default:
		t.done = o.place
		o.keep(t)
		o.finish(item, Owner{Client: t.Client, Done: t.done})
	}
}

func (o *Observer) finish(item *Stored, owner Owner) {
	if o.items[item.ID] == item {
		delete(o.items, item.ID)
		o.finished.Add(item.ID, owner)
	}
}

func (o *Observer) keep(t *Take) {
	if t != nil && t.Item != nil {
		t.kept = true
		o.checkTakes(t.Item)
	}
}

// checkTakes reports a second take of an item that a client has for good. The second take is not a breach if its client
// gives the item up, unless it began after the item was done: a client learns late that its session was lost.
func (o *Observer) checkTakes(item *Stored) {
	for i, t := range item.takes {
		for _, earlier := range item.takes[:i] {
			again := earlier.done > 0 && t.Begun > earlier.done
			if earlier.kept && (t.kept || again) && !t.reported {
				t.reported = true
				o.out.Breach(t.Event, "client %d took item %#x, which %s had taken", t.Client, item.ID, Owner{Client: earlier.Client})
			}
		}
	}
}

// Complete assumes that a client keeps the item that it holds in the end, unless clients have failed: it may not know
// yet that its session has ended, and that another client has the item. Each attempt that has not ended, as when its
// client died, may have taken one item that no other client took.
func (o *Observer) Complete() {
	var begun []int
	var held []*Take
	for _, c := range o.clients {
		if c.looking {
			begun = append(begun, c.attempt.Begun)
		}
		if c.held != nil && c.held.Item != nil && !o.failed {
			c.held.kept = true
			held = append(held, c.held)
		}
	}
	for _, b := range o.broken {
		if !b.spent {
			begun = append(begun, b.Begun)
		}
	}
	slices.Sort(begun)
	explained := map[*Stored]bool{}
	for _, d := range o.doubts { // in the order of their events: an explanation of one holds for all that follow
		for _, item := range d.items {
			if !item.taken && !explained[item] && len(begun) > 0 && begun[0] < d.place {
				explained[item], begun = true, begun[1:]
			}
		}
		d.conclude(func(item *Stored) bool { return explained[item] })
	}
	o.loseWithheld(o.withheld)
	slices.SortFunc(held, func(a, b *Take) int { return cmp.Compare(a.At, b.At) })
	for _, t := range held {
		o.checkTakes(t.Item)
	}
}

// Waiting is a list of items in the order in which clients could find them. Items that a client has taken drop out.
type Waiting struct {
	items []*Stored
	limit int
}

// Add appends an item, which may have been in the list before.
func (w *Waiting) Add(item *Stored) {
	if item.freed {
		w.items = slices.DeleteFunc(w.items, func(other *Stored) bool { return other == item })
	}
	if len(w.items) >= w.limit {
		w.items = slices.DeleteFunc(w.items, func(item *Stored) bool { return item.taken })
		w.limit = 2*len(w.items) + 16
	}
	w.items = append(w.items, item)
}

// Before returns the items that clients could find before a place in the history.
func (w *Waiting) Before(place int) []*Stored {
	found := slices.Clone(w.items[:w.countBefore(place)])
	return slices.DeleteFunc(found, func(item *Stored) bool { return item.taken })
}

// Until is Before, and removes these items from the list.
func (w *Waiting) Until(place int) []*Stored {
	found := w.Before(place)
	w.items = w.items[w.countBefore(place):]
	return found
}

func (w *Waiting) countBefore(place int) int {
	return sort.Search(len(w.items), func(i int) bool { return w.items[i].Since >= place })
}

// Known returns the items that a client must know of if its session shows the state after a transaction, and removes
// them from the list.
func (w *Waiting) Known(zxid int64) (found []*Stored) {
	w.items = slices.DeleteFunc(w.items, func(item *Stored) bool {
		if item.Zxid <= zxid && !item.taken {
			found = append(found, item)
		}
		return item.Zxid <= zxid
	})
	return found
}
