package pool

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// Life is the part of a client from joining the recipe until it loses its session or stops dead. Then it joins again.
type Life struct {
	Number      int // counted from zero
	Ledger      *wire.Ledger
	Link        *ensemble.Link
	Own         OwnSession       // nil before it is open
	tunnel      *ensemble.Tunnel // nil unless Config.Tunnelled
	calling     atomic.Bool      // the client is in a driver, which has not answered the last call
	Monitor     *session.Monitor
	Session     *session.Session
	further     sync.Map // its open sessions besides the first one, each a *furtherSession
	Log         *variants.Log
	Participant variants.Participant
	doomed      atomic.Bool     // a fault has ended its session, which the client may not know yet
	dead        context.Context // ends when the client stops dead
	died        time.Time       // set before dead ends
	kill        context.CancelFunc
	ending      sync.Once
	ended       chan struct{} // closed when the counts are final
	hurrying    sync.Once
	hurried     chan struct{} // closed when the client library has no more time to close the session
}

type former struct {
	logs          []*variants.Log     // the logs with events that have not been taken
	notifications []wire.Notification // the ones that have not been taken
	counts        wire.Counts
	traffic       wire.Traffic // the traffic of counts, kept because summing it up takes longer
	reconnects    int
	unmatched     int64
	open          []*Life // whose counts may still grow, and are in none of the fields above
}

// NewLife returns a life of a client that has not begun. For calls, see [variants.Recipe.Calls].
func NewLife(number int, epoch time.Time, client int, calls []variants.EventKind) *Life {
	ledger := wire.NewLedger(epoch)
	log := variants.NewLog(epoch, client, func() (seen, shown int64, next variants.Write) { return ledger.Sight() }, calls)
	l := &Life{
		Number: number, Ledger: ledger, Link: ensemble.NewLink(ledger), Log: log,
		Monitor: session.NewMonitor(ensemble.SessionTimeout), ended: make(chan struct{}), hurried: make(chan struct{}),
	}
	l.Monitor.WhenLost(func() { log.Record(variants.SessionLost, int64(number)) })
	l.dead, l.kill = context.WithCancel(context.Background())
	return l
}

// Over reports whether the client has stopped dead or lost its session.
func (l *Life) Over() bool {
	return session.IsClosed(l.Monitor.Lost()) || l.dead.Err() != nil
}

// Pause waits for d, until another client asks for what this one holds, or until its session is lost. An error means that ctx ended.
func (l *Life) Pause(ctx context.Context, asked <-chan struct{}, d time.Duration) error {
	return variants.WaitFor(ctx, d, asked, l.Monitor.Lost())
}

// Die makes the client stop dead. Nothing that it does after that is recorded or reaches a server. Its session runs out.
func (l *Life) Die() {
	l.Link.Sever() // first, so that the history has each request that still leaves
	l.Log.Record(variants.Died, int64(l.Number))
	l.died = time.Now()
	l.kill() // before the client learns of the loss: it could take that for an expiry, and join again at once
	l.Monitor.Lose()
}

// Expire ends the session of the client's present life at the servers. The client learns of it when it connects again.
func (c *Client) Expire(ctx context.Context) error {
	l := c.Present()
	l.doomed.Store(true)
	if err := l.Link.Expire(ctx); !errors.Is(err, ensemble.ErrNoSession) {
		return err
	}
	return nil // it has run out meanwhile
}

// Reborn replaces the client's life. Its counts may still grow: a client that was cut off takes its session for lost, and its library may
// then connect once more to close it, and be notified meanwhile. Only the client's own goroutine calls it.
func (c *Client) Reborn(next *Life) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := &c.former
	f.logs = append(f.logs, c.Log)
	f.open = slices.DeleteFunc(append(f.open, c.Life), func(l *Life) bool {
		if !session.IsClosed(l.ended) {
			return false
		}
		f.notifications = l.Ledger.TakeNotifications(f.notifications)
		f.counts.Add(l.Ledger.Counts())
		f.reconnects += l.Ledger.Reconnects()
		f.unmatched += l.Ledger.Unmatched()
		return true
	})
	f.traffic = f.counts.Traffic()
	c.Life = next
}

