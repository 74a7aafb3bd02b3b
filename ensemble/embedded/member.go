package embedded

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
)

type member struct {
	applied  int64                // the zxid of the last transaction in the tree
	has      int64                // the last zxid that it has acknowledged
	lag      time.Duration        // the delay before it applies a transaction, unless it leads
	late     time.Duration        // the delay before it forwards a request to the leader
	serves   bool                 // it accepts sessions
	follows  bool                 // it counts toward the majority
	fault    ensemble.ServerFault // empty if it has none
	resumed  chan struct{}        // closed when the fault is over
	queue    []task               // to apply, in order: transactions, and answers that must not come before them
	outgoing []task               // for the leader, in order
	timer    *time.Timer          // for the next task of queue or outgoing; nil before the first
}

// task is something to do at a time; a zero time means at once.
type task struct {
	due time.Time
	do  func()
}

// hears reports whether the leader and the server can exchange proposals and acknowledgements.
func (s *Server) hears() bool {
	return s.follows && s.leads() && s.fault != ensemble.Pause &&
		(s == s.leader || s.fault != ensemble.Partition && s.leader.fault != ensemble.Partition)
}

// applies reports whether the server works on its queue. While it is cut off, transactions that are committed meanwhile wait there.
func (s *Server) applies() bool { return s.follows && s.fault == "" }

// enqueue gives the server something to apply, at the next proceed.
func (s *Server) enqueue(do func()) { s.queue = append(s.queue, s.delayed(s.lag, do)) }

// delayed returns a task that is due after d, or at once on the leader.
func (s *Server) delayed(d time.Duration, do func()) task {
	t := task{do: do}
	if d > 0 && s != s.leader {
		t.due = time.Now().Add(d)
	}
	return t
}

func (s *Server) proceed() {
	for s.hears() && s.next(&s.outgoing) {
	}
	for s.applies() && s.next(&s.queue) {
	}
	s.plan()
}

// next does the first task if it is due, and reports whether it did.
func (s *Server) next(tasks *[]task) bool {
	if len(*tasks) == 0 || (*tasks)[0].due.After(time.Now()) {
		return false
	}
	first := (*tasks)[0]
	*tasks = (*tasks)[1:]
	first.do()
	return true
}

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
		s.timer = s.after(time.Until(next), s.proceed)
	default:
		s.timer.Reset(time.Until(next))
	}
}

// after calls do, with the lock held, when d has passed, unless the servers have stopped.
func (q *quorum) after(d time.Duration, do func()) *time.Timer {
	return time.AfterFunc(d, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if q.stopped.Err() == nil {
			do()
		}
	})
}

func (s *Server) votes() bool { return s.fault == "" && !s.serves }

// elect makes the voter with the most transactions the leader, if a majority can vote. Proposals that it does not have are lost.
func (q *quorum) elect() {
	if q.leader != nil || !q.majority((*Server).votes) {
		return
	}
	voters := list.Where(q.servers, (*Server).votes)
	leader := slices.MaxFunc(voters, func(a, b *Server) int {
		return cmp.Or(cmp.Compare(a.has, b.has), cmp.Compare(a.index, b.index)) // the highest id, if several have as many
	})
	q.leader = leader
	leader.inherit()
	for _, e := range q.sessions {
		e.owner = nil
		q.renew(e)
	}
	if len(q.servers) > 1 {
		q.zxid = (q.zxid/epoch + 1) * epoch
	}
	for _, s := range voters {
		s.follow()
	}
	leader.applied = q.zxid // as on a real leader, before the first transaction of its epoch
}

func (s *Server) inherit() {
	for _, t := range s.queue {
		t.do()
	}
	for len(s.proposals) > 0 && s.proposals[0].zxid <= s.has {
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

// follow makes a server follow the leader. It copies the leader's tree if the server has missed transactions.
func (s *Server) follow() {
	s.serves, s.follows = true, true
	s.queue = nil
	if s.applied < s.leader.applied {
		s.tree, s.applied = s.leader.tree.clone(), s.leader.applied
	}
	s.commit()
}
