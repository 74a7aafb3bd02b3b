package doublebarrier

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/variants"
)

// series observes a number of barriers, one by one.
type series struct {
	variants.Observers // of the barriers
	out                variants.Findings
}

// An event that ends a participant's part in one barrier ends it in all.
func (s *series) Observe(e variants.Event) {
	switch e.Kind {
	case joined, arrived, started, finished, departed:
		barrier, number := unstamp(e.Value)
		for len(s.Observers) <= barrier {
			s.Observers = append(s.Observers, &rounds{
				out: s.out, barrier: len(s.Observers), open: map[int64]*round{}, members: map[int]*member{},
			})
		}
		e.Value = number
		s.Observers[barrier].Observe(e)
	default:
		s.Observers.Observe(e)
	}
}

// rounds reports participants that start a round before all have entered it, or leave it before all have finished.
// Arriving and finishing are recorded just before anything is sent, starting and departing just after all is known, on
// one clock: if a participant arrives later in the history than another one starts, the other one cannot have waited
// for it.
//
// A participant that died after it had entered still counts as entered, because its znode lasts as long as its session.
// It counts as finished, because the others need not wait for the dead. In its next life it must not start a round that
// began before.
type rounds struct {
	out     variants.Findings
	barrier int // whose rounds these are
	size    int
	open    map[int64]*round // the rounds in which some may still take part
	over    int64            // rounds before this one are over for all, as each takes part in them in order
	members map[int]*member
}

// round records the actions of the participants in a round.
type round struct {
	did     [departed + 1]map[int]bool // by kind of event
	late    map[int]bool               // participants that have come back when the round had begun with them
	failed  map[int]bool               // participants that others need not wait for
	past    int                        // how many will not take part in it any more
	early   bool                       // one has started too early, so that the others cannot know when all have finished
	pending []departure
}

// departure records that a participant left without a wait for another one. If the other one fails in the round, be it
// later, it may have been dead for long, and the others need not wait for the dead. If it leaves the round, it was
// alive.
type departure struct {
	participant int // that was not waited for
	left        variants.Event
}

type member struct {
	next     int64 // it will not take part in earlier rounds any more
	entering bool  // it has arrived, and not started since
	gone     bool  // it has failed since it last arrived
}

func (o *rounds) Observe(e variants.Event) {
	m := variants.StateOf(o.members, e.Client)
	switch e.Kind {
	case joined:
		o.size = max(o.size, int(e.Value))
	case failed, variants.SessionLost, variants.Died, variants.Rejoined:
		m.gone = true
		for _, r := range o.open {
			if r.did[arrived][e.Client] && !r.did[departed][e.Client] {
				r.dismiss(e.Client)
			}
		}
	case arrived, started, finished, departed:
		o.take(m, e)
	}
}

func (o *rounds) take(m *member, e variants.Event) {
	o.advance(m, e.Value)
	r := o.round(e.Value)
	switch e.Kind {
	case arrived:
		r.arrive(e.Client)
		m.entering, m.gone = true, false
	case started:
		o.start(r, e)
		m.entering = false
	case departed:
		o.depart(r, e)
	}
	r.did[e.Kind][e.Client] = true
	if e.Kind == departed {
		o.confirm(r, false)
		o.advance(m, e.Value+1)
	}
}

// round returns the state of a round. That of a round that is over is new, and is not kept.
func (o *rounds) round(number int64) *round {
	r := o.open[number]
	if r == nil {
		r = &round{late: map[int]bool{}, failed: map[int]bool{}}
		for kind := range r.did {
			r.did[kind] = map[int]bool{}
		}
		if number >= o.over {
			o.open[number] = r
		}
	}
	return r
}

// advance lets a participant go on to a round. Rounds to which no participant can come back are forgotten.
func (o *rounds) advance(m *member, next int64) {
	for ; m.next < next; m.next++ {
		r := o.round(m.next)
		if r.past++; r.past >= o.size {
			delete(o.open, m.next)
			o.over = max(o.over, m.next+1)
		}
	}
}

func (r *round) dismiss(participant int) {
	r.failed[participant] = true
	r.pending = slices.DeleteFunc(r.pending, func(d departure) bool { return d.participant == participant })
}

func (r *round) arrive(participant int) {
	switch begun := len(r.did[started]) > 0; {
	case begun && r.did[arrived][participant]:
		r.late[participant] = true
	case !begun:
		delete(r.failed, participant)
	}
}

func (o *rounds) start(r *round, e variants.Event) {
	switch {
	case e.Value < o.over, r.did[started][e.Client]:
		o.outOfTurn(r, e, "participant %d started round %d twice", e.Client, e.Value)
		return
	case r.late[e.Client]:
		o.outOfTurn(r, e, "participant %d started round %d, which had begun before it came back", e.Client, e.Value)
		return
	}
	for _, other := range o.missing(r.did[arrived]) {
		if m := o.members[other]; m != nil && m.entering && m.next <= e.Value { // for this round, as it missed the one that it came for
			r.did[arrived][other] = true
			if m.gone {
				r.dismiss(other)
			}
			continue
		}
		o.outOfTurn(r, e, "participant %d started round %d before participant %d had entered", e.Client, e.Value, other)
		return
	}
}

func (o *rounds) outOfTurn(r *round, e variants.Event, format string, args ...any) {
	r.early = true
	r.dismiss(e.Client)
	o.lose(e, format, args...)
}

// lose reports that a participant was out of step. The text begins with the number of the barrier, unless it is the first.
func (o *rounds) lose(e variants.Event, format string, args ...any) {
	if o.barrier > 0 {
		format = fmt.Sprintf("barrier %d: %s", o.barrier, format)
	}
	o.out.Lose(e, variants.OutOfStep, 1, format, args...)
}

func (o *rounds) depart(r *round, e variants.Event) {
	if e.Value < o.over || r.did[departed][e.Client] {
		o.outOfTurn(r, e, "participant %d left round %d twice", e.Client, e.Value)
		return
	}
	for _, other := range o.missing(r.did[finished]) {
		if m := variants.StateOf(o.members, other); !r.failed[other] && !m.gone && m.next <= e.Value {
			r.pending = append(r.pending, departure{other, e})
		}
	}
}

// confirm reports that a participant left too early, if one that it did not wait for was alive for certain: it has left the round,
// or has not failed by the end.
func (o *rounds) confirm(r *round, end bool) {
	r.pending = slices.DeleteFunc(r.pending, func(d departure) bool {
		certain := r.early || end || r.did[departed][d.participant]
		if certain && !r.early {
			o.lose(d.left, "participant %d left round %d before participant %d had finished", d.left.Client, d.left.Value, d.participant)
		}
		return certain
	})
}

func (o *rounds) missing(set map[int]bool) (missing []int) {
	if len(set) >= o.size {
		return nil
	}
	for participant := range o.size {
		if !set[participant] {
			missing = append(missing, participant)
		}
	}
	return missing
}

func (o *rounds) Complete() {
	for _, number := range slices.Sorted(maps.Keys(o.open)) {
		o.confirm(o.open[number], true)
	}
}
