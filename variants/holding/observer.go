package holding

import (
	"time"

	"github.com/zkbench/zkbench/variants"
)

// Spans returns an observer of the times in which a client acquires, holds and releases, under these names.
func Spans(out variants.Findings, acquire, hold, release string) variants.Observer {
	return variants.Observers{
		out.Between(acquire, Requested, Acquired),
		out.Between(hold, Acquired, Releasing),
		out.Between(release, Releasing, Released),
	}
}

// Handoffs returns an observer of the times in which a lock passes from one client to the next.
func Handoffs(out variants.Findings) variants.Observer {
	return out.Handovers(PhaseHandoff, Requested, Releasing, Acquired)
}

// Words name, in violations, what is held.
type Words struct {
	Acquired, Held string // "acquired the lock" and "held it"
	Granted, Value string // "was granted fencing token" and "token"
	Holds, Wait    string // "holds the lock" and "wait"
}

// LockWords returns the words for a lock.
func LockWords() Words {
	return Words{"acquired the lock", "held it", "was granted fencing token", "token", "holds the lock", "wait"}
}

// Exclusive returns an observer of something that one client holds at a time, with a value that grows from one holder to the
// next, until no client wants it any more.
func Exclusive(out variants.Findings, w Words) variants.Observer {
	return variants.Observers{overlaps(out, w), Growth(out, w), Vacancy(out, w)}
}

// none is the holder of what no client holds.
const none = -1

// overlaps reports two holders at a time.
func overlaps(out variants.Findings, w Words) variants.Observer {
	holder := none
	return variants.ObserverFunc(func(e variants.Event) {
		switch e.Kind {
		case Acquired:
			if holder != none {
				out.Breach(e, "client %d %s while client %d %s", e.Client, w.Acquired, holder, w.Held)
			}
			holder = e.Client
		case Releasing, Deposed:
			if holder == e.Client {
				holder = none
			}
		}
	})
}

// Growth returns an observer that reports values that do not grow with each acquisition.
func Growth(out variants.Findings, w Words) variants.Observer {
	var last int64
	granted := false
	return variants.ObserverFunc(func(e variants.Event) {
		if e.Kind != Acquired {
			return
		}
		if granted && e.Value <= last {
			out.Breach(e, "client %d %s %d after %s %d", e.Client, w.Granted, e.Value, w.Value, last)
		}
		last, granted = e.Value, true
	})
}

// Vacancy returns an observer that reports clients that still wait at the end for what no client holds.
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

// Observe implements [variants.Observer].
func (v *vacancy) Observe(e variants.Event) {
	v.waiting.Observe(e)
	v.last = e
	switch e.Kind {
	case Acquired:
		v.holding[e.Client] = true
	case Releasing, Deposed:
		delete(v.holding, e.Client)
	}
}

// Complete implements [variants.Observer].
func (v *vacancy) Complete() {
	if len(v.holding) == 0 && len(v.waiting) > 0 {
		v.out.Breach(v.last, "no client %s in the end, although %d clients %s", v.words.Holds, len(v.waiting), v.words.Wait)
	}
}

// Waiting is the clients that have asked for something and do not have it yet, with the times of their requests.
type Waiting map[int]time.Duration

// Observe takes the next event.
func (w Waiting) Observe(e variants.Event) {
	switch e.Kind {
	case Requested:
		w[e.Client] = e.At
	case Acquired, Withdrew:
		delete(w, e.Client)
	}
}

// Longest returns the time of the first request, and whether there is one.
func (w Waiting) Longest() (since time.Duration, waiting bool) {
	for _, at := range w {
		if !waiting || at < since {
			since, waiting = at, true
		}
	}
	return since, waiting
}
