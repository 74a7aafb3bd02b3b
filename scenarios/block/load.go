package block

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/load"
	"github.com/zkbench/zkbench/scenarios/machine"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// running is the load that a block applies.
type running struct {
	turns    load.Turns
	rounds   *load.Rounds   // nil if the load is open
	arrivals *load.Arrivals // nil unless it is
	start    time.Duration
	started  chan struct{} // closed when all clients may begin
	steps    *atomic.Int64
}

// RehearsalLength bounds the load of a rehearsal: some thousand requests, after which servers have compiled the code that they use most.
const RehearsalLength = time.Second

// Begin implements [Part].
func (b *Block) Begin(l Load) {
	b.watch()
	r := running{start: l.Start, started: make(chan struct{}), steps: new(atomic.Int64)}
	if l.Staged && b.Plan.IsOpen() {
		r.arrivals = load.NewArrivals(b.Epoch, b.Plan.Pool.Block)
		if b.Plan.Nap != nil {
			r.arrivals.Nap = b.Plan.Nap
		}
		r.turns = r.arrivals
	} else {
		r.rounds = b.rounds(l.Operations)
		r.turns = r.rounds
		if stages := b.Plan.Scenario.Stages; l.Staged && len(stages) > 0 {
			r.turns = load.NewChangingRounds(r.rounds, stages, b.Epoch, b.Plan.Pool.Block)
		}
	}
	for _, c := range b.Clients {
		c.Stopped.Store(false)
	}
	b.running.Store(&r)
}

// watch begins to watch the health, unless it has begun.
func (b *Block) watch() {
	if b.itself == nil {
		b.vitals, b.itself = machine.TakeVitals(), watchItself(b.Epoch)
	}
}

// rounds returns the turns of a closed load. operations is the number of steps of each client; zero means until End. In a rehearsal,
// clients begin no step later than RehearsalLength.
func (b *Block) rounds(operations int) *load.Rounds {
	r := load.NewRounds(operations, b.Recipe.Collective)
	if b.Plan.Repeat == 0 && operations > 0 && b.Plan.Pool.Block.Of <= 1 { // several blocks must end together
		r.Until = time.Now().Add(RehearsalLength)
	}
	return r
}

// Run implements [Part]. Clients finish the operation that they are in.
func (b *Block) Run(ctx context.Context) error {
	r := b.running.Load()
	if err := pool.Sleep(ctx, r.start-b.Since()); err != nil {
		return err
	}
	if r.start > 0 {
		b.began.CompareAndSwap(0, int64(b.Since()-r.start))
	}
	group, ctx := errgroup.WithContext(ctx)
	if r.arrivals != nil {
		batch := b.Recipe.BatchOf(b.Plan.Scenario.Size)
		defer r.arrivals.Start(ctx, load.DueTimesOf(b.Plan.Scenario, b.Plan.Rate, b.Plan.Repeat, batch))()
	}
	for i, c := range b.Clients {
		if err := b.paceStart(ctx, i); err != nil {
			break // a client has failed, or the load is over
		}
		group.Go(func() error { return b.work(ctx, c) })
	}
	close(r.started)
	return group.Wait()
}

