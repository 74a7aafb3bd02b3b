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

// Inject sets a trap.
func (s *Server) Inject(f Fault) *Trap {
	t := &Trap{fault: f, left: max(f.Nth, 1), fired: make(chan struct{}), released: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.traps = append(s.traps, t)
	return t
}

// DelayNotifications delays every later notification by d, and with it all later frames to the same connection. Zero ends
// the delay.
func (s *Server) DelayNotifications(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notificationDelay = d
}

// Stall serves no request for d, and returns then. Requests that arrive meanwhile wait, and are answered in their order afterwards.
func (s *Server) Stall(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sleep(d)
}

// Expire ends a session as if its client had been silent for too long. It reports whether the session existed.
func (s *Server) Expire(session int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.sessions[session]
	if ok {
		s.expire(e)
	}
	return ok
}

// trapFor returns the trap whose fault happens at a request, or nil. If it is the turn of two, the second one waits.
func (s *Server) trapFor(session int64, op wire.Opcode) *Trap {
	var found *Trap
	for _, t := range s.traps {
		if t.fault.Op != op || t.fault.Session != 0 && t.fault.Session != session {
			continue
		}
		if t.left--; t.left <= 0 && found == nil {
			found = t
		}
	}
	s.traps = slices.DeleteFunc(s.traps, func(t *Trap) bool { return t == found })
	return found
}