// Counts returns the counts of all the client's lives.
func (c *Client) Counts() wire.Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := c.Ledger.Counts()
	total.Add(c.former.counts)
	for _, l := range c.former.open {
		total.Add(l.Ledger.Counts())
	}
	return total
}

// traffic returns the traffic of all the client's lives. It is cheaper than Counts.
func (c *Client) traffic() wire.Traffic {
	c.mu.Lock()
	defer c.mu.Unlock()
	total := c.Ledger.Traffic()
	total.Add(c.former.traffic)
	for _, l := range c.former.open {
		total.Add(l.Ledger.Traffic())
	}
	return total
}

// Examine adds the client's reconnects, unmatched replies and lost sessions to h.
func (c *Client) Examine(h *results.Health) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h.Reconnects += c.former.reconnects + c.Ledger.Reconnects()
	h.UnmatchedReplies += c.former.unmatched + c.Ledger.Unmatched()
	for _, l := range c.former.open {
		h.Reconnects += l.Ledger.Reconnects()
		h.UnmatchedReplies += l.Ledger.Unmatched()
	}
	h.SessionsLost += c.Number
	if c.Over() {
		h.SessionsLost++
	}
}

// Present returns the client's life, for other goroutines than the client's own.
func (c *Client) Present() *Life {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Life
}

// Member returns the client's participant, for other goroutines than the client's own; nil if it has none, such as while the
// client joins again, and when a fault has ended its session.
func (c *Client) Member() variants.Participant {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Over() || c.doomed.Load() {
		return nil
	}
	return c.Participant
}

// TakeEvents appends the events that the client has recorded since the last call, in all its lives, as [variants.Log.Take]
// does. Events of lives that are over do not wait for a reply.
func (c *Client) TakeEvents(dst []variants.Placed, until time.Duration) []variants.Placed {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, log := range c.former.logs {
		dst = log.Take(dst, math.MaxInt64)
	}
	c.former.logs = c.former.logs[:0]
	for _, log := range c.beside {
		dst = log.Take(dst, until)
	}
	return c.Log.Take(dst, until)
}

// OldestEvent returns when the first event was recorded that TakeEvents has left, and math.MaxInt64 if it has left none.
func (c *Client) OldestEvent() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	oldest := c.Log.Oldest()
	for _, log := range c.beside {
		oldest = min(oldest, log.Oldest())
	}
	return oldest
}

// TakeNotifications returns the notifications that the client has received since the last call, in all its lives.
func (c *Client) TakeNotifications() []wire.Notification {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.former.notifications
	for _, l := range c.former.open {
		taken = l.Ledger.TakeNotifications(taken)
	}
	c.former.notifications = nil
	return c.Ledger.TakeNotifications(taken)
}

// envBeside returns the environment of a further participant on the client's session, whose end is recorded for the first one only.
func (c *Client) envBeside(env variants.Env, number int) variants.Env {
	env.Index += number * env.Clients
	log := c.Log.Beside(env.Index)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beside = append(c.beside, log)
	env.Session, env.Record, env.RecordUnless = env.Session.Fork(), log.Record, log.RecordUnless
	return env
}

