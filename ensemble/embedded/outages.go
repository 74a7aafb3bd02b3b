package embedded

import (
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// giveUp is the silence after which servers give each other up: the usual syncLimit.
func (q *quorum) giveUp() time.Duration { return 5 * q.config.Tick }

// noticing is how long a server that has come back takes to find out that it was given up.
func (q *quorum) noticing() time.Duration { return q.config.Tick / 40 }

// electing is how long servers that look for a leader take to agree on one.
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
		s.after(s.giveUp(), func() {
			if s.fault != "" && s.resumed == over {
				s.lose()
			}
		})
	}
	return true
}

// Recover ends the server's fault. A server that was given up meanwhile needs a while until it serves again.
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
		s.after(s.noticing(), s.rejoin)
	}
}

// lose removes the server from the quorum, which has no leader then if it led, or if no majority is left. A paused server does not notice.
func (s *Server) lose() {
	s.follows = false
	if s.fault != ensemble.Pause {
		s.leave()
	}
	if s == s.leader || !s.majority(func(other *Server) bool { return other.follows }) {
		s.abdicate()
	}
}

// abdicate ends the work of all servers until there is a new leader.
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

// leave makes a server end its clients' connections and look for a leader. It keeps what it has.
func (s *Server) leave() {
	s.serves, s.outgoing = false, nil
	s.dropAll()
}

// rejoin makes a server that has come back look for the others.
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
		case s.leader.fault != "": // it cannot be reached, and has not been given up yet
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
