package embedded

import (
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// Action is what goes wrong at a request.
type Action int

// The actions. In each case all other sessions go on undisturbed.
const (
	// DropBefore ends the connection; the server has never seen the request.
	DropBefore Action = iota
	// DropAfter ends the connection when the request has taken effect: its reply is lost.
	DropAfter
	// ExpireBefore expires the session instead of serving the request.
	ExpireBefore
	// ExpireAfter expires the session when the request has taken effect; its reply is lost.
	ExpireAfter
	// HoldReply keeps the reply, and whatever follows it on this connection, until the trap is released.
	HoldReply
)

// Fault is something that shall go wrong once, at an exact request.
type Fault struct {
	Session int64       // whose requests count; zero for everybody's
	Op      wire.Opcode // which requests count
	Nth     int         // which one it is, counted from now on; zero for the next
	Do      Action
}

// Trap is a fault that waits to happen.
type Trap struct {
	fault    Fault
	left     int
	fired    chan struct{}
	release  sync.Once
	released chan struct{}
}

// Fired is closed when the fault has happened: for a test, the proof that it tested something.
func (t *Trap) Fired() <-chan struct{} { return t.fired }

// Release lets a held reply go; called earlier, it keeps the trap from holding any. It may be called more than once.
func (t *Trap) Release() { t.release.Do(func() { close(t.released) }) }

// Inject sets a trap.
func (s *Server) Inject(f Fault) *Trap {
	t := &Trap{fault: f, left: max(f.Nth, 1), fired: make(chan struct{}), released: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.traps = append(s.traps, t)
	return t
}

// DelayNotifications holds each notification that is sent from now on back for a while, and with it whatever the
// server sends to the same connection after it: a client never sees them out of order. Zero ends it.
func (s *Server) DelayNotifications(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notificationDelay = d
}

// Expire ends a session as if its client had been silent for too long. It tells whether there was one.
func (s *Server) Expire(session int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.sessions[session]
	if ok {
		s.expire(e)
	}
	return ok
}

// spring returns the trap that a request goes into, if any. All traps that wait for such a request count it; where two
// are due at one request, the later one waits for the next.
func (s *Server) spring(session int64, op wire.Opcode) *Trap {
	var sprung *Trap
	for _, t := range s.traps {
		if t.fault.Op != op || t.fault.Session != 0 && t.fault.Session != session {
			continue
		}
		if t.left--; t.left <= 0 && sprung == nil {
			sprung = t
		}
	}
	s.traps = slices.DeleteFunc(s.traps, func(t *Trap) bool { return t == sprung })
	return sprung
}