// begin begins the client's present life: it opens the session and lets the client join the recipe.
func (p *Pool) begin(ctx context.Context, c *Client) error {
	at, asked := p.config, time.Now()
	own, driven, err := c.openSession(ctx, at)
	if err != nil {
		return err
	}
	if c.Number == 0 {
		c.established = time.Since(asked)
	}
	life := c.Life
	own.OrderBy(c.Ledger)
	c.mu.Lock()
	c.Session = own
	c.mu.Unlock()
	c.Monitor.Guard(c.Own)
	c.Monitor.SetTimeout(c.Ledger.SessionTimeout())
	if c.Number > 0 {
		c.Log.Record(variants.Rejoined, int64(c.Number))
	}
	env := variants.Env{
		Clients: at.Clients, Index: c.ID, Life: c.Number, Completed: c.Completed, Size: at.Size,
		Session: own, Dial: c.dial(life, at), Driven: driven,
		Root: at.Root, Record: c.Log.Record, RecordUnless: c.Log.RecordUnless,
		Hold: func(ctx context.Context, asked <-chan struct{}) error { return p.Hold(ctx, c, life, asked) },
	}
	if at.Witness != nil {
		env.Witness = func(ctx context.Context) (*session.Session, error) { return at.Witness(ctx, life.Ledger.LastZxid()) }
	}
	env.Beside = func(number int) variants.Env { return c.envBeside(env, number) }
	participant, err := p.variant.Join(ctx, env)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Participant = participant
	return err
}

// serversOf returns the servers to which a client may connect, its own first.
func (at Config) serversOf(home ensemble.Server) []ensemble.Server {
	others := list.Where(at.Servers, func(s ensemble.Server) bool { return at.Roam && s.Name != home.Name })
	return append([]ensemble.Server{home}, others...)
}

// RejoinPause is the time between two attempts to join again.
const RejoinPause = 100 * time.Millisecond

// Rejoin begins the next life of a client whose life is over, as an application would start again. A client that has
// stopped dead first stays dead until its session has run out, which may have happened while the client was idle. It
// returns an error only if ctx has ended.
func (p *Pool) Rejoin(ctx context.Context, c *Client) error {
	if err := Sleep(ctx, p.staysDead(c)); err != nil {
		return err
	}
	c.retire(ctx)
	for number := c.Number + 1; ; {
		c.Reborn(NewLife(number, p.Epoch, c.ID, p.config.Calls))
		err := p.begin(ctx, c)
		if err == nil {
			return nil
		}
		if err := Sleep(ctx, RejoinPause); err != nil {
			return err
		}
		p.Report("a client could not join again at once", c.Explain(err))
		c.retire(ctx)
	}
}

// staysDead returns how much longer servers keep the session of a client that has stopped dead. They look for sessions that have
// run out once a tick, and a follower may report late to the leader that a session was alive.
func (p *Pool) staysDead(c *Client) time.Duration {
	if c.dead.Err() == nil {
		return 0
	}
	return max(c.Ledger.SessionTimeout()+2*p.config.Tick-time.Since(c.died), 0)
}

const mostReports = 3

// Report keeps a failure of a client for the warnings, unless mostReports are kept already.
func (p *Pool) Report(what string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.reports) < mostReports {
		p.reports = append(p.reports, fmt.Sprintf("%s: %v", what, err))
	}
}

// Warnings returns the failures that [Pool.Report] has kept.
func (p *Pool) Warnings() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reports
}

// Step lets the client take one step. If clients may fail, the step ends when the client stops dead.
func (c *Client) Step(ctx context.Context, mayFail bool) error {
	if !mayFail {
		return c.Participant.Step(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.dead, cancel)() //nolint:contextcheck // c.dead is the life's, and ends with it
	c.Enter(InStep)
	defer c.Enter(Outside)
	return c.Participant.Step(ctx)
}

// Activity is what a client does at a moment. It is kept in runs with faults only.
type Activity int32

// The activities.
const (
	Outside Activity = iota // between two steps
	InStep
	InHold // in a step, while the client holds
)

// Doing is a client's activity and when it began.
type Doing struct {
	Activity Activity
	Since    time.Time
}

// Enter records that an activity begins now.
func (c *Client) Enter(a Activity) { c.doing.Store(&Doing{a, time.Now()}) }

// Does returns the last activity that was entered.
func (c *Client) Does() Doing { return *c.doing.Load() }
