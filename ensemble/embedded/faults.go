package embedded

import (
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// Action is the effect of a fault at a request.
type Action int

// The actions. None of them affects other sessions.
const (
	// DropBefore ends the connection instead of serving the request.
	DropBefore Action = iota
	// DropAfter ends the connection after the request has taken effect. Its reply is lost.
	DropAfter
	// ExpireBefore expires the session instead of serving the request.
	ExpireBefore
	// ExpireAfter expires the session after the request has taken effect. Its reply is lost.
	ExpireAfter
	// HoldReply holds the reply and all later frames of the connection back until the trap is released.
	HoldReply
)

// Fault is an action that happens once, at an exact request.
type Fault struct {
	Session int64       // the session whose requests count; zero for all sessions
	Op      wire.Opcode // which requests count
	Nth     int         // the position of the request, counted from Inject; zero for the next one
	Do      Action
}

// Trap is a fault that may not have happened yet.
type Trap struct {
	fault    Fault
	left     int
	fired    chan struct{}
	release  sync.Once
	released chan struct{}
}

// Fired is closed when the fault has happened.
func (t *Trap) Fired() <-chan struct{} { return t.fired }

// Release sends a held reply. Called before the fault, it makes HoldReply ineffective. It may be called more than once.
func (t *Trap) Release() { t.release.Do(func() { close(t.released) }) }

// Inject sets a trap. Only requests after this call count.
func (q *quorum) Inject(f Fault) *Trap {
	t := &Trap{fault: f, left: max(f.Nth, 1), fired: make(chan struct{}), released: make(chan struct{})}
	q.change(func() { q.traps = append(q.traps, t) })
	return t
}

// DelayNotifications delays every later notification by d, and all later frames to the same connection with it. Zero ends the delay.
func (q *quorum) DelayNotifications(d time.Duration) { q.change(func() { q.notificationDelay = d }) }

// Expire ends a session as if its client had been silent for too long. It reports whether the session existed and a leader could end it.
func (q *quorum) Expire(session int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, ok := q.sessions[session]
	if ok = ok && q.leads(); ok {
		q.end(e)
	}
	return ok
}

// Ended reports whether the end of a session is committed. Servers that lag may still have its ephemeral znodes.
func (q *quorum) Ended(session int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.sessions[session] == nil && q.leads() && len(q.proposals) == 0
}

func (q *quorum) change(do func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	do()
}

// trapFor returns the trap whose fault happens at a request, or nil. If two traps match, the second one waits for the next request.
func (q *quorum) trapFor(session int64, op wire.Opcode) *Trap {
	var found *Trap
	for _, t := range q.traps {
		if t.fault.Op != op || t.fault.Session != 0 && t.fault.Session != session {
			continue
		}
		if t.left--; t.left <= 0 && found == nil {
			found = t
		}
	}
	q.traps = slices.DeleteFunc(q.traps, func(t *Trap) bool { return t == found })
	return found
}
