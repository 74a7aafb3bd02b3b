package embedded

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// member is a server's part in the quorum.
type member struct {
	applied  int64                // the zxid of the last transaction in the tree
	lag      time.Duration        // until it applies a transaction, unless it leads
	late     time.Duration        // until it hands on what its clients ask of the leader
	serves   bool                 // it serves clients
	follows  bool                 // the leader counts it in
	fault    ensemble.ServerFault // empty if it has none
	faults   int                  // so far
	resumed  chan struct{}        // closed when it is no longer paused
	queue    []delivery           // what it has and has not applied yet, in order
	outgoing []message            // for the leader, in order
	timer    *time.Timer          // for the next of the two; nil before the first
}

// delivery is a transaction, or an answer that must not come before those ahead of it have been applied.
type delivery struct {
	due time.Time
	*transaction
	answer func()
}

// message is what a server asks of the leader.
type message struct {
	due time.Time
	do  func()
}

// hears reports whether the leader's proposals reach the server, and its acknowledgements the leader.
func (s *Server) hears() bool {
	return s.follows && s.leads() && s.fault != ensemble.Pause &&
		(s == s.leader || s.fault != ensemble.Partition && s.leader.fault != ensemble.Partition)
}

// applies reports whether the server works on what it has. One that is cut off does not have what has been committed since.
func (s *Server) applies() bool { return s.follows && s.fault == "" }

// lags reports whether the server is not the leader, which applies transactions at once.
func (s *Server) lags() bool { return s != s.leader }

// askLeader lets the leader do something for a client of the server, as soon as the server reaches it, after what was asked before.
func (s *Server) askLeader(do func()) {
	m := message{do: do}
	if s.late > 0 && s.lags() {
		m.due = s.now().Add(s.late)
	}
	s.outgoing = append(s.outgoing, m)
	s.proceed()
}

// enqueue gives the server something to apply.
func (s *Server) enqueue(d delivery) {
	if s.lag > 0 && s.lags() {
		d.due = s.now().Add(s.lag)
	}
	s.queue = append(s.queue, d)
}

// proceed does what is due.
func (s *Server) proceed() {
	for s.hears() && len(s.outgoing) > 0 && !s.outgoing[0].due.After(s.now()) {
		m := s.outgoing[0]
		s.outgoing = s.outgoing[1:]
		m.do()
	}
	for s.applies() && len(s.queue) > 0 && !s.queue[0].due.After(s.now()) {
		s.advance()
	}
	s.plan()
}

// advance applies the first transaction of the queue, or gives the first answer.
func (s *Server) advance() {
	d := s.queue[0]
	s.queue = s.queue[1:]
	if d.transaction != nil {
		s.take(d.transaction)
	} else {
		d.answer()
	}
}

// plan sets the timer for what is due next.
func (s *Server) plan() {
	var next time.Time
	if s.applies() && len(s.queue) > 0 {
		next = s.queue[0].due
	}
	if s.hears() && len(s.outgoing) > 0 && (next.IsZero() || s.outgoing[0].due.Before(next)) {
		next = s.outgoing[0].due
	}
	switch {
	case next.IsZero():
	case s.timer == nil:
		s.timer = s.after(next.Sub(s.now()), s.proceed)
	default:
		s.timer.Reset(next.Sub(s.now()))
	}
}

// after calls do, with the lock, when d has passed.
func (q *quorum) after(d time.Duration, do func()) *time.Timer {
	return time.AfterFunc(d, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if !q.closed {
			do()
		}
	})
}

// last returns the zxid of the last transaction that the server has, committed or not.
func (s *Server) last() int64 {
	zxid := s.applied
	for _, d := range s.queue {
		if d.transaction != nil {
			zxid = d.zxid
		}
	}
	for _, t := range s.proposals {
		if t.acks&(1<<s.index) != 0 {
			zxid = t.zxid
		}
	}
	return zxid
}

// elect makes the server lead that has most transactions, if a majority can be asked. What it has is committed, and other proposals are lost.
func (q *quorum) elect() {
	var voters []*Server
	for _, s := range q.servers {
		if s.fault == "" && !s.serves {
			voters = append(voters, s)
		}
	}
	if q.leader != nil || !q.isMajority(len(voters)) {
		return
	}
	q.leader = slices.MaxFunc(voters, func(a, b *Server) int { return cmp.Or(cmp.Compare(a.last(), b.last()), a.index-b.index) })
	q.leader.inherit()
	q.zxid = (q.zxid/epoch + 1) * epoch
	for _, e := range q.sessions {
		e.owner = nil
		q.renew(e)
	}
	for _, s := range voters {
		s.follow()
	}
}

// inherit applies what a new leader has.
func (s *Server) inherit() {
	for len(s.queue) > 0 {
		s.advance()
	}
	for len(s.proposals) > 0 && s.proposals[0].acks&(1<<s.index) != 0 {
		s.take(s.proposals[0])
		s.proposals = s.proposals[1:]
	}
	for _, t := range slices.Backward(s.proposals) {
		if t.lost != nil {
			t.lost()
		}
	}
	s.proposals = nil
}

// follow makes a server work with the leader, whose tree it copies if it has missed anything.
func (s *Server) follow() {
	s.serves, s.follows = true, true
	s.queue = nil
	if s.applied < s.leader.applied {
		s.tree, s.applied = s.leader.tree.clone(), s.leader.applied
	}
	s.commit()
}
