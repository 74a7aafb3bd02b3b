package barrier

import (
	"maps"
	"slices"

	"github.com/zkbench/zkbench/variants"
)

func newObserver(out variants.Findings) variants.Observer {
	return append(out.Timed(phases()),
		&passages{out: out, waits: map[int]*wait{}, begun: numbers{above: map[int64]bool{}}, opened: -1})
}

// passages times how long waiting clients take to pass, and reports the clients that pass too early or never. An
// opening is recorded just before it is sent, and a passage just after it is granted: a passage that comes first came
// too early.
//
// A client that dies no longer waits. If it dies while it opens a barrier, it may have opened it or not: the others may
// pass, and need not. Barriers are opened in their order, so that an opening shows that all earlier barriers are open.
type passages struct {
	out    variants.Findings
	waits  map[int]*wait // of the clients that wait
	begun  numbers       // the barriers whose opening was sent
	opened int64         // the last barrier whose opening was acknowledged, -1 before the first
}

type wait struct {
	began  variants.Event
	opened variants.Moment // when an opening was last sent meanwhile
}

func (p *passages) Observe(e variants.Event) {
	switch e.Kind {
	case waiting:
		p.waits[e.Client] = &wait{began: e}
	case opening:
		p.begun.add(e.Value)
		for _, w := range p.waits {
			if w.began.Value == e.Value {
				w.opened = w.opened.Latest(e.Moment())
			}
		}
	case opened:
		p.opened = max(p.opened, e.Value)
	case passed:
		if !p.begun.has(e.Value) {
			p.out.Breach(e, "client %d passed barrier %d before it was opened", e.Client, e.Value)
		}
		if w := p.waits[e.Client]; w != nil && !w.opened.IsNone() {
			p.out.Span(variants.SpanOf(phasePassage, e.Client, w.opened, e.Moment()))
		}
		delete(p.waits, e.Client)
	case gaveUp, variants.Died, variants.Rejoined:
		delete(p.waits, e.Client)
	}
}

// Complete reports each client that still waits at a barrier that was opened.
func (p *passages) Complete() {
	for _, client := range slices.Sorted(maps.Keys(p.waits)) {
		if e := p.waits[client].began; e.Value <= p.opened {
			p.out.Breach(e, "client %d never passed barrier %d, which was opened", e.Client, e.Value)
		}
	}
}

// numbers is a set of numbers from 0 on. Its memory does not grow with the numbers below the first one that is missing.
type numbers struct {
	below int64 // all numbers below are in the set
	above map[int64]bool
}

func (n *numbers) add(number int64) {
	if number >= n.below {
		n.above[number] = true
	}
	for n.above[n.below] {
		delete(n.above, n.below)
		n.below++
	}
}

func (n *numbers) has(number int64) bool { return number < n.below || n.above[number] }
