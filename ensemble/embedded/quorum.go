package embedded

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/results/list"
)

// quorum is the state that servers share: one order of transactions, the sessions, and one lock.
//
// It is not a consensus protocol. The leader orders the transactions, and the quorum, which sees all servers, counts how many have
// each one: a transaction is committed when a majority has it. An election knows the transactions of each server. So clients can see
// reads that lag behind writes, refused handshakes, and writes that are lost or not answered. Apart from that, they see one server.
type quorum struct {
	config  Config
	sleep   func(time.Duration)
	exact   bool // each delay is slept, however short: virtual time passes exactly
	started time.Time
	stopped context.Context // ends with the servers
	stop    context.CancelFunc
	running sync.WaitGroup

	mu                dial.Mutex // guards everything below and all servers, and is held while a request is served
	servers           []*Server
	leader            *Server        // nil while there is none
	zxid              int64          // of the last transaction
	proposals         []*transaction // not committed yet
	sessions          map[int64]*session
	nextSession       int64
	traps             []*Trap
	notificationDelay time.Duration
}

// epoch is the difference between the zxids of two leaders.
const epoch = 1 << 32

func newQuorum(config Config) *quorum {
	config.Voters = max(config.Voters, 1)
	config.Tick, config.Reap = cmp.Or(config.Tick, 2*time.Second), cmp.Or(config.Reap, time.Minute)
	now := time.Now()
	q := &quorum{
		config:      config,
		sleep:       time.Sleep,
		started:     now,
		mu:          dial.NewMutex(),
		sessions:    map[int64]*session{},
		nextSession: now.UnixMilli() << 16, // clients of an earlier server must not find their session ids here
	}
	q.stopped, q.stop = context.WithCancel(context.Background())
	if config.Voters > 1 { // a server that is alone has had no election
		q.zxid = epoch
	}
	for i := range config.Voters {
		s := &Server{
			quorum: q, index: i, tree: newTree(), watches: &watches{data: newWatchTable(), child: newWatchTable()},
			connections: set[*connection]{}, attached: map[int64]*connection{},
			member: member{applied: q.zxid, has: q.zxid, lag: config.Lag, serves: true, follows: true},
		}
		q.servers = append(q.servers, s)
	}
	q.leader = q.servers[config.Voters-1] // as after the usual election: the highest id
	return q
}

// transaction is a change of all trees. Each server that applies it calls run: on equal trees, it has equal results.
type transaction struct {
	zxid    int64
	now     int64 // in milliseconds since 1970, when it was proposed
	session int64
	// run applies the changes at a server. It returns a function to call after the watchers have been notified, or nil.
	run  func(at *Server, c *change) func()
	then []func()
	lost func() // undoes changes that were made when it was proposed; may be nil
}

// propose makes the leader order a transaction. It uses up a zxid even if it changes nothing.
func (q *quorum) propose(session int64, run func(*Server, *change) func(), lost func()) {
	q.zxid++
	q.proposals = append(q.proposals, &transaction{zxid: q.zxid, now: time.Now().UnixMilli(), session: session, run: run, lost: lost})
	q.commit()
}

// commit commits the proposals that a majority has, in order.
func (q *quorum) commit() {
	for _, s := range q.servers {
		if s.hears() {
			s.has = q.zxid
		}
	}
	for len(q.proposals) > 0 && q.majority(func(s *Server) bool { return s.has >= q.proposals[0].zxid }) {
		t := q.proposals[0]
		q.proposals = q.proposals[1:]
		for _, s := range q.servers {
			if s.follows {
				s.enqueue(func() { s.take(t) })
			}
		}
		for _, do := range t.then {
			do()
		}
	}
	for _, s := range q.servers { // when all have it: a server that proceeds may propose the next transaction
		s.proceed()
	}
}

func (q *quorum) majority(is func(*Server) bool) bool {
	return 2*len(list.Where(q.servers, is)) > len(q.servers)
}

func (q *quorum) leads() bool { return q.leader != nil && q.leader.fault != ensemble.Pause }

func (q *quorum) runTimers() {
	tick, reap := time.NewTicker(q.config.Tick), time.NewTicker(q.config.Reap)
	defer tick.Stop()
	defer reap.Stop()
	for {
		select {
		case <-q.stopped.Done():
			return
		case now := <-tick.C:
			q.expireSilent(now)
		case <-reap.C:
			q.reap()
		}
	}
}

// expireSilent expires the sessions whose clients have been silent for too long, and drops connections of sessions that have moved to
// another server.
func (q *quorum) expireSilent(now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(q.sessions)) {
		if e := q.sessions[id]; e != nil && q.leads() && now.After(e.expires.Add(q.config.Expiry)) {
			q.end(e)
		}
	}
	for _, s := range q.servers {
		for c := range s.connections {
			if e := c.session; e != nil && e.owner != s && s.fault != ensemble.Pause && now.After(c.heard.Add(e.timeout)) {
				s.drop(c)
			}
		}
	}
}

// reap removes empty containers, and znodes whose time to live is over.
func (q *quorum) reap() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.leads() {
		return
	}
	tree := q.leader.tree
	for _, path := range slices.Sorted(maps.Keys(tree.transient)) {
		if n := tree.nodes[path]; n != nil && n.isOver(time.Now().UnixMilli()) {
			q.propose(0, func(_ *Server, c *change) func() {
				if n := c.nodes[path]; n != nil && n.isOver(c.now) {
					c.cut(path)
				}
				return nil
			}, nil)
		}
	}
}

func (q *quorum) begin(c *connection, timeout time.Duration, knowsReadOnly bool) {
	q.nextSession++
	e := &session{id: q.nextSession, password: make([]byte, passwordSize), timeout: timeout, owner: c.server}
	_, _ = rand.Read(e.password) // never fails
	q.sessions[e.id] = e
	q.renew(e)
	q.propose(e.id, func(at *Server, _ *change) func() {
		return c.answerAt(at, func() { c.adopt(e, knowsReadOnly) })
	}, func() { delete(q.sessions, e.id) })
}

// resume attaches a connection to its client's session. It refuses if the session has ended or the password is wrong.
func (q *quorum) resume(c *connection, id int64, password []byte, timeout time.Duration, knowsReadOnly bool) {
	e := q.sessions[id]
	if e != nil && string(password) == string(e.password) {
		e.timeout, e.owner = timeout, c.server
		q.renew(e)
	} else {
		e = nil
	}
	c.answerAt(c.server, func() { c.adopt(e, knowsReadOnly) })()
}

const passwordSize = 16

func (q *quorum) renew(e *session) { e.expires = time.Now().Add(e.timeout) }

// end removes a session and its ephemeral znodes in one transaction, and ends its connections. Clients learn of that when they
// connect again, except one that has asked for the end.
func (q *quorum) end(e *session) {
	delete(q.sessions, e.id)
	q.propose(e.id, func(at *Server, c *change) func() {
		for _, path := range slices.Sorted(maps.Keys(at.tree.ephemerals[e.id])) {
			c.cut(path)
		}
		return func() { // after the session's own watches have fired: the counters of real servers include them
			switch c := at.attached[e.id]; {
			case c == nil:
			case c.closing != nil:
				c.closing()
			default:
				at.drop(c)
			}
		}
	}, func() { q.sessions[e.id] = e })
}

func (q *quorum) settle(do func()) {
	if n := len(q.proposals); n > 0 {
		q.proposals[n-1].then = append(q.proposals[n-1].then, do)
	} else {
		do()
	}
}
