package observe

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// followed is how long after a notification the requests of its session are counted as its effect.
const followed = 50 * time.Millisecond

type session struct {
	id   int64
	slot int

	herd     *herd                // of the latest notification; nil before the first one
	notified time.Duration        // when that arrived
	woken    map[*PathReport]bool // the paths of notifications that no successful write of the session has followed yet
	// waits has the watches that exists set on a sequential znode that was already gone, by path, with the time at which it was
	// set. The servers never reuse a sequential name, unless the parent is created again, so that such a watch does not fire.
	waits map[string]time.Duration
	left  int // such watches that the client has given up; the server keeps them
	// knows has znodes of which the client has learned that they are gone. If it watches them nevertheless, it does not wait for their end.
	knows latest[string, bool]

	own     string        // the latest sequential znode that it made; empty if it has deleted that, or watches the directory
	watched string        // the znode on which its latest request set a watch that has not fired; empty without one
	since   time.Duration // when it was set
	// learned reports whether the client has read the servers' own addresses.
	learned bool
}

// follow counts a request as an effect of the session's latest notification, if it was sent soon after that.
func (s *session) follow(e wire.Exchange) {
	if s.herd == nil || e.Sent < s.notified || e.Sent-s.notified > followed {
		return
	}
	h, operation, failed := s.herd, e.Op.String(), e.Code != wire.OK
	i := slices.IndexFunc(h.Effects, func(f Effect) bool { return f.Operation == operation && f.Failed == failed })
	if i < 0 {
		i = len(h.Effects)
		h.Effects = append(h.Effects, Effect{Operation: operation, Failed: failed})
	}
	h.Effects[i].Count++
	h.Effects[i].BytesIn += e.BytesIn
}

// stuckAfter is how long a session must have ignored a watch that cannot fire.
const stuckAfter = time.Second

// mostWaits bounds how many such watches of a session are kept.
const mostWaits = 100

func (s *session) await(now time.Duration, e wire.Exchange, known numbers) {
	parent := parentOf(e.Path)
	s.watched = ""
	switch {
	case !e.Armed:
	case e.Path == parentOf(s.own):
		s.own = ""
	case e.Code == wire.OK && (e.Op == wire.OpExists || e.Op == wire.OpGetData):
		s.watched, s.since = e.Path, now
	}
	for path := range s.waits {
		switch waited := parentOf(path); {
		case e.Op == wire.OpRemoveWatches && e.Path == path:
			delete(s.waits, path)
		case e.Path != "" && (e.Path == waited || parent == waited): // the client continued
			delete(s.waits, path)
			s.left++
		}
	}
	switch {
	case e.Code != wire.NoNode:
	case e.Armed && !s.knows.by[e.Path] && known.gone(e.Path, e.Zxid) && len(s.waits) < mostWaits:
		s.waits[e.Path] = now
	case e.Op == wire.OpExists || e.Op == wire.OpGetData || e.Op == wire.OpDelete:
		s.knows.add(e.Path, true)
	}
}

func (s *session) stuck(now time.Duration) (out []Waiter) {
	for path, since := range s.waits {
		if now-since >= stuckAfter {
			out = append(out, Waiter{sessionName(s.id), path, now - since})
		}
	}
	return out
}
