package variants

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"
)

// Sight returns how far a client has seen the servers' transactions. seen is the largest zxid of a reply or a notification on
// any of its sessions. shown is the largest zxid of an answer on its first session, which next reads the state after that
// transaction or a later one. next is the first write that the client will send.
type Sight func() (seen, shown int64, next Write)

// Write is a request that changes something.
type Write interface {
	// Sent reports whether the write has been sent.
	Sent() bool
	// Zxid returns the zxid of the write, zero if its reply was lost. final is false while the reply may come.
	Zxid() (zxid int64, final bool)
}

// Placed is an event with its place among the transactions of the servers.
//
// The zxids are the order in which the servers made the transactions. With them, the order of two clients' events needs
// no clock. An event that its client records after an answer stands just after the largest zxid that it has seen. An
// event of the kinds [Recipe.Calls], which its client records just before it writes, stands just before the zxid in the
// reply to that write.
//
// Some events are loose: no transaction says where they stand. These are calls without a write or without its reply,
// and the ends of sessions and lives. They stand after all that any client of the same worker had seen by then: a write
// that is sent later has a larger zxid. What clients of other workers had seen by then is unknown, as their clocks
// differ. An event after a notification that names no transaction, as before ZooKeeper 3.9, stands just before its
// client's next write or where that client's next event does, whichever comes first: behind the cause of the
// notification in both cases.
//
// So each event before a write stands before what others have done because of the write, and each client's own order is
// kept. An operation is never shorter than in reality, and a hold never longer: a grant that stands late or a release
// that stands early can hide a breach, and makes none.
type Placed struct {
	Event
	write Write // that the event stands before; nil if its place is known
	loose bool
	blind bool // it follows a notification that names no transaction
}

// Places finds the places of the events of one participant, in one life. The zero value is empty and has no Calls: it
// takes all events as returns. Its methods must not be called concurrently.
type Places struct {
	Calls  []EventKind // see [Recipe.Calls]
	events []Placed
}

// Add appends an event, with the results of its client's [Sight].
func (p *Places) Add(e Event, seen, shown int64, next Write) {
	e.Shown, e.Place = shown, 2*seen+1
	added := Placed{Event: e, loose: e.Kind >= SessionLost, blind: seen < 0}
	p.doWithout(added)
	if added.blind || slices.Contains(p.Calls, e.Kind) {
		added.write = next
	}
	p.events = append(p.events, added)
}

// doWithout lets the events before another one stand without a write that the client has not sent. After a notification that
// names no transaction, they get the place of that other event as soon as it is known.
func (p *Places) doWithout(next Placed) {
	for i := len(p.events) - 1; i >= 0 && p.events[i].write != nil && !p.events[i].write.Sent(); i-- {
		switch e := &p.events[i]; {
		case !e.blind:
			e.write, e.loose = nil, true
		case !next.blind:
			e.write, e.Place = nil, next.Place
		}
	}
}

// Take appends to dst the events that were not taken yet, up to the first one whose place depends on a reply that has
// not arrived. An event that was recorded at a time up to until does not wait for its reply.
func (p *Places) Take(dst []Placed, until time.Duration) []Placed {
	n := 0
	for n < len(p.events) && p.events[n].find(p.events[n].At <= until) {
		n++
	}
	dst = append(dst, p.events[:n]...)
	p.events = slices.Delete(p.events, 0, n)
	return dst
}

// Oldest returns when the first event was recorded that was not taken, and math.MaxInt64 if there is none.
func (p *Places) Oldest() time.Duration {
	if len(p.events) == 0 {
		return math.MaxInt64
	}
	return p.events[0].At
}

// find finds the place of an event before a write, and reports whether it is known now.
func (p *Placed) find(now bool) bool {
	if p.write == nil {
		return true
	}
	zxid, final := p.write.Zxid()
	if final || now {
		p.Place, p.write, p.loose = max(p.Place, 2*zxid), nil, zxid == 0
	}
	return final || now
}

// Ordering gives an observer the events of all participants in the order of their places. The zero value has none.
type Ordering struct {
	// Apart is by how much the times of workers can be wrong against each other. It may grow. If it is zero, they have one clock.
	Apart time.Duration

	settled time.Duration        // see give; of the last drain
	latest  map[int]int64        // by client, its largest place so far
	seen    map[uint16]sightings // by worker, as long as events of that time can be added
	given   int64                // the largest place of an event that was given
	waiting []Placed
}

// sighting is when a client had first seen a transaction, and the place just after that.
type sighting struct {
	at    time.Duration
	place int64
}

// sightings are those of any client of one worker, on its clock, in the order of time. The places grow, too.
type sightings []sighting

func (seen sightings) add(e Placed) sightings {
	i := seen.until(e.At)
	if i > 0 && seen[i-1].place >= e.Place {
		return seen
	}
	end := i
	for end < len(seen) && seen[end].place <= e.Place {
		end++
	}
	return slices.Replace(seen, i, end, sighting{e.At, e.Place})
}

