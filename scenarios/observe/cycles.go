package observe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results/list"
)

// cycleAfter is how long each session of a cycle must have sent nothing.
const cycleAfter = 3 * time.Second

// Cycle is sessions that wait for each other. The latest request of each has set a watch on a sequential znode that the next one has made,
// and that of the last one on a znode of the first. Each has a znode in the directory in which it waits.
type Cycle []Waiter

// String describes the first sessions of a cycle.
func (c Cycle) String() string {
	first := list.Map(c[:min(len(c), 4)], func(w Waiter) string {
		return fmt.Sprintf("session %s has watched %s for %s", w.Session, w.Path, seconds(w.Since))
	})
	return fmt.Sprintf("%d sessions, each of which watches a znode of the next one: %s; if they wait for these znodes to go, as in a lock, "+
		"they wait until one gives up", len(c), strings.Join(first, ", "))
}

// key names a cycle, whichever session it begins with.
func (c Cycle) key() string {
	first := slices.MinFunc(c, func(a, b Waiter) int { return strings.Compare(a.Session, b.Session) })
	return first.Session + first.Path
}

// awaited returns the session for whose sequential znode another one waits, or nil. In a line, sessions wait for lower numbers, or for
// znodes of another kind, as readers wait for writers. In a ring of members that watch each other, one watches a higher number of its kind.
func (o *Observer) awaited(s *session, now time.Duration) *session {
	own, theirs := o.znodes.made.by[s.own], o.znodes.made.by[s.watched]
	next := o.sessions[theirs.session]
	if !isSequential(s.watched) || next == s || now-s.since < cycleAfter || parentOf(s.own) != parentOf(s.watched) {
		return nil
	}
	if own.number-theirs.number < 0 && fold(s.own) == fold(s.watched) {
		return nil
	}
	return next
}

func (o *Observer) cycles(now time.Duration) []Cycle {
	out, walked := []Cycle{}, map[*session]bool{}
	for _, id := range slices.Sorted(maps.Keys(o.sessions)) {
		if c := o.cycleFrom(o.sessions[id], now, walked); len(c) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// cycleFrom walks from a session to the one for which it waits, and so on, until one that was walked. It returns the cycle in which the
// walk ends, or nothing.
func (o *Observer) cycleFrom(s *session, now time.Duration, walked map[*session]bool) (c Cycle) {
	var line []*session
	for ; s != nil && !walked[s]; s = o.awaited(s, now) {
		walked[s] = true
		line = append(line, s)
	}
	start := slices.Index(append(line, s), s) // of no session if the walk has ended elsewhere
	return list.Map(line[start:], func(s *session) Waiter { return Waiter{sessionName(s.id), s.watched, now - s.since} })
}
