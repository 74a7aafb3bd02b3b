package exclusion

import (
	"fmt"

	"github.com/zkbench/zkbench/variants"
)

// Handoffs returns an observer of the times in which a lock passes from one client to the next.
func Handoffs(out variants.Findings) variants.Observer {
	return out.Handovers(PhaseHandoff, Requested, Releasing, Acquired)
}

// Words name, in violations, the thing that is held.
type Words struct {
	Acquired, Held string // "acquired the lock" and "held it"
	HeldOn         string // "went on holding the lock"
	Granted, Value string // "was granted fencing token" and "token"
	Holds, Wait    string // "holds the lock" and "wait"
}

// LockWords returns the words of violations of a lock.
func LockWords() Words {
	return Words{
		Acquired: "acquired the lock", Held: "held it", HeldOn: "went on holding the lock",
		Granted: "was granted fencing token", Value: "token", Holds: "holds the lock", Wait: "wait",
	}
}

// Exclusive returns an observer of something that one client holds at a time, with a value that grows from one holder to the
// next, until no client wants it any more.
func Exclusive(out variants.Findings, w Words) variants.Observer {
	return variants.Observers{NewFencing(out, w, &exclusive{Growth: Growth{Words: w}}), Vacancy(out, w)}
}

type exclusive struct{ Growth }

func (x *exclusive) Overlap(granted, held variants.Event) string {
	return fmt.Sprintf("client %d %s while client %d %s", granted.Client, x.Words.Acquired, held.Client, x.Words.Held)
}

// Growth is the rule that tokens grow with each grant. The token is the event's value.
type Growth struct {
	Words   Words
	largest int64
	granted bool
}

// Token implements [Rules].
func (*Growth) Token(granted variants.Event) int64 { return granted.Value }

// Order implements [Rules].
func (g *Growth) Order(granted variants.Event) (exceed int64, breach string) {
	exceed = g.largest
	if g.granted && granted.Value <= exceed {
		return exceed, fmt.Sprintf("client %d %s %d after %s %d", granted.Client, g.Words.Granted, granted.Value, g.Words.Value, exceed)
	}
	g.largest, g.granted = granted.Value, true
	return exceed, ""
}

// Vacancy returns an observer that reports clients that still wait at the end although no client holds: a claim has
// outlived its owner, or a waiter was not notified of its end.
func Vacancy(out variants.Findings, w Words) variants.Observer {
	return &vacancy{out: out, words: w, waiting: Waiting{}, holding: map[int]bool{}}
}

type vacancy struct {
	out     variants.Findings
	words   Words
	waiting Waiting
	holding map[int]bool
	last    variants.Event
}

func (v *vacancy) Observe(e variants.Event) {
	v.waiting.Observe(e)
	v.last = e
	switch e.Kind {
	case Acquired:
		v.holding[e.Client] = true
	case Releasing, Deposed, variants.SessionLost, variants.Died, variants.Rejoined:
		delete(v.holding, e.Client)
	}
}

func (v *vacancy) Complete() {
	if len(v.holding) == 0 && len(v.waiting) > 0 {
		v.out.Breach(v.last, "no client %s in the end, although %d clients %s", v.words.Holds, len(v.waiting), v.words.Wait)
	}
}

// Waiting is the clients that have asked for something and do not have it yet, with the times of their requests. A client whose
// session is lost no longer waits.
type Waiting map[int]variants.Moment

// Observe takes the next event.
func (w Waiting) Observe(e variants.Event) {
	switch e.Kind {
	case Requested:
		w[e.Client] = e.Moment()
	case Acquired, Withdrew, variants.SessionLost, variants.Died, variants.Rejoined:
		delete(w, e.Client)
	}
}

// Longest returns the time of the first request, and whether there is one.
func (w Waiting) Longest() (since variants.Moment, waiting bool) {
	for _, requested := range w {
		since = since.Earliest(requested)
	}
	return since, len(w) > 0
}