// until returns how many there are until a time.
func (seen sightings) until(at time.Duration) int {
	return sort.Search(len(seen), func(i int) bool { return seen[i].at > at })
}

// Drain gives an observer, in order, the events that were recorded by the time complete, and all that stands before one of these. All
// that was recorded by then has been added, now or before. A call that stands behind all returns of that time is given only if it was
// recorded by that time of the last drain: Drain returns that time, up to which everything has been given. Each client's events must come
// in its own order.
//
// Note: events that are added later also stand later in the order. Each is a return, or a call before a write that none
// of the given events shows: a write that was sent after that time has a larger zxid than clients had seen by then.
func (o *Ordering) Drain(complete time.Duration, events []Placed, observe func(Event)) (given time.Duration) {
	overdue := o.settled
	o.settled = complete - o.Apart // by any of the clocks
	o.add(events)
	return o.give(o.settled, min(overdue, o.settled), observe)
}

// Flush is Drain of everything that was recorded by now.
func (o *Ordering) Flush(now time.Duration, events []Placed, observe func(Event)) {
	o.settled = now
	o.add(events)
	o.give(now, now, observe)
}

// add sorts events by time. An event never stands before an earlier event of its client, even of a former life. If the workers have clocks
// of their own, loose blind events, which their clients' next events do not place, come after all others.
func (o *Ordering) add(events []Placed) {
	if o.latest == nil {
		o.latest, o.seen = map[int]int64{}, map[uint16]sightings{}
	}
	slices.SortStableFunc(events, func(a, b Placed) int { return cmp.Compare(a.At, b.At) })
	last, waits := []Placed{}, map[int]bool{} // by client, whether an event of it is among the last
	for _, e := range events {
		if waits[e.Client] || e.loose && e.blind && o.Apart > 0 {
			waits[e.Client] = true
			last = append(last, e)
		} else {
			o.place(e)
		}
	}
	for _, e := range last {
		o.place(e)
	}
}

func (o *Ordering) place(e Placed) {
	seen := o.seen[e.Worker]
	switch {
	case e.loose && e.blind:
		e.Place = max(e.Place, o.reached(e.Worker, e.At))
	case e.loose:
		if i := seen.until(e.At); i > 0 { // just after the last transaction that any client of the worker had seen by then
			e.Place = max(e.Place, seen[i-1].place)
		}
	case e.Place%2 == 1 && !e.blind:
		o.seen[e.Worker] = seen.add(e)
	}
	e.Place = max(e.Place, o.latest[e.Client])
	o.latest[e.Client] = e.Place
	o.waiting = append(o.waiting, e)
}

// reached returns the largest place of an event that any client of a worker had recorded until a time, calls included. If the workers have
// clocks of their own, it is the place behind all that any client may have recorded by then.
func (o *Ordering) reached(worker uint16, at time.Duration) int64 {
	place := o.given
	for _, e := range o.waiting {
		switch {
		case o.Apart > 0 && e.At <= at+o.Apart:
			place = max(place, e.Place+1)
		case e.Worker == worker && e.At <= at:
			place = max(place, e.Place)
		}
	}
	return place
}

// isAhead reports whether the place of an event was known later than the event was recorded, by what its client did next.
func (p *Placed) isAhead() bool { return p.blind && !p.loose }

// give passes on the events that were recorded up to the time settled, and all events that stand before one of these
// returns. It keeps back calls behind all returns of that time that were recorded after the time overdue. It returns the time up to which
// all events have been given.
func (o *Ordering) give(settled, overdue time.Duration, observe func(Event)) (given time.Duration) {
	for worker, seen := range o.seen {
		o.seen[worker] = slices.Delete(seen, 0, max(seen.until(overdue)-1, 0))
	}
	var limit int64
	if settled == math.MaxInt64 {
		limit = math.MaxInt64
	}
	for _, e := range o.waiting {
		if e.At <= settled && e.Place%2 == 1 && !e.blind {
			limit = max(limit, e.Place)
		}
	}
	slices.SortStableFunc(o.waiting, func(a, b Placed) int { return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.At, b.At)) })
	var kept []Placed
	keeps := map[int]bool{} // by client, whose later events stand behind
	for _, e := range o.waiting {
		if e.Place > limit && (e.At > overdue || e.isAhead() || keeps[e.Client]) {
			kept, keeps[e.Client] = append(kept, e), true
			continue
		}
		o.given = max(o.given, e.Place)
		observe(e.Event)
	}
	o.waiting = kept
	for _, e := range kept {
		overdue = min(overdue, e.At-1)
	}
	return overdue
}

// HistoryOf merges what clients have recorded on several workers, which are numbered in the order of the arguments. Each
// worker has a clock of its own; all events of a client are on one worker, in their own order.
func HistoryOf(workers ...[]Placed) (h History) {
	var all []Placed
	for i, events := range workers {
		for _, e := range events {
			e.Worker = uint16(i)
			all = append(all, e)
		}
	}
	var o Ordering
	o.Flush(math.MaxInt64, all, func(e Event) { h = append(h, e) })
	return h
}
