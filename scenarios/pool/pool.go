// Package pool has the clients of a measurement: their sessions, their observers, their lives, and the znodes that they use.
//
// It takes one position: a client is what a process would be. It has a session of its own, and when it has failed, it knows
// nothing of its former life.
package pool

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios/drivers"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// HoldFunc blocks while the participant of a client holds, in one of its lives; see the field Hold of [variants.Env].
type HoldFunc func(ctx context.Context, c *Client, l *Life, asked <-chan struct{}) error

// Client is one participant with its own session, and everything that observes it.
type Client struct {
	ID     int
	server ensemble.Server
	doing  atomic.Pointer[Doing]

	Settled     atomic.Bool   // the client has held, or completed a step
	Stopped     atomic.Bool   // the client takes no further step of the load
	Completed   int           // steps in all its lives; only the client's own goroutine uses it
	opened      int           // sessions that the driver has been asked to open, likewise
	established time.Duration // the time until the first session was established

	beside []*variants.Log // of further participants on its session; guarded by mu

	mu sync.Mutex // guards the fields below; only the client's own goroutine changes Life
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
	ready     atomic.Int64  // the number of clients that have joined the recipe
	connected time.Duration // until all clients had joined
	left      atomic.Int64  // the number of clients that have left and closed their session
	closed    bool
	Hold      HoldFunc // what clients do while they hold; set before the first step
	config    Config
	variant   variants.Variant

	mu      sync.Mutex
	reports []string // see Report
}

// Since returns the time on the measurement's clock.
func (p *Pool) Since() time.Duration { return time.Since(p.Epoch) }

// Config holds the servers, the znodes and the number of a pool's clients.
type Config struct {
	Servers   []ensemble.Server
	Clients   int                  // of the whole measurement
	Block     Block                // the clients of this pool; all if it is empty
	Epoch     time.Time            // of the measurement; the time of Connect if it is zero
	Calls     []variants.EventKind // see [variants.Recipe]
	Size      int                  // see [variants.Env]
	Timeout   time.Duration        // the session timeout to ask for; 0 means the default
	Faults    bool                 // clients may fail
	Roam      bool                 // a client whose server fails connects to another one
	Tunnelled bool                 // the requests of all clients pass through tunnels, as those of a driver do
	driver    *drivers.Process     // has the clients' sessions; nil for a variant in Go
	Root      string               // an empty znode that only the participants use
	Tick      time.Duration        // of the servers, which look for sessions that have run out once a tick

	// Witness returns a session of the run when it has seen a transaction, for [variants.Env.Witness]; may be nil.
	Witness func(ctx context.Context, zxid int64) (*session.Session, error)
	Joined  func() // is called when a client has joined, concurrently; may be nil
}

// Block is a part of a measurement's clients, whose ids follow each other, on one of several machines.
type Block struct {
	Index, Of    int // which block it is, from 0, and of how many; Of is 0 for all clients
	First, Count int // the id of its first client, and their number
}

// BlockOf returns one of several blocks of clients, which differ by one client at most.
func BlockOf(clients, index, of int) Block {
	each, more := clients/of, clients%of // the first ones have one client more
	b := Block{Index: index, Of: of, First: index*each + min(index, more), Count: each}
	if index < more {
		b.Count++
	}
	return b
}

// Rank returns the place of a client of the block in an order of all clients that takes one of each block in turn.
func (b Block) Rank(client int) int { return (client-b.First)*max(b.Of, 1) + b.Index }

// Portable returns the configuration without what must not, or cannot, leave the process, such as credentials.
func (at Config) Portable() Config {
	at.Servers = list.Map(at.Servers, func(s ensemble.Server) ensemble.Server {
		s.Dialer, s.Auth = nil, nil
		return s
	})
	return at
}

// DrivenBy returns the configuration of clients whose sessions are in a driver; nil stands for none.
func (at Config) DrivenBy(d *drivers.Process) Config {
	at.driver = d
	return at
}

// crowd is the smallest number of sessions at one server with which every other one uses the server's second address.
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
	if at.Block.Of == 0 {
		at.Block = BlockOf(at.Clients, 0, 1)
	}
	if at.Epoch.IsZero() {
		at.Epoch = time.Now()
	}
	begun := time.Now()
	p := &Pool{Epoch: at.Epoch, Clients: make([]*Client, at.Block.Count), config: at, variant: v}
	for i := range p.Clients {
		id := at.Block.First + i
		p.Clients[i] = &Client{ID: id, server: at.Home(id), Life: NewLife(0, p.Epoch, id, at.Calls)}
		p.Clients[i].Enter(Outside)
	}
	connect, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer p.watchConnecting(at, stop)()
	err := p.Each(func(c *Client) error {
		err := p.begin(connect, c)
		if err != nil {
			stop(c.Explain(err)) // the others stop trying: each would meet the same error
			return err
		}
		p.ready.Add(1)
		if at.Joined != nil {
			at.Joined()
		}
		return nil
	})
	if err != nil {
		p.CloseAll(context.WithoutCancel(ctx))
		return nil, context.Cause(connect)
	}
	p.connected = time.Since(begun)
	return p, nil
}

// Each is [Each] for all clients of the pool, which has its share of Parallel.
func (p *Pool) Each(do func(*Client) error) error { return each(p.Clients, p.Parallel(), do) }

// Parallel returns how many of its clients a pool opens, fences or closes at once.
func (p *Pool) Parallel() int { return max(Parallel/max(p.config.Block.Of, 1), 1) }

// Each runs do for some clients, at most [Parallel] at a time, and returns the first error with its client's name.
func Each(clients []*Client, do func(*Client) error) error { return each(clients, Parallel, do) }

func each(clients []*Client, parallel int, do func(*Client) error) error {
	var group errgroup.Group
	group.SetLimit(parallel)
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

// Counts returns the sum of all sessions' counts, with those of lives that are over.
func (p *Pool) Counts() wire.Counts {
	var total wire.Counts
	for _, c := range p.Clients {
		total.Add(c.Counts())
	}
	return total
}

// Traffic is like Counts for traffic, and cheaper.
func (p *Pool) Traffic() wire.Traffic {
	var total wire.Traffic
	for _, c := range p.Clients {
		total.Add(c.traffic())
	}
	return total
}

// Outstanding reports whether a request of a client is under way.
func (p *Pool) Outstanding() bool {
	return slices.ContainsFunc(p.Clients, func(c *Client) bool { return c.Present().Ledger.Outstanding() })
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

// leaveTimeout is the longest time in which no participant leaves. Then closing all sessions ends requests that wait for a silent server.
const leaveTimeout = 10 * time.Second

// CloseAll lets all participants leave and closes the sessions with their ephemeral znodes. A second call has no effect.
func (p *Pool) CloseAll(ctx context.Context) {
	if p.closed {
		return
	}
	p.closed = true
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer WhileGrowing(p.left.Load, leaveTimeout, func(int64) {
		cancel()
		for _, c := range p.Clients {
			if c.Own != nil {
				go c.Own.Close() // the client library takes a second if the server does not answer
			}
		}
	})()
	_ = p.Each(func(c *Client) error {
		defer p.left.Add(1)
		var err error
		if c.Participant != nil && !c.Over() {
			err = c.Participant.Leave(ctx)
		}
		c.Monitor.Dismiss()
		c.hurryFormer(ctx)
		c.hangUpAll(ctx)
		if c.Own != nil {
			c.Own.Close()
		}
		c.tunnel.Close()
		return err
	})
}
