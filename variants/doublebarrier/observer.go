package doublebarrier

import (
	"maps"
	"slices"

	"github.com/zkbench/zkbench/variants"
)

// newObserver returns an observer of a double barrier's phases and promise.
func newObserver(out variants.Findings) variants.Observer {
	return variants.Observers{
		out.Between(phaseEnter, arrived, started),
		out.Between(phaseHold, started, finished),
		out.Between(phaseLeave, finished, departed),
		&rounds{out: out, open: map[int64]*round{}},
	}
}

// rounds reports participants that start a round before all have entered it, or leave it before all have finished. To
// arrive and to finish is recorded just before anything is sent, to start and to depart just after all is known, on one
// clock: if a participant arrives later in the history than another one starts, that one cannot have waited for it.
type rounds struct {
	out  variants.Findings
	size int              // of the group
	open map[int64]*round // the rounds that not all have left
	over int64            // all have left the rounds before this one, as each takes part in them in order
}

// round is what the participants have done in a round.
type round struct {
	did      [failed + 1]map[int]bool // by kind of event
	suspects []suspect
}

// suspect is a participant that another one did not wait for when it left. A participant that fails in a round, be it
// later, may have been dead for long, and the others need not wait for the dead. One that leaves the round was alive.
type suspect struct {
	participant int
	left        variants.Event // of the other one
}

// Observe implements [variants.Observer].
func (o *rounds) Observe(e variants.Event) {
	if e.Kind == joined {
		o.size = max(o.size, int(e.Value))
		return
	}
	r := o.open[e.Value]
	over := r == nil && e.Value < o.over
	if over || r != nil && r.did[e.Kind][e.Client] {
		o.repeated(e)
	}
	if over {
		return
	}
	if r == nil {
		r = &round{}
		for kind := range r.did {
			r.did[kind] = map[int]bool{}
		}
		o.open[e.Value] = r
	}
	r.did[e.Kind][e.Client] = true
	switch e.Kind {
	case started:
		for _, other := range o.missing(r.did[arrived]) {
			o.out.Breach(e, "participant %d started round %d before participant %d had entered", e.Client, e.Value, other)
		}
	case departed:
		o.depart(r, e)
	}
}

// repeated reports what a participant does only once in a round.
func (o *rounds) repeated(e variants.Event) {
	switch e.Kind {
	case started:
		o.out.Breach(e, "participant %d started round %d twice", e.Client, e.Value)
	case departed:
		o.out.Breach(e, "participant %d left round %d twice", e.Client, e.Value)
	}
}

func (o *rounds) depart(r *round, e variants.Event) {
	for _, other := range o.missing(r.did[finished]) {
		r.suspects = append(r.suspects, suspect{other, e})
	}
	o.accuse(r, func(participant int) bool { return r.did[departed][participant] })
	if len(r.did[departed]) >= o.size {
		delete(o.open, e.Value)
		o.over = max(o.over, e.Value+1)
	}
}

// accuse reports the suspects that were alive for certain, and forgets them.
func (o *rounds) accuse(r *round, alive func(participant int) bool) {
	undecided := r.suspects[:0]
	for _, s := range r.suspects {
		switch {
		case !alive(s.participant):
			undecided = append(undecided, s)
		case !r.did[failed][s.participant]:
			o.out.Breach(s.left, "participant %d left round %d before participant %d had finished", s.left.Client, s.left.Value, s.participant)
		}
	}
	r.suspects = undecided
}

// missing returns the participants of the group that are not in a set.
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

// Complete implements [variants.Observer]. A participant that has not failed by now was alive.
func (o *rounds) Complete() {
	for _, number := range slices.Sorted(maps.Keys(o.open)) {
		o.accuse(o.open[number], func(int) bool { return true })
	}
}
