package rwlock

import (
	"fmt"
	"math"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
)

func newObserver(out variants.Findings) variants.Observer {
	return variants.Observers{
		out.Timed(phases()),
		handoffs(out),
		exclusion.NewFencing(out, exclusion.LockWords(), &readWriteRules{[...]int64{Read: math.MinInt64, Write: math.MinInt64}}),
		variants.ObserverFunc((&sharing{out: out, clients: map[int]*client{}, pending: map[int]*wait{}}).observe),
		exclusion.Vacancy(out, exclusion.LockWords()),
	}
}

// handoffs pairs each acquisition by a client that was already waiting with the release that made way for it: for a
// writer the release that left the lock free, for a reader the last one by a writer. Otherwise the time in between is
// idle time, not a handoff.
func handoffs(out variants.Findings) variants.Observer {
	type release struct {
		place int // in the history; zero if the lock is not free
		at    variants.Moment
	}
	free := map[Mode]release{}
	place, waitingSince := 0, map[int]int{}
	holders := map[int]bool{}
	return variants.ObserverFunc(func(e variants.Event) {
		place++
		mode, _ := unstamp(e.Value)
		switch e.Kind {
		case exclusion.Requested:
			waitingSince[e.Client] = place
		case exclusion.Releasing:
			delete(holders, e.Client)
			if mode == Write {
				free[Read] = release{place, e.Moment()}
			}
			if len(holders) == 0 {
				free[Write] = release{place, e.Moment()}
			}
		case exclusion.Deposed, variants.SessionLost, variants.Died, variants.Rejoined:
			delete(holders, e.Client)
		case exclusion.Acquired:
			if waitingSince[e.Client] < free[mode].place {
				out.Span(variants.SpanOf(exclusion.PhaseHandoff, e.Client, free[mode].at, e.Moment()))
			}
			holders[e.Client] = true
			delete(free, Write)
			if mode == Write {
				delete(free, Read)
			}
		}
	})
}

// readWriteRules are the rules of the lock: writers hold alone, and fencing tokens grow from each writer to the next.
type readWriteRules struct {
	largest [Write + 1]int64 // by mode, the largest token granted so far
}

func (*readWriteRules) Token(granted variants.Event) int64 {
	_, value := unstamp(granted.Value)
	return value
}

// Overlap lets only readers hold at the same time, and no client hold twice.
func (*readWriteRules) Overlap(granted, held variants.Event) string {
	mode, _ := unstamp(granted.Value)
	other, _ := unstamp(held.Value)
	if granted.Client != held.Client && mode == Read && other == Read {
		return ""
	}
	return fmt.Sprintf("client %d acquired the lock as a %s while client %d held it as a %s", granted.Client, mode, held.Client, other)
}

// Order compares the token of a reader with the tokens of earlier writers, and that of a writer with all earlier ones.
func (x *readWriteRules) Order(granted variants.Event) (exceed int64, breach string) {
	mode, value := unstamp(granted.Value)
	exceed = x.largest[Write]
	if mode == Write {
		exceed = max(exceed, x.largest[Read])
	}
	if value <= exceed {
		breach = fmt.Sprintf("client %d was granted fencing token %d as a %s after token %d", granted.Client, value, mode, exceed)
	}
	x.largest[mode] = max(x.largest[mode], value)
	return exceed, breach
}
