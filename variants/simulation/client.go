package simulation

import (
	"context"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// client takes its steps, in as many lives as that takes. Faults use it, too, in their own goroutines.
type client struct {
	run    *run
	index  int
	random *rand.Rand // for the client's goroutine alone

	still    until // the client stands still
	frozen   until // the client library stands still
	ignoring until
	deaf     until        // the client does not act on requests of others, for this or another reason
	number   atomic.Int64 // of the present life
	called   atomic.Int64 // when it called the client library last, in nanoseconds

	life atomic.Pointer[life] // the present one; nil before the first, and between two

	mu        sync.Mutex
	requests  int                      // that it has sent since all have joined
	since     int                      // the requests when a fault happened, for the next fault that counts from there
	armed     []func(*life)            // faults at requests that its last life has not made
	due       []int                    // its faults that have not begun, as positions in the plan
	doing     string                   // for marks and stories
	awaited   map[string]chan struct{} // by the name of an action or a request: closed when the client does or sends it the next time
	completed int                      // steps, in all its lives
	finished  bool
	forgetful bool // in a former life its group has come further, which no client remembers
}

// life is the state of a client from when it opens a session until it dies or loses the session.
type life struct {
	number  int64
	link    *link
	monitor *session.Monitor
	conn    *zk.Conn
	session *session.Session
	places  variants.Places // guarded by the run's mutex
	cancel  context.CancelFunc
	dead    chan struct{} // not nil once it has died: closed when it may join again; guarded by the run's mutex
	closing atomic.Bool
	closed  chan struct{}
}

// Close closes the session. A second caller waits at a channel for the first: the client library's own Close would wait
// for a mutex, which stops the clock of a bubble.
func (l *life) Close() {
	if l.closing.CompareAndSwap(false, true) {
		l.conn.Close()
		close(l.closed)
	}
	<-l.closed
}

func (l *life) over() bool { return l.session.Alive() != nil }

// seam is the client library as the participant calls it: a call waits while the client stands still.
type seam struct {
	*zk.Conn
	enter func()
}

// conn returns the connection when a call may begin.
func (s seam) conn() *zk.Conn {
	s.enter()
	return s.Conn
}

func (s seam) Create(p string, d []byte, f int32, acl []zk.ACL) (string, error) {
	return s.conn().Create(p, d, f, acl)
}
func (s seam) Delete(p string, v int32) error                            { return s.conn().Delete(p, v) }
func (s seam) Exists(p string) (bool, *zk.Stat, error)                   { return s.conn().Exists(p) }
func (s seam) ExistsW(p string) (bool, *zk.Stat, <-chan zk.Event, error) { return s.conn().ExistsW(p) }
func (s seam) Get(p string) ([]byte, *zk.Stat, error)                    { return s.conn().Get(p) }
func (s seam) GetW(p string) ([]byte, *zk.Stat, <-chan zk.Event, error)  { return s.conn().GetW(p) }
func (s seam) Set(p string, d []byte, v int32) (*zk.Stat, error)         { return s.conn().Set(p, d, v) }
func (s seam) Children(p string) ([]string, *zk.Stat, error)             { return s.conn().Children(p) }
func (s seam) ChildrenW(p string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	return s.conn().ChildrenW(p)
}
func (s seam) Sync(p string) (string, error)                { return s.conn().Sync(p) }
func (s seam) Multi(ops ...any) ([]zk.MultiResponse, error) { return s.conn().Multi(ops...) }

// largestReply bounds the frames that a client reads: the client library reserves as much for each connection.
const largestReply = 1 << 18

// connect makes the client library open a session. There are two addresses, which dial ignores: after a lost connection, the
// library tries again at once, and then pauses for a second before each second attempt.
func connect(timeout time.Duration, dial zk.Dialer, observe func(zk.Event)) *zk.Conn {
	conn, _, err := zk.Connect([]string{"127.0.0.1:1", "127.0.0.1:2"}, timeout, zk.WithDialer(dial), zk.WithMaxBufferSize(largestReply),
		zk.WithEventCallback(observe), zk.WithLogger(log.New(io.Discard, "", 0)), zk.WithLogInfo(false))
	if err != nil {
		panic(err) // only a malformed address is an error
	}
	return conn
}

func (c *client) open(ctx context.Context, number int64) (*life, error) {
	latency := time.Duration(c.run.plan.Latency[c.index])
	source := func(direction uint64) *rand.Rand {
		return rand.New(rand.NewPCG(c.run.plan.Seed, uint64(c.index)<<32|uint64(number)<<1|direction)) //nolint:gosec // to be repeated
	}
	l := &life{number: number, monitor: session.NewMonitor(time.Duration(c.run.plan.Session)), closed: make(chan struct{})}
	l.places.Calls = c.run.recipe.Calls
	l.link = &link{
		servers: c.run.server.Members(), turn: c.index + int(number), ledger: wire.NewTapped(c.run.epoch, tap{c.run, c.index}), sending: c.sent,
		rewatch: time.Duration(c.run.plan.Rewatch),
		up:      way{latency: latency, random: source(0)}, down: way{latency: latency, random: source(1)},
	}
	c.run.mu.Lock()
	c.run.lives = append(c.run.lives, l)
	c.run.mu.Unlock()
	l.monitor.WhenLost(func() { c.record(l, variants.SessionLost, number) })
	ready := make(chan struct{})
	var once sync.Once
	l.conn = connect(time.Duration(c.run.plan.Session), l.link.dial, func(e zk.Event) {
		c.frozen.wait()
		if e.State == zk.StateHasSession {
			once.Do(func() { close(ready) })
		}
		if session.IsClosed(ready) { // a server that refuses the first handshake takes no session away
			l.monitor.Observe(e)
		}
	})
	l.monitor.Guard(l)
	l.session = session.NewMonitoredSession(seam{l.conn, c.call}, l.monitor)
	select {
	case <-ready:
	case <-ctx.Done():
		c.end(l)
		return nil, ctx.Err()
	}
	l.session.OrderBy(l.link.ledger)
	l.monitor.SetTimeout(l.link.ledger.SessionTimeout())
	c.run.sessions.Store(l.conn.SessionID(), func() bool { return c.number.Load() > number })
	return l, nil
}

func (c *client) end(l *life) {
	l.monitor.Dismiss()
	if l.cancel != nil {
		l.cancel()
	}
	l.Close()
	l.link.sever()
}

func (c *client) record(l *life, kind variants.EventKind, value int64) {
	c.run.record(c.index, l, nil, kind, kind, value)
}

// call is called before each call of the client library. It returns when the client does not stand still. Some time passes
// between two calls: a client that calls again and again without a connection would stop the clock for ever.
func (c *client) call() {
	c.still.wait()
	if c.called.Load() == time.Now().UnixNano() {
		time.Sleep(50 * time.Microsecond)
	}
	c.called.Store(time.Now().UnixNano())
}

func (c *client) does(what string) (before string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before, c.doing = c.doing, what
	return before
}

func (c *client) env(l *life) variants.Env {
	r := c.run
	return variants.Env{
		Clients: r.plan.Clients, Index: c.index, Life: int(l.number), Completed: c.completed, Size: r.recipe.UsualSize(),
		Session: l.session, Root: root,
		Dial:   func(context.Context) (*session.Session, func(), error) { return l.session.Fork(), func() {}, nil },
		Record: func(kind variants.EventKind, value int64) { c.record(l, kind, value) },
		RecordUnless: func(closed <-chan struct{}, kind, otherwise variants.EventKind, value int64) {
			r.record(c.index, l, closed, kind, otherwise, value)
		},
		Hold: func(ctx context.Context, asked <-chan struct{}) error { return c.hold(ctx, l, asked) },
	}
}

// hold holds for a random time, and for as long as the client stands still. A client that ignores others does not hear them ask.
func (c *client) hold(ctx context.Context, l *life, asked <-chan struct{}) error {
	defer c.does(c.does(Holding))
	c.mu.Lock()
	c.announce(Holding)
	c.mu.Unlock()
	d := time.Duration(c.random.Int64N(int64(c.run.plan.Hold) + 1))
	if deaf := c.ignoring.left(); deaf > 0 {
		if err := variants.WaitFor(ctx, deaf, nil, l.session.Lost()); err != nil {
			return err
		}
	}
	err := variants.WaitFor(ctx, d, asked, l.session.Lost())
	c.still.wait()
	return err
}

// A client adds up to a millisecond of its own to its pauses.
const (
	rejoinPause = 100 * time.Millisecond
	stepPause   = time.Microsecond
)

func (c *client) rest(ctx context.Context, d time.Duration) {
	_ = variants.WaitFor(ctx, d+time.Duration(c.random.Int64N(int64(time.Millisecond))), nil, nil)
}

// mostFailures is how many steps of a client may fail in a row while its session lives.
const mostFailures = 100

// live lets the client take its steps, and returns when all clients have taken theirs, or when ctx ends.
func (c *client) live(ctx context.Context) {
	for number := int64(0); ctx.Err() == nil; number++ {
		l, err := c.open(ctx, number)
		if err != nil {
			return
		}
		if c.lead(ctx, l) {
			return
		}
		if c.run.recipe.IsFixed(c.run.variant) && ctx.Err() == nil { // as in a measurement, the run ends without a result
			c.run.void()
		}
		if c.waitDead(ctx, l); ctx.Err() == nil {
			c.rest(ctx, rejoinPause)
		}
	}
}

// lead leads one life, and reports whether all clients have taken their steps.
func (c *client) lead(ctx context.Context, l *life) (over bool) {
	defer c.end(l)
	ctx, l.cancel = context.WithCancel(ctx)
	if l.number > 0 {
		c.record(l, variants.Rejoined, l.number)
	}
	c.number.Store(l.number)
	c.life.Store(l)
	c.mu.Lock()
	armed := c.armed
	c.armed = nil
	c.mu.Unlock()
	for _, arm := range armed {
		arm(l)
	}
	if every := c.run.plan.Beside; every > 0 {
		go func() { // another part of the application, which uses the same session
			own := l.session.Background()
			for own.Sleep(ctx, time.Duration(every)) == nil {
				_, _, _ = own.Exists(ctx, root)
			}
		}()
	}
	c.does("joining")
	p, err := c.run.variant.Join(ctx, c.env(l))
	if l.number == 0 { // no client takes its first step before all have joined
		c.run.count(c.run.joined)
		c.run.await(ctx, c.run.joined, nil)
		if len(c.run.plan.Lag) > 1 { // as in a measurement: it sees the znodes that the others have made when they joined
			_ = l.session.Sync(ctx, root)
		}
	}
	if err == nil {
		err = c.work(ctx, l, p)
	} else if !l.over() && ctx.Err() == nil {
		c.run.find(Failed, "client %d could not join although its session lives: %v", c.index, err)
		c.run.stop()
	}
	if err == nil {
		over = c.run.await(ctx, c.run.done, l.session.Lost())
	}
	c.does("leaving")
	if over {
		if err := p.Leave(ctx); err != nil && !l.over() && ctx.Err() == nil {
			c.run.find(Failed, "client %d could not leave although its session lives: %v", c.index, err)
		}
	}
	return over
}

// work takes steps until all have been taken. It returns an error if the life ends before.
func (c *client) work(ctx context.Context, l *life, p variants.Participant) error {
	defer c.hasFinished(p) // its group may have come further during its last step
	for failures := 0; !c.hasFinished(p); {
		c.does("working")
		begun := time.Now()
		if standing, ok := p.(variants.Standing); ok {
			standing.Returns(c.completed+1 < c.run.plan.Steps)
		}
		err := p.Step(ctx)
		c.does("idle")
		switch {
		case err == nil:
			failures = 0
			c.completed++
			c.run.progress(time.Since(begun))
		case l.over() && ctx.Err() == nil && !errors.Is(err, session.ErrSessionLost):
			c.run.find(Failed, "a step of client %d, whose session was lost, failed with another error: %v", c.index, err)
			c.run.stop()
			return err
		case l.over(), ctx.Err() != nil:
			return errors.Join(err, ctx.Err(), l.session.Alive())
		case c.run.recipe.IsFixed(c.run.variant) && c.run.isVoid(ctx):
			return err
		case !errors.Is(err, variants.ErrTakenAway), failures == mostFailures:
			c.run.find(Failed, "a step of client %d failed although its session lives: %v", c.index, err)
			c.run.stop()
			return err
		default:
			failures++
			c.rest(ctx, rejoinPause)
		}
		c.rest(ctx, stepPause)
	}
	return errors.Join(ctx.Err(), l.session.Alive())
}

// hasFinished reports whether the client has taken all its steps, or its group has.
func (c *client) hasFinished(p variants.Participant) bool {
	taken := int64(c.completed)
	if r, ok := p.(variants.Rounded); ok {
		taken = r.Round()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	enough := taken >= int64(c.run.plan.Steps)
	if !c.finished && enough {
		c.finished = true
		c.run.count(c.run.done)
	}
	c.forgetful = c.finished && !enough
	return c.finished
}

func (c *client) waitDead(ctx context.Context, l *life) {
	c.life.Store(nil)
	c.run.mu.Lock()
	dead := l.dead
	c.run.mu.Unlock()
	if dead == nil {
		return
	}
	select {
	case <-dead:
	case <-ctx.Done():
	}
}
