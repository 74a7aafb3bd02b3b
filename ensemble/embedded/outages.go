package embedded

import (
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// How long the parts of an outage take, in parts of the tick. They are about those of real servers, with ZooKeeper's usual settings.
const (
	syncLimit = 5  // ticks of silence after which servers give each other up
	finding   = 40 // the 40th part: until a server that has come back finds that it was given up
	electing  = 10 // the 10th part: until a server that looks for a leader has one
)

// Fail gives the server a fault, and reports whether it had none.
func (s *Server) Fail(f ensemble.ServerFault) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault != "" {
		return false
	}
	s.fault, s.faults = f, s.faults+1
	s.resumed = make(chan struct{})
	if f == ensemble.Kill {
		s.lose()
	} else if len(s.servers) > 1 {
		n := s.faults
		s.after(syncLimit*s.config.Tick, func() {
			if s.fault == f && s.faults == n {
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
		for _, other := range s.servers {
			other.proceed()
		}
	} else {
		s.after(s.config.Tick/finding, s.rejoin)
	}
}

// lose is what happens when the other servers give the server up, and it them. One that is paused does not know.
func (s *Server) lose() {
	s.follows = false
	if s.fault != ensemble.Pause {
		s.leave()
	}
	following := 0
	for _, other := range s.servers {
		if other.follows {
			following++
		}
	}
	if s == s.leader || !s.isMajority(following) {
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
	q.after(q.config.Tick/electing, q.elect)
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
	s.after(s.config.Tick/electing, func() {
		switch {
		case s.fault != "" || s.follows:
		case s.leader == nil:
			s.elect()
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

// Lag sets how long after its commit the server applies a transaction, and Late how long it holds back what its clients ask of the leader.
// Neither has an effect while the server leads, nor on what is under way.
func (s *Server) Lag(d time.Duration) { s.change(func() { s.lag = d }) }

// Late is described at Lag.
func (s *Server) Late(d time.Duration) { s.change(func() { s.late = d }) }
