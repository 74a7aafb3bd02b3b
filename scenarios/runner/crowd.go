package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/variants"
)

// parallel bounds how many sessions are opened, fenced or closed at once.
const parallel = 64

// connectTimeout is how long all sessions of a measurement may take to be established.
const connectTimeout = 30 * time.Second

// holdFunc is what a participant does while it holds; see variants.Env.
type holdFunc func(ctx context.Context, lost <-chan struct{}) error

// member is one participant with the session that is its alone, and everything that observes it.
type member struct {
	id          int
	server      ensemble.Server
	conn        *zk.Conn
	ledger      *wire.Ledger
	monitor     *variants.Monitor
	session     *variants.Session
	log         *variants.Log
	participant variants.Participant
	hold        holdFunc // set by the mode before the first step
}

// step performs one operation.
func (m *member) step(ctx context.Context) error { return m.participant.Step(ctx) }

// waits returns how often the member began or ended to wait.
func (m *member) waits() int64 {
	wait, begun := m.session.Waiting()
	if wait != nil {
		return 2*begun - 1
	}
	return 2 * begun
}

// atRest reports whether the member waits for a watch that has not fired, with nothing outstanding.
func (m *member) atRest() bool {
	w, _ := m.session.Waiting()
	return w != nil && !w.Fired() && m.ledger.Idle()
}

// crowd is the participants of one measurement.
type crowd struct {
	epoch   time.Time
	members []*member
}

// since returns the time on the measurement's clock.
func (c *crowd) since() time.Duration { return time.Since(c.epoch) }

// site is where a measurement takes place.
type site struct {
	servers   []ensemble.Server
	clients   int
	size      int    // see variants.Env
	root      string // empty, and the participants' alone
	bystander string // the small znode that bystanders read
}

// gather opens a session for each client, assigned to the servers in turn, and lets each join the recipe.
func gather(ctx context.Context, at site, v variants.Variant) (*crowd, error) {
	c := &crowd{epoch: time.Now(), members: make([]*member, at.clients)}
	for i := range c.members {
		c.members[i] = &member{
			id:      i,
			server:  at.servers[i%len(at.servers)],
			ledger:  wire.NewLedger(c.epoch),
			monitor: variants.NewMonitor(ensemble.SessionTimeout),
			log:     variants.NewLog(c.epoch, i),
		}
	}
	connect, cancel := context.WithTimeoutCause(ctx, connectTimeout, fmt.Errorf("%d sessions were not established within %s (do the servers allow so many from one address? see maxClientCnxns)", at.clients, connectTimeout))
	defer cancel()
	connect, stop := context.WithCancelCause(connect)
	defer stop(nil)
	err := c.each(func(m *member) error {
		err := m.join(connect, v, at)
		if err != nil {
			stop(m.explain(err)) // thousands of others would each find out for themselves
		}
		return err
	})
	if err != nil {
		c.disperse(context.WithoutCancel(ctx))
		return nil, context.Cause(connect)
	}
	return c, nil
}

func (m *member) join(ctx context.Context, v variants.Variant, at site) error {
	conn, err := ensemble.Connect(ctx, m.server.Addr, m.ledger, m.monitor.Observe)
	if err != nil {
		return err
	}
	m.conn = conn
	m.monitor.Guard(conn)
	m.monitor.SetTimeout(m.ledger.SessionTimeout())
	m.session = variants.NewSession(conn, m.monitor.Lost())
	m.participant, err = v.Join(ctx, variants.Env{
		Clients: at.clients, Index: m.id, Size: at.size,
		Session: m.session,
		Root:    at.root,
		Record:  m.log.Record,
		Hold: func(ctx context.Context, asked <-chan struct{}) error {
			return m.hold(ctx, cmp.Or(asked, m.monitor.Lost()))
		},
	})
	return err
}

// each runs do for all members, several at a time, and returns the first error with whose it was.
func (c *crowd) each(do func(*member) error) error { return each(c.members, do) }

func each(members []*member, do func(*member) error) error {
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, m := range members {
		group.Go(func() error { return m.explain(do(m)) })
	}
	return group.Wait()
}

func (m *member) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("client %d on %s: %w", m.id, m.server.Name, err)
}

// fence returns when every session has received all notifications of what any of them had been told of before the call.
func (c *crowd) fence(ctx context.Context) error { return fenceAll(ctx, c.members, c.latest()) }

// fenceAll fences sessions up to a transaction.
func fenceAll(ctx context.Context, members []*member, zxid int64) error {
	return each(members, func(m *member) error { return m.fence(ctx, zxid) })
}

// fence syncs until the session's server has come as far as the transaction. One sync is not always enough: a leader
// answers those of its own sessions before it has applied all that followers have.
func (m *member) fence(ctx context.Context, zxid int64) error {
	for deadline := time.Now().Add(ensemble.SessionTimeout); ; {
		_, err := m.session.Retry(ctx, func(variants.Conn) error { return ensemble.Fence(m.conn) })
		if err != nil || m.ledger.LastZxid() >= zxid {
			return m.explain(err)
		}
		if time.Now().After(deadline) {
			return m.explain(fmt.Errorf("its server has not come as far as the others (zxid %#x) within %s", zxid, ensemble.SessionTimeout))
		}
		if err := sleep(ctx, settlePoll); err != nil {
			return err
		}
	}
}

// latest returns the last transaction that any session has been told of. That is the last one there was, if nobody is
// at work: every transaction is somebody's, and was answered.
func (c *crowd) latest() int64 {
	var zxid int64
	for _, m := range c.members {
		zxid = max(zxid, m.ledger.LastZxid())
	}
	return zxid
}

// setHold says what members do while they hold.
func (c *crowd) setHold(hold func(*member) holdFunc) {
	for _, m := range c.members {
		m.hold = hold(m)
	}
}

// counts returns the sum of all sessions' counts.
func (c *crowd) counts() wire.Counts {
	var total wire.Counts
	for _, m := range c.members {
		total.Add(m.ledger.Counts())
	}
	return total
}

// notifications returns every notification of every session, in no particular order.
func (c *crowd) notifications() []results.Notification {
	var all []results.Notification
	for _, m := range c.members {
		for _, n := range m.ledger.TakeNotifications(nil) {
			all = append(all, results.Notification{At: n.At, Client: m.id, Zxid: n.Zxid, Type: n.Type.String(), Path: n.Path})
		}
	}
	return all
}

// history returns what the members did, in the order of time. None may be at work any more.
func (c *crowd) history() []variants.Event {
	var events []variants.Event
	for _, m := range c.members {
		events = m.log.Take(events)
	}
	slices.SortStableFunc(events, func(a, b variants.Event) int { return cmp.Compare(a.At, b.At) })
	return events
}

// disperseTimeout is how long participants may take to leave. One that waits for a silent server leaves with its session.
const disperseTimeout = 10 * time.Second

// disperse lets all participants leave and closes the sessions, which takes their ephemeral znodes with them.
func (c *crowd) disperse(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, disperseTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, c.closeAll)()
	_ = c.each(func(m *member) error {
		var err error
		if m.participant != nil {
			err = m.participant.Leave(ctx)
		}
		m.monitor.Dismiss()
		if m.conn != nil {
			m.conn.Close()
		}
		return err
	})
}

// closeAll closes all sessions at once, which ends the operations that wait for an answer. A server that answers takes
// that in turns; a silent one costs a second per session.
func (c *crowd) closeAll() {
	for _, m := range c.members {
		if m.conn != nil {
			go m.conn.Close()
		}
	}
}
