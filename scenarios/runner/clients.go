package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/scenarios/drivers"
	"github.com/zkbench/zkbench/variants"
)

// holdFunc blocks while a participant holds, in one of its lives; see the field Hold of [variants.Env].
type holdFunc func(ctx context.Context, l *life, asked <-chan struct{}) error

// client is one participant with its own session, and everything that observes it.
type client struct {
	id     int
	server ensemble.Server
	hold   holdFunc // set by the mode before the first step
	doing  atomic.Pointer[doing]

	settled     atomic.Bool   // it has held, or completed a step
	stopped     atomic.Bool   // it takes no further step of the load
	completed   int           // steps in all its lives; only the client's own goroutine uses it
	opened      int           // sessions that its driver was told to open, likewise
	established time.Duration // how long its first session took to be established

	beside []*variants.Log // of further participants on its session; guarded by mu

	mu sync.Mutex // guards what follows; only the client's own goroutine changes life
	*life
	former former
}

// atRest reports whether the client waits for a watch that has not fired, with nothing outstanding.
func (c *client) atRest() bool {
	if c.calling.Load() {
		return c.ledger.Undisturbed()
	}
	wait, _ := c.session.Waiting()
	return wait != nil && !wait.Fired() && c.ledger.Idle()
}

// waits returns a number that grows when the client begins to wait again. A client in a driver sends requests before it does.
func (c *client) waits() int64 {
	_, begun := c.session.Waiting()
	return begun + c.ledger.Traffic().Requests
}

// clientPool holds the clients of one measurement, which share a clock.
type clientPool struct {
	epoch     time.Time
	clients   []*client
	ready     atomic.Int64  // how many clients have joined the recipe
	connected time.Duration // from the epoch until all of them had
	left      atomic.Int64  // how many clients have left and closed their session
	closed    bool
}

// since returns the time on the measurement's clock.
func (p *clientPool) since() time.Duration { return time.Since(p.epoch) }

// setting is the environment of a measurement: the servers, the znodes, and how many clients use them.
type setting struct {
	servers    []ensemble.Server
	clients    int
	calls      []variants.EventKind // see [variants.Recipe]
	rate       int                  // operations per second that an open load offers; 0 in other modes
	repeat     int                  // from 1 on; 0 in a rehearsal
	size       int                  // see [variants.Env]
	timeout    time.Duration        // the session timeout to ask for; 0 means the default
	background int                  // sessions of the background
	faults     bool                 // clients may fail
	roam       bool                 // a client whose server fails connects to another one
	tunnelled  bool                 // the requests of all clients take the way of those of a driver
	driver     *drivers.Process     // has the clients' sessions; nil for a variant in Go
	root       string               // an empty znode that only the participants use
	bystander  string               // the small znode that bystanders read

	connecting func(done, of int) // is called now and then with the number of sessions that are established; may be nil
}

// crowd is the number of sessions at one server from which on every other one uses the server's second address.
const crowd = 2000

// home returns the server of a client, with the address that the client is to use. Clients that may fail use the first address,
// by which faults of servers find them.
func (at setting) home(client int) ensemble.Server {
	n := len(at.servers)
	s := at.servers[client%n]
	if s.Second != "" && !at.faults && at.clients/n >= crowd && client/n%2 == 1 {
		s.Addr = s.Second
	}
	return s
}

// connectAll opens a session for each client, assigned to the servers in turn, and lets each join the recipe.
func connectAll(ctx context.Context, at setting, v variants.Variant) (*clientPool, error) {
	p := &clientPool{epoch: time.Now(), clients: make([]*client, at.clients)}
	for i := range p.clients {
		p.clients[i] = &client{id: i, server: at.home(i), life: newLife(0, p.epoch, i, at.calls)}
	}
	connect, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer p.watchConnecting(at, stop)()
	err := p.each(func(c *client) error {
		err := c.begin(connect, v, at)
		if err != nil {
			stop(c.explain(err)) // the others stop trying: each would meet the same error
			return err
		}
		p.ready.Add(1)
		return nil
	})
	if err != nil {
		p.closeAll(context.WithoutCancel(ctx))
		return nil, context.Cause(connect)
	}
	p.connected = p.since()
	return p, nil
}

// each runs do for all clients, several at a time, and returns the first error with its client's name.
func (p *clientPool) each(do func(*client) error) error { return each(p.clients, do) }

func each(clients []*client, do func(*client) error) error {
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, c := range clients {
		group.Go(func() error { return c.explain(do(c)) })
	}
	return group.Wait()
}

// explain adds to an error which client it belongs to.
func (c *client) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("client %d on %s: %w", c.id, c.server.Name, err)
}

// fence returns when every session has received all notifications of the transactions that any session had seen before the
// call.
func (p *clientPool) fence(ctx context.Context) error { return fenceAll(ctx, p.clients, p.latest()) }

