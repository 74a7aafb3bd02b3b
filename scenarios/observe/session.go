package observe

import (
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// followed is how long after a notification the requests of its session are taken for its effect.
const followed = 50 * time.Millisecond

// session is what is known of one session.
type session struct {
	id   int64
	slot int

	herd     *herd               // of the latest notification; nil before the first one
	notified time.Duration       // when that arrived
	woken    map[*pathStats]bool // the paths of notifications that no successful write of the session has followed yet
	waits    map[string]*wait    // by path
	left     int                 // watches that cannot fire, of waits that the client has given up; the server keeps them
}

// follow books a request as an effect of the session's latest notification, if it was sent soon after that.
func (s *session) follow(e wire.Exchange) {
	if s.herd == nil || e.Sent < s.notified || e.Sent-s.notified > followed {
		return
	}
	s.herd.follow(e)
}

// wait is a watch on a sequential znode that was gone already when exists set it. The servers never give a sequential name twice, unless
// the parent is made anew, so that the watch does not fire.
type wait struct {
	since  time.Duration
	parent string
}

// stuckAfter is how long a session must have done nothing about a watch that cannot fire.
const stuckAfter = time.Second

// mostWaits bounds how many such watches of a session are kept.
const mostWaits = 100

// await keeps track of watches that cannot fire. sequences has the parents of sequential znodes.
func (s *session) await(now time.Duration, e wire.Exchange, sequences map[string]bool) {
	for path, w := range s.waits {
		switch {
		case e.Op == wire.OpRemoveWatches && e.Path == path:
			delete(s.waits, path)
		case e.Path != "" && (e.Path == w.parent || parentOf(e.Path) == w.parent): // the client went on
			delete(s.waits, path)
			s.left++
		}
	}
	parent := parentOf(e.Path)
	gone := e.Op == wire.OpExists && e.Armed && e.Code == wire.NoNode && isSequential(e.Path) && sequences[parent]
	if !gone || len(s.waits) == mostWaits {
		return
	}
	if s.waits == nil {
		s.waits = map[string]*wait{}
	}
	s.waits[e.Path] = &wait{since: now, parent: parent}
}

// stuck reports whether the session has done nothing since about what it waits for.
func (w *wait) stuck(now time.Duration) bool { return now-w.since >= stuckAfter }

// isStuck reports whether one of the session's waits cannot end.
func (s *session) isStuck(now time.Duration) bool {
	for _, w := range s.waits {
		if w.stuck(now) {
			return true
		}
	}
	return false
}

// fired removes the watch that a notification ends.
func (s *session) fired(n wire.Notification) { delete(s.waits, n.Path) }
