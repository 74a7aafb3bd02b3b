package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
)

// life is what a client has from when it joins the recipe until it stops dead or loses its session. Then it joins again.
type life struct {
	number      int // from zero on
	ledger      *wire.Ledger
	link        *ensemble.Link
	own         ownSession       // nil before it is open
	tunnel      *ensemble.Tunnel // nil unless its requests take the way of those of a driver
	calling     atomic.Bool      // it is in a driver, which has not answered its last call
	monitor     *variants.Monitor
	session     *variants.Session
	further     furtherSessions
	log         *variants.Log
	participant variants.Participant
	doomed      atomic.Bool     // its session has been ended by a fault, which the client may not know yet
	dead        context.Context // ends when the client stops dead
	died        time.Time       // when that was; set before dead ends
	kill        context.CancelFunc
}

// former is what a client has recorded in its lives that are over.
type former struct {
	logs          []*variants.Log     // whose events have not been taken
	notifications []wire.Notification // that have not been taken
	counts        wire.Counts
	traffic       wire.Traffic // of the counts, which it takes longer to sum up
	reconnects    int
	unmatched     int64
}

// newLife returns a life of a client that has not begun. calls is [variants.Recipe.Calls].
func newLife(number int, epoch time.Time, client int, calls []variants.EventKind) *life {
	ledger := wire.NewLedger(epoch)
	log := variants.NewLog(epoch, client, func() (seen, shown int64, next variants.Write) { return ledger.Sight() }, calls)
	l := &life{number: number, ledger: ledger, link: ensemble.NewLink(ledger), log: log, monitor: variants.NewMonitor(ensemble.SessionTimeout)}
	l.monitor.WhenLost(func() { log.Record(variants.SessionLost, int64(number)) })
	l.dead, l.kill = context.WithCancel(context.Background())
	return l
}

// over reports whether the client has stopped dead or lost its session.
func (l *life) over() bool {
	select {
	case <-l.monitor.Lost():
		return true
	default:
		return l.dead.Err() != nil
	}
}

// pause waits for d, until the client is asked to go on, or until its session is lost. It is an error only if ctx ended.
func (l *life) pause(ctx context.Context, asked <-chan struct{}, d time.Duration) error {
	return variants.WaitFor(ctx, d, asked, l.monitor.Lost())
}

// die makes the client stop dead. Nothing that it does from now on is recorded or reaches a server. Its session runs out.
func (l *life) die() {
	l.link.Sever() // first: a request that still leaves is one that the history has
	l.log.End(variants.Died, int64(l.number))
	l.died = time.Now()
	l.kill() // before the client learns of the loss: else it could take that for an expiry, and join again at once
	l.monitor.Lose()
}

// expire ends the session of the client's present life at the servers. The client learns of it when it connects again.
func (c *client) expire(ctx context.Context) error {
	l := c.present()
	l.doomed.Store(true)
	if err := l.link.Expire(ctx); !errors.Is(err, ensemble.ErrNoSession) {
		return err
	}
	return nil // it has run out meanwhile
}

// reborn replaces the client's life, whose counts are final. Only the client's own goroutine calls it.
func (c *client) reborn(next *life) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := &c.former
	f.logs = append(f.logs, c.log)
	f.notifications = c.ledger.TakeNotifications(f.notifications)
	f.counts.Add(c.ledger.Counts())
	f.traffic = f.counts.Traffic()
	f.reconnects += c.ledger.Reconnects()
	f.unmatched += c.ledger.Unmatched()
	c.life = next
}

// counts returns the counts of all the client's lives.
func (c *client) counts() wire.Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := c.ledger.Counts()
	total.Add(c.former.counts)
	return total
}

// traffic returns the traffic of all the client's lives. It is cheaper than counts.
func (c *client) traffic() wire.Traffic {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := c.ledger.Traffic()
	total.Add(c.former.traffic)
	return total
}

// reconnects returns how many times the client's sessions moved to a new connection.
func (c *client) reconnects() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.former.reconnects + c.ledger.Reconnects()
}

// unmatched returns how many replies the client's ledgers could not match with requests.
func (c *client) unmatched() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.former.unmatched + c.ledger.Unmatched()
}

// present returns the client's life, for other goroutines than the client's own.
func (c *client) present() *life {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.life
}

// member returns the client's participant, for other goroutines than the client's own; nil if it has none, such as while the
// client joins again, and when a fault has ended its session.
func (c *client) member() variants.Participant {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over() || c.doomed.Load() {
		return nil
	}
	return c.participant
}

// takeEvents appends the events that the client has recorded since the last call, in all its lives, as [variants.Log.Take] does. Those of
// lives that are over wait for no reply.
func (c *client) takeEvents(dst []variants.Placed, until time.Duration) []variants.Placed {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, log := range c.former.logs {
		dst = log.Take(dst, math.MaxInt64)
	}
	c.former.logs = c.former.logs[:0]
	for _, log := range c.beside {
		dst = log.Take(dst, until)
	}
	return c.log.Take(dst, until)
}

// takeNotifications appends the notifications that the client has received since the last call, in all its lives.
func (c *client) takeNotifications(dst []wire.Notification) []wire.Notification {
	c.mu.Lock()
	defer c.mu.Unlock()
	dst = append(dst, c.former.notifications...)
	c.former.notifications = nil
	return c.ledger.TakeNotifications(dst)
}