// fenceLiving is fence for the clients whose lives are not over, such as those of a load in which clients fail.
func (p *clientPool) fenceLiving(ctx context.Context) error {
	zxid := p.latest()
	return p.each(func(c *client) error {
		_ = c.link.Settle(ctx) // an error leaves counts in doubt, as the ledger says
		if c.over() || c.session == nil {
			return nil
		}
		if err := c.fence(ctx, zxid); !errors.Is(err, variants.ErrSessionLost) {
			return err
		}
		return nil
	})
}

// fenceAll fences some clients' sessions up to a transaction.
func fenceAll(ctx context.Context, clients []*client, zxid int64) error {
	return each(clients, func(c *client) error { return c.fence(ctx, zxid) })
}

// awaitPings waits until each session has sent a ping from now on, and a reply shows that its server has applied the last transaction, so that
// the notifications of it have arrived. It takes the place of fence, but sends nothing: it waits up to a third of the session timeout. It is an
// error if a session is so busy that it needs no ping within [ensemble.SessionTimeout].
func (p *clientPool) awaitPings(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ensemble.SessionTimeout)
	defer cancel()
	zxid := p.latest()
	const exchange = 2           // frames
	until := map[*client]int64{} // frames of housekeeping
	for _, c := range p.clients {
		until[c] = c.ledger.Counts().Housekeeping + exchange
	}
	return p.each(func(c *client) error {
		for c.ledger.Counts().Housekeeping < until[c] || c.ledger.LastZxid() < zxid {
			if c.ledger.Over() {
				return variants.ErrSessionLost
			}
			if err := sleep(ctx, settlePoll); err != nil {
				return err
			}
		}
		return nil
	})
}

// fence sends syncs until the session's server has applied the transaction. One sync is not always enough: a leader may answer
// the syncs of its own sessions before it has applied a transaction that followers have applied.
func (c *client) fence(ctx context.Context, zxid int64) error {
	for deadline := time.Now().Add(ensemble.SessionTimeout); ; {
		_, err := c.session.Retry(ctx, func(variants.Conn) error { return c.own.Fence() })
		if err != nil || c.ledger.LastZxid() >= zxid {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("its server did not apply transaction %#x within %s, but others did", zxid, ensemble.SessionTimeout)
		}
		if err := sleep(ctx, settlePoll); err != nil {
			return err
		}
	}
}

// latest returns the last transaction that any session has seen. If no client is at work, no later one exists: every
// transaction comes from a client's request, and all requests have been answered.
func (p *clientPool) latest() int64 {
	var zxid int64
	for _, c := range p.clients {
		zxid = max(zxid, c.ledger.LatestZxid())
	}
	return zxid
}

// setHold sets what clients do while they hold.
func (p *clientPool) setHold(hold func(*client) holdFunc) {
	for _, c := range p.clients {
		c.hold = hold(c)
	}
}

// counts returns the sum of all sessions' counts.
func (p *clientPool) counts() wire.Counts {
	var total wire.Counts
	for _, c := range p.clients {
		total.Add(c.counts())
	}
	return total
}

// traffic returns the sum of all sessions' traffic.
func (p *clientPool) traffic() wire.Traffic {
	var total wire.Traffic
	for _, c := range p.clients {
		total.Add(c.traffic())
	}
	return total
}

// passed returns the largest zxid such that every session has received all notifications of transactions up to it. It ignores
// lost sessions, which receive no more notifications.
func (p *clientPool) passed() int64 {
	passed := int64(math.MaxInt64)
	for _, c := range p.clients {
		if l := c.present(); !l.over() {
			passed = min(passed, l.ledger.LastZxid())
		}
	}
	return passed
}

// leaveTimeout is the longest time in which no participant leaves. After that, all sessions are closed at once, which ends
// requests that wait for a silent server.
const leaveTimeout = 10 * time.Second

// closeAll lets all participants leave and closes the sessions, which takes their ephemeral znodes with them. A second call has no
// effect.
func (p *clientPool) closeAll(ctx context.Context) {
	if p.closed {
		return
	}
	p.closed = true
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer whileGrowing(p.left.Load, growth{patience: leaveTimeout, stuck: func(int64) { cancel(); p.closeConns() }})()
	_ = p.each(func(c *client) error {
		defer p.left.Add(1)
		var err error
		if c.participant != nil && !c.over() {
			err = c.participant.Leave(ctx)
		}
		c.monitor.Dismiss()
		c.further.closeAll(ctx)
		if c.own != nil {
			c.own.Close()
		}
		c.closeTunnel()
		return err
	})
}

// closeConns closes all sessions at the same time, which ends the requests that wait for an answer. It does not wait, as the
// client library takes a second if the server does not answer.
func (p *clientPool) closeConns() {
	for _, c := range p.clients {
		if c.own != nil {
			go c.own.Close()
		}
	}
}
