package embedded

import (
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

func (q *quorum) electing() time.Duration { return q.config.Tick / 10 }

// Fail gives the server a fault, and reports whether it had none.
func (s *Server) Fail(f ensemble.ServerFault) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault != "" {
		return false
	}
	over := make(chan struct{})
	s.fault, s.resumed = f, over
	if f == ensemble.Kill {
		s.lose()
	} else if len(s.servers) > 1 {
		s.after(5*s.config.Tick, func() { // the usual syncLimit
			if s.fault != "" && s.resumed == over {
				s.lose()
			}
		})
	}
	return true
}

// Recover ends the server's fault. If the others have stopped waiting for the server, it takes a while until it serves again.
func (s *Server) Recover() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == "" {
		return
	}
	s.fault = ""
	close(s.resumed)
	if s.follows {
		s.commit()
	} else {
		s.after(s.config.Tick/40, s.rejoin) // until it notices that the others have stopped waiting
	}
}

// lose removes the server from the quorum. The quorum then has no leader if this server led, or if no majority is left. A paused
// server does not notice.
func (s *Server) lose() {
	s.follows = false
	if s.fault != ensemble.Pause {
		s.leave()
	}
	if s == s.leader || !s.majority(func(other *Server) bool { return other.follows }) {
		s.abdicate()
	}
}

func (q *quorum) abdicate() {
	q.leader = nil
	for _, s := range q.servers {
		s.follows = false
		if s.fault == "" {
			s.leave()
		}
	}
	q.after(q.electing(), q.elect)
}

// leave makes a server end its clients' connections and look for a leader. It keeps its transactions.
func (s *Server) leave() {
	s.serves, s.outgoing = false, nil
	s.dropAll()
}

func (s *Server) rejoin() {
	if s.fault != "" || s.follows {
		return
	}
	s.leave()
	s.after(s.electing(), func() {
		switch {
		case s.fault != "" || s.follows:
		case s.leader == nil:
			s.elect()
		case s.leader.fault != "": // it cannot be reached, and the others still wait for it
			s.rejoin()
		default:
			s.follow()
		}
	})
}

// Leader returns the server that leads, or nil.
func (q *quorum) Leader() *Server {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.leader
}

// Lag sets the delay before the server applies a transaction, from the next one on. It has no effect while the server leads.
func (s *Server) Lag(d time.Duration) { s.change(func() { s.lag = d }) }

// Late sets the delay before the server forwards a request of its clients to the leader, from the next one on.
func (s *Server) Late(d time.Duration) { s.change(func() { s.late = d }) }
