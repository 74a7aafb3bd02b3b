// Package pool has the clients of a measurement: their sessions, what observes them, their lives and their ends, and the znodes that they use.
package pool

import (
	"context"
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

// HoldFunc blocks while the participant of a client holds, in one of its lives; see the field Hold of [variants.Env].
type HoldFunc func(ctx context.Context, c *Client, l *Life, asked <-chan struct{}) error

// Client is one participant with its own session, and everything that observes it.
type Client struct {
	ID     int
	server ensemble.Server
	hold   HoldFunc // set by the mode before the first step
	doing  atomic.Pointer[Doing]

	Settled     atomic.Bool   // it has held, or completed a step
	Stopped     atomic.Bool   // it takes no further step of the load
	Completed   int           // steps in all its lives; only the client's own goroutine uses it
	opened      int           // sessions that its driver was told to open, likewise
	established time.Duration // how long its first session took to be established

	beside []*variants.Log // of further participants on its session; guarded by mu

	mu sync.Mutex // guards what follows; only the client's own goroutine changes life
	*Life
	former former
}

// AtRest reports whether the client waits for a watch that has not fired, with nothing outstanding.
func (c *Client) AtRest() bool {
	if c.calling.Load() {
		return c.Ledger.Undisturbed()
	}
	wait, _ := c.Session.Waiting()
	return wait != nil && !wait.Fired() && c.Ledger.Idle()
}

// waits returns a number that grows when the client begins to wait again. A client in a driver sends requests before it does.
func (c *Client) waits() int64 {
	_, begun := c.Session.Waiting()
	return begun + c.Ledger.Traffic().Requests
}

// Pool holds the clients of one measurement, which share a clock.
type Pool struct {
	Epoch     time.Time
	Clients   []*Client
	ready     atomic.Int64  // how many clients have joined the recipe
	connected time.Duration // from the epoch until all of them had
	left      atomic.Int64  // how many clients have left and closed their session
	closed    bool
	config    Config
	variant   variants.Variant // that the clients have joined

	mu      sync.Mutex
	reports []string // failures that are worth a warning
}

// Since returns the time on the measurement's clock.
func (p *Pool) Since() time.Duration { return time.Since(p.Epoch) }

// Config is what clients are given: the servers, the znodes, and how many of them there are.
type Config struct {
	Servers   []ensemble.Server
	Clients   int
	Calls     []variants.EventKind // see [variants.Recipe]
	Size      int                  // see [variants.Env]
	Timeout   time.Duration        // the session timeout to ask for; 0 means the default
	Faults    bool                 // clients may fail
	Roam      bool                 // a client whose server fails connects to another one
	Tunnelled bool                 // the requests of all clients take the way of those of a driver
	Driver    *drivers.Process     // has the clients' sessions; nil for a variant in Go
	Root      string               // an empty znode that only the participants use
	Tick      time.Duration        // of the servers, which look for sessions that have run out once a tick

	Connecting func(done, of int) // is called now and then with the number of sessions that are established; may be nil
}

// crowd is the number of sessions at one server from which on every other one uses the server's second address.
const crowd = 2000

// Home returns the server of a client, with the address that the client is to use. Clients that may fail use the first address,
// by which faults of servers find them.
func (at Config) Home(client int) ensemble.Server {
	n := len(at.Servers)
	s := at.Servers[client%n]
	if s.Second != "" && !at.Faults && at.Clients/n >= crowd && client/n%2 == 1 {
		s.Addr = s.Second
	}
	return s
}

// Connect opens a session for each client, assigned to the servers in turn, and lets each join the recipe.
func Connect(ctx context.Context, at Config, v variants.Variant) (*Pool, error) {
	p := &Pool{Epoch: time.Now(), Clients: make([]*Client, at.Clients), config: at, variant: v}
	for i := range p.Clients {
		p.Clients[i] = &Client{ID: i, server: at.Home(i), Life: NewLife(0, p.Epoch, i, at.Calls)}
	}
	connect, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer p.watchConnecting(at, stop)()
	err := p.Each(func(c *Client) error {
		err := c.begin(connect, v, at)
		if err != nil {
			stop(c.Explain(err)) // the others stop trying: each would meet the same error
			return err
		}
		p.ready.Add(1)
		return nil
	})
	if err != nil {
		p.CloseAll(context.WithoutCancel(ctx))
		return nil, context.Cause(connect)
	}
	p.connected = p.Since()
	return p, nil
}

// Each runs do for all clients, several at a time, and returns the first error with its client's name.
func (p *Pool) Each(do func(*Client) error) error { return Each(p.Clients, do) }

// Each runs do for some clients, several at a time, and returns the first error with its client's name.
func Each(clients []*Client, do func(*Client) error) error {
	var group errgroup.Group
	group.SetLimit(Parallel)
	for _, c := range clients {
		group.Go(func() error { return c.Explain(do(c)) })
	}
	return group.Wait()
}

// Explain adds to an error which client it belongs to.
func (c *Client) Explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("client %d on %s: %w", c.ID, c.server.Name, err)
}

// Endless is longer than any load.
const Endless = 1000 * time.Hour

// SetHold sets what clients do while they hold.
func (p *Pool) SetHold(hold HoldFunc) {
	for _, c := range p.Clients {
		c.hold = hold
	}
}

// Counts returns the sum of all sessions' counts.
func (p *Pool) Counts() wire.Counts {
	var total wire.Counts
	for _, c := range p.Clients {
		total.Add(c.Counts())
	}
	return total
}

// Traffic returns the sum of all sessions' traffic.
func (p *Pool) Traffic() wire.Traffic {
	var total wire.Traffic
	for _, c := range p.Clients {
		total.Add(c.traffic())
	}
	return total
}

// Passed returns the largest zxid such that every session has received all notifications of transactions up to it. It ignores
// lost sessions, which receive no more notifications.
func (p *Pool) Passed() int64 {
	passed := int64(math.MaxInt64)
	for _, c := range p.Clients {
		if l := c.Present(); !l.Over() {
			passed = min(passed, l.Ledger.LastZxid())
		}
	}
	return passed
}

// leaveTimeout is the longest time in which no participant leaves. After that, all sessions are closed at once, which ends
// requests that wait for a silent server.
const leaveTimeout = 10 * time.Second

// CloseAll lets all participants leave and closes the sessions, which takes their ephemeral znodes with them. A second call has no
// effect.
func (p *Pool) CloseAll(ctx context.Context) {
	if p.closed {
		return
	}
	p.closed = true
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer WhileGrowing(p.left.Load, Growth{Patience: leaveTimeout, Stuck: func(int64) { cancel(); p.closeConns() }})()
	_ = p.Each(func(c *Client) error {
		defer p.left.Add(1)
		var err error
		if c.Participant != nil && !c.Over() {
			err = c.Participant.Leave(ctx)
		}
		c.Monitor.Dismiss()
		c.further.closeAll(ctx)
		if c.Own != nil {
			c.Own.Close()
		}
		c.closeTunnel()
		return err
	})
}

// closeConns closes all sessions at the same time, which ends the requests that wait for an answer. It does not wait, as the
// client library takes a second if the server does not answer.
func (p *Pool) closeConns() {
	for _, c := range p.Clients {
		if c.Own != nil {
			go c.Own.Close()
		}
	}
}