// Started implements [Part].
func (b *Block) Started(ctx context.Context) error {
	select {
	case <-b.running.Load().started:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// Window implements [Part].
func (b *Block) Window(e Edge) (arrived int64) {
	r := b.running.Load()
	arrived = r.arrivals.Arrived(e.At)
	if e.End {
		r.turns.WindowClosed(e.At)
	} else {
		r.turns.WindowOpened(e.At)
	}
	return arrived
}

// Freeze implements [Part].
func (b *Block) Freeze() (begun int) {
	if r := b.running.Load(); r.rounds != nil {
		begun = r.rounds.Freeze()
	}
	return begun
}

// End implements [Part].
func (b *Block) End(begun int) {
	r := b.running.Load()
	if r.rounds != nil {
		r.rounds.Extend(begun)
	}
	r.turns.End()
}

// hold is what a client does that holds.
func (b *Block) hold(ctx context.Context, c *pool.Client, l *pool.Life, asked <-chan struct{}) error {
	c.Settled.Store(true)
	b.held.Add(1)
	return l.Pause(ctx, asked, b.Plan.Scenario.Hold)
}

// settlesWithin is how long the pacing of starts waits for a client that may never wait for a watch, such as one that polls.
const settlesWithin = time.Second

// paceStart delays the first operation of a client of a large load until at most as many earlier clients of the block as its share of
// pool.Parallel are between their start and their first wait. If 10,000 clients entered a line at once, each of them would list all
// others at the same time: that takes gigabytes in zkbench and in the servers, and delays heartbeats until sessions are lost.
func (b *Block) paceStart(ctx context.Context, client int) error {
	if b.Plan.Faulty() || b.Plan.IsOpen() || b.Plan.Pool.Clients < scenarios.CrowdOfStarts || client < b.Parallel() {
		return ctx.Err()
	}
	before := b.Clients[client-b.Parallel()]
	waiting := func() bool { return !before.Settled.Load() && !before.AtRest() }
	for begun := time.Now(); ctx.Err() == nil && waiting() && time.Since(begun) < settlesWithin; {
		_ = pool.Sleep(ctx, time.Millisecond)
	}
	return ctx.Err()
}

// work lets a client take its steps, with the scenario's think time after each.
func (b *Block) work(ctx context.Context, c *pool.Client) error {
	turns, steps := b.running.Load().turns, b.running.Load().steps
	defer c.Stopped.Store(true)
	failures, first, certain := 0, roundOf(c, 0), false
	for i := 0; certain || turns.Begin(ctx, c, i); {
		certain = lookAhead(ctx, c, turns, i)
		err := c.Step(ctx, b.Plan.Faulty())
		if err != nil {
			failures++
			if err := b.recover(ctx, c, failures, err); err != nil {
				return err
			}
			i = roundOf(c, first+i) - first
			continue
		}
		failures = 0
		c.Completed++
		turns.Completed(c)
		c.Settled.Store(true)
		i = roundOf(c, first+i+1) - first
		steps.Add(1)
		if err := pool.Sleep(ctx, b.Plan.Scenario.Think); err != nil {
			return err
		}
	}
	return nil
}

// lookAhead tells a participant that stands in line between steps whether it takes another step after the next one, and returns that.
// Such a step is begun although the load ends meanwhile: the participant's place in line would stop the others.
func lookAhead(ctx context.Context, c *pool.Client, turns load.Turns, taken int) bool {
	standing, ok := c.Participant.(variants.Standing)
	if !ok {
		return false
	}
	rounds, closed := turns.(*load.Rounds)
	again := closed && rounds.Begin(ctx, c, taken+1)
	standing.Returns(again)
	return again
}

// mostFailures bounds the operations of one client that fail in a row.
const mostFailures = 1000

// recover decides how a client continues after a step that failed. Without faults, the error ends the load. With faults, the
// failure is counted, and a client whose life is over joins again.
func (b *Block) recover(ctx context.Context, c *pool.Client, failures int, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !b.Plan.Faulty():
		return c.Explain(err)
	case failures > mostFailures:
		return c.Explain(fmt.Errorf("no operation of this client succeeds any more: %w", err))
	}
	b.note(&b.failed)
	if c.Over() {
		if b.Recipe.IsFixed(b.Variant) { // the faults of its scenarios do not end sessions, but a server that is slow to come back does
			return c.Explain(errors.New("a client's session was lost, and no client of this recipe can join again: " +
				"choose a longer session-timeout, or roam"))
		}
		if err := b.Rejoin(ctx, c); err != nil {
			return err
		}
		b.note(&b.rejoined)
		return nil
	}
	b.Report("an operation failed although its client and its session live", c.Explain(err))
	return pool.Sleep(ctx, pool.RejoinPause)
}

// roundOf returns the number of the client's next step: the group's round if the recipe has rounds, and otherwise the given number.
func roundOf(c *pool.Client, otherwise int) int {
	if r, ok := c.Participant.(variants.Rounded); ok {
		return int(r.Round())
	}
	return otherwise
}