// envBeside returns the environment of a further participant on the client's session. It does not record the end of the session, with
// which a load without faults ends.
func (c *client) envBeside(env variants.Env, number int) variants.Env {
	env.Index += number * env.Clients
	log := c.log.Beside(env.Index)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beside = append(c.beside, log)
	env.Session, env.Record, env.RecordUnless = env.Session.Fork(), log.Record, log.RecordUnless
	return env
}

// begin opens the session of the client's present life and lets it join the recipe.
func (c *client) begin(ctx context.Context, v variants.Variant, at setting) error {
	asked := time.Now()
	session, driven, err := c.openSession(ctx, at)
	if err != nil {
		return err
	}
	if c.number == 0 {
		c.established = time.Since(asked)
	}
	life := c.life
	session.OrderBy(c.ledger)
	c.mu.Lock()
	c.session = session
	c.mu.Unlock()
	c.monitor.Guard(c.own)
	c.monitor.SetTimeout(c.ledger.SessionTimeout())
	if c.number > 0 {
		c.log.Record(variants.Rejoined, int64(c.number))
	}
	env := variants.Env{
		Clients: at.clients, Index: c.id, Life: c.number, Completed: c.completed, Size: at.size,
		Session: session, Dial: c.dial(life, at), Driven: driven,
		Root:   at.root,
		Record: c.log.Record, RecordUnless: c.log.RecordUnless,
		Hold: func(ctx context.Context, asked <-chan struct{}) error { return c.hold(ctx, life, asked) },
	}
	env.Beside = func(number int) variants.Env { return c.envBeside(env, number) }
	participant, err := v.Join(ctx, env)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.participant = participant
	return err
}

// serversOf returns the servers to which a client of a server may connect, its own first.
func (at setting) serversOf(home ensemble.Server) []ensemble.Server {
	servers := []ensemble.Server{home}
	for _, s := range at.servers {
		if at.roam && s.Name != home.Name {
			servers = append(servers, s)
		}
	}
	return servers
}

// rejoinPause is the time outside two attempts to join again.
const rejoinPause = 100 * time.Millisecond

// rejoin gives a client whose life is over the next one, as an application would start again. A client that has stopped dead
// first stays dead until its session has run out, which it may have while the client had nothing to do. It returns an error only if
// ctx has ended.
func (m *measurement) rejoin(ctx context.Context, c *client) error {
	if err := sleep(ctx, m.staysDead(c)); err != nil {
		return err
	}
	c.retire(ctx)
	for number := c.number + 1; ; {
		c.reborn(newLife(number, m.pool.epoch, c.id, m.recipe.Calls))
		err := c.begin(ctx, m.variant, m.setting)
		if err == nil {
			m.stream.note(m.stream.recorder.Rejoined)
			return nil
		}
		if err := sleep(ctx, rejoinPause); err != nil {
			return err
		}
		m.faults.report("a client could not join again at once", c.explain(err))
		c.retire(ctx)
	}
}

// runOut returns how long servers keep the session of a client that has stopped dead. They look for sessions that have run out
// once a tick, and a follower may tell the leader late that it has heard of one.
func (m *measurement) runOut(c *client) time.Duration { return c.ledger.SessionTimeout() + 2*m.tick }

// staysDead returns how much longer a client that has stopped dead stays dead; nothing for a client that has not.
func (m *measurement) staysDead(c *client) time.Duration {
	if c.dead.Err() == nil {
		return 0
	}
	return max(m.runOut(c)-time.Since(c.died), 0)
}

// retire ends what is left of a life that is over, and returns when its counts are final. The session's close waits for an answer
// that may not come.
func (c *client) retire(ctx context.Context) {
	c.monitor.Dismiss()
	c.further.closeAll(ctx)
	c.kill()
	if c.own != nil {
		go c.own.Close()
	}
	_ = c.link.Settle(ctx) // an error leaves counts in doubt, as the ledger says
	c.closeTunnel()
}

// errFailedOften is wrapped by the error of a client whose operations do nothing but fail.
var errFailedOften = errors.New("no operation of this client succeeds any more")

// errCannotRejoin is wrapped by the error of a client of a recipe that is [variants.Recipe.Fixed]. Its faults end no session, but a
// server that is slow to come back does.
var errCannotRejoin = errors.New("a client's session was lost, and no client of this recipe can join again")

// mostFailures is how many operations of a client may fail in a row.
const mostFailures = 1000

// step lets a client take one step. In a run with faults, the step ends when the client stops dead.
func (m *measurement) step(ctx context.Context, c *client) error {
	if m.faults == nil {
		return c.participant.Step(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.dead, cancel)() //nolint:contextcheck // c.dead is the life's, and ends with it
	c.enter(inStep)
	defer c.enter(outside)
	return c.participant.Step(ctx)
}

// recover decides how a client goes on after a step that failed. Without faults, the error ends the load. Else the failure is
// counted, and a client whose life is over joins again.
func (m *measurement) recover(ctx context.Context, c *client, failures int, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case m.faults == nil:
		return c.explain(err)
	case failures > mostFailures:
		return c.explain(fmt.Errorf("%w: %w", errFailedOften, err))
	}
	m.stream.note(m.stream.recorder.FailedOperation)
	if c.over() {
		if m.recipe.IsFixed(m.variant) {
			return c.explain(fmt.Errorf("%w: choose a longer session-timeout, or roam", errCannotRejoin))
		}
		return m.rejoin(ctx, c)
	}
	m.faults.report("an operation failed although its client and its session live", c.explain(err))
	return sleep(ctx, rejoinPause)
}
