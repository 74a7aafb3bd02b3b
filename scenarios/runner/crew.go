package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios/block"
	"github.com/zkbench/zkbench/scenarios/chaos"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/scenarios/remote"
	"github.com/zkbench/zkbench/variants"
)

// crew has all clients of a measurement, in one block or several. It implements [chaos.Crew].
//
// A worker that is lost ends the measurement: its clients failed, which no schedule says.
type crew struct {
	epoch  time.Time
	parts  []block.Part // all are there before connect
	count  int          // of all clients
	spread bool         // the clients are not all in this process, or in several blocks

	live     []LiveWorker     // by the latest drain, if the clients are not all in this process
	examined []block.Examined // by the latest examine, of each part
	floors   []results.Floor  // by the latest floor, of each part

	end   context.CancelCauseFunc // ends the measurement
	ended context.Context         // of the measurement
}

// newCrew returns a crew that is not connected, and the context of its measurement, which ends when a worker is lost.
func newCrew(ctx context.Context, epoch time.Time, clients int) (*crew, context.Context) {
	c := &crew{epoch: epoch, count: clients}
	c.ended, c.end = context.WithCancelCause(ctx)
	return c, c.ended
}

// lost reports whether a worker is lost. What the crew counts is then too little.
func (c *crew) lost() bool { return errors.Is(c.cause(), remote.ErrLost) }

// cause returns why the measurement has ended; nil while it lasts.
func (c *crew) cause() error { return context.Cause(c.ended) }

// each gives all parts an order at the same time, and returns their answers.
func each[R any](parts []block.Part, order func(block.Part) R) []R {
	answers := make([]R, len(parts))
	if len(parts) == 1 {
		answers[0] = order(parts[0])
		return answers
	}
	var working sync.WaitGroup
	for i, p := range parts {
		working.Go(func() { answers[i] = order(p) })
	}
	working.Wait()
	return answers
}

// all is each for orders that may fail.
func (c *crew) all(order func(block.Part) error) error { return errors.Join(each(c.parts, order)...) }

// tell is each for orders that have no answer.
func (c *crew) tell(order func(block.Part)) {
	each(c.parts, func(p block.Part) bool { order(p); return true })
}

// Since returns the time on the measurement's clock.
func (c *crew) Since() time.Duration { return time.Since(c.epoch) }

// only returns the block of a measurement whose clients are all in this process.
func (c *crew) only() *block.Block { return c.parts[0].(*block.Block) }

// connectShown is the time between two reports of how many sessions are established.
const connectShown = 2 * time.Second

// connect opens the sessions of all clients. shown, if not nil, is called from time to time with the number of those that have joined.
func (c *crew) connect(ctx context.Context, plan block.Plan, shown func(done, of int)) (block.Connected, error) {
	if shown != nil {
		defer pool.Every(connectShown, func() bool {
			ready := each(c.parts, block.Part.Ready)
			shown(int(list.Sum(ready)), c.count)
			return true
		})()
	}
	if c.count < len(c.parts) {
		return block.Connected{}, fmt.Errorf("%d clients for %d workers: each worker needs one", c.count, len(c.parts))
	}
	if c.spread {
		c.live = list.Map(c.parts, func(p block.Part) LiveWorker { return LiveWorker{Host: p.Worker().Host} })
	}
	plan.Pool.Epoch, plan.Pool.Clients = c.epoch, c.count
	connected := make([]block.Connected, len(c.parts))
	group, ctx := errgroup.WithContext(ctx) // with the first failure, the others stop trying
	for i, p := range c.parts {
		group.Go(func() (err error) {
			own := plan
			own.Pool.Block = pool.BlockOf(c.count, i, len(c.parts))
			connected[i], err = p.Connect(ctx, own)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return block.Connected{}, err
	}
	sum := connected[0]
	for _, other := range connected[1:] {
		sum.Took.Total = max(sum.Took.Total, other.Took.Total)
		sum.Took.Each = results.MergeHistograms(sum.Took.Each, other.Took.Each)
		sum.Granted = min(sum.Granted, other.Granted)
	}
	return sum, nil
}

// close lets all clients leave.
func (c *crew) close(ctx context.Context) {
	c.tell(func(p block.Part) { p.Close(ctx) })
}

// closeFloor closes the sessions of the floor.
func (c *crew) closeFloor(ctx context.Context) error {
	return c.all(func(p block.Part) error { return p.CloseFloor(ctx) })
}

func (c *crew) notified() int64 {
	all := c.state().Clients
	return all.TotalNotifications()
}

func (c *crew) state() block.State {
	sum := block.State{Idle: true, Ending: true}
	for _, own := range each(c.parts, block.Part.State) {
		sum.Clients.Add(own.Clients)
		sum.Beside.Add(own.Beside)
		sum.Steps, sum.Held, sum.Waiting = sum.Steps+own.Steps, sum.Held+own.Held, sum.Waiting+own.Waiting
		sum.Latest, sum.Longest = max(sum.Latest, own.Latest), max(sum.Longest, own.Longest)
		sum.Outstanding, sum.Lost = sum.Outstanding || own.Outstanding, sum.Lost || own.Lost
		sum.Idle, sum.Ending = sum.Idle && own.Idle, sum.Ending && own.Ending
	}
	return sum
}

// fence returns when each session has received all notifications of the transactions that any session had seen before. It finds Zxid
// itself. With Living, it first ends all lives that are over.
func (c *crew) fence(ctx context.Context, f block.Fence) error {
	for {
		if f.Living {
			c.tell(func(p block.Part) { p.EndLives(ctx) })
		}
		f.Zxid = c.state().Latest
		var again atomic.Bool
		err := c.all(func(p block.Part) error {
			more, err := p.Fence(ctx, f)
			again.CompareAndSwap(false, more)
			return err
		})
		if err != nil || !again.Load() {
			return err
		}
	}
}

// refresh lets each participant act on the notifications that it received while others joined, until that causes no
// further notification. After that, nothing happens until the first step.
func (c *crew) refresh(ctx context.Context) error {
	if err := c.fence(ctx, block.Fence{}); err != nil {
		return err
	}
	for {
		before := c.notified()
		if err := c.all(func(p block.Part) error { return p.Refresh(ctx) }); err != nil {
			return err
		}
		if err := c.fence(ctx, block.Fence{}); err != nil {
			return err
		}
		if c.notified() == before {
			return nil
		}
	}
}

// window returns how many arrivals were due by then.
func (c *crew) window(e block.Edge) int64 {
	return list.Sum(each(c.parts, func(p block.Part) int64 { return p.Window(e) }))
}

// endLoad ends the load. Clients of a collective recipe take a step that a client of any part has begun.
func (c *crew) endLoad(collective bool) {
	begun := 0
	if collective && len(c.parts) > 1 {
		begun = slices.Max(each(c.parts, block.Part.Freeze))
	}
	c.tell(func(p block.Part) { p.End(begun) })
}

// drain returns what all parts have recorded, until the earliest of their drains.
func (c *crew) drain(d block.Drain) block.Batch {
	batches := each(c.parts, func(p block.Part) block.Batch { return p.Drain(d) })
	for i := range c.live {
		c.live[i].Requests, c.live[i].Memory = batches[i].Traffic.Requests, batches[i].Memory
	}
	sum := batches[0]
	for _, own := range batches[1:] {
		sum.At, sum.Latest, sum.Passed = min(sum.At, own.At), max(sum.Latest, own.At), min(sum.Passed, own.Passed)
		sum.Complete = min(sum.Complete, own.Complete)
		sum.Counts.Add(own.Counts)
		sum.Traffic.Add(own.Traffic)
		sum.Events = append(sum.Events, own.Events...)
		sum.Notifications = append(sum.Notifications, own.Notifications...)
		sum.Failed, sum.Rejoined = append(sum.Failed, own.Failed...), append(sum.Rejoined, own.Rejoined...)
		sum.Served = append(sum.Served, own.Served...)
		sum.Backlog.Most += own.Backlog.Most
		sum.Backlog.LastEmpty = min(sum.Backlog.LastEmpty, own.Backlog.LastEmpty)
		sum.Memory, sum.ClockBound = max(sum.Memory, own.Memory), max(sum.ClockBound, own.ClockBound)
	}
	return sum
}

// standing returns the clients of a load that stands still; none if any client may still proceed. See [pool.Pool.Look].
func (c *crew) standing(ctx context.Context) []int {
	before, waiting := c.look()
	if len(waiting) == 0 || c.fence(ctx, block.Fence{Waiting: true}) != nil {
		return nil
	}
	if after, still := c.look(); !slices.Equal(before, after) || !slices.Equal(waiting, still) {
		return nil
	}
	return waiting
}

// look returns how often each client has begun to wait, and the clients that wait; none if one moves.
func (c *crew) look() (waits []int64, waiting []int) {
	for _, own := range each(c.parts, block.Part.Look) {
		if own.Moving {
			return nil, nil
		}
		waits, waiting = append(waits, own.Waits...), append(waiting, own.Waiting...)
	}
	return waits, waiting
}

// watches returns the paths that a client watches.
func (c *crew) watches(id int) []string {
	return c.parts[c.partOf(id)].Watches(id)
}

func (c *crew) partOf(client int) int {
	for i := range c.parts {
		if b := pool.BlockOf(c.count, i, len(c.parts)); client < b.First+b.Count {
			return i
		}
	}
	return 0
}

// examine returns what all parts together say when the load has ended.
func (c *crew) examine() block.Examined {
	c.examined = each(c.parts, block.Part.Examine)
	sum := c.examined[0]
	sum.Health = results.MergeHealth(list.Map(c.examined, func(e block.Examined) results.Health { return e.Health }))
	for _, own := range c.examined[1:] {
		sum.Unserved.GivenUp, sum.Unserved.Begun = sum.Unserved.GivenUp+own.Unserved.GivenUp, sum.Unserved.Begun+own.Unserved.Begun
		sum.Warnings = append(sum.Warnings, own.Warnings...)
	}
	return sum
}

// workers describes the parts of clients that are not all in this process, after examine.
func (c *crew) workers() []results.Worker {
	if !c.spread {
		return nil
	}
	var all []results.Worker
	for i, p := range c.parts {
		w := p.Worker()
		w.Clients = pool.BlockOf(c.count, i, len(c.parts)).Count
		w.Health, w.Began, w.Memory = c.examined[i].Health, c.examined[i].Began, c.examined[i].Memory
		if i < len(c.floors) {
			w.Floor = &c.floors[i]
		}
		all = append(all, w)
	}
	return all
}

// floor measures one half of the floor on all parts, one after another. Each says why it has none.
func (c *crew) floor(ctx context.Context, half block.Half) *results.Floor {
	c.floors = nil
	for _, p := range c.parts {
		c.floors = append(c.floors, p.Floor(ctx, half))
	}
	return mergeFloors(c.floors)
}

func mergeFloors(all []results.Floor) *results.Floor {
	sum := all[0]
	for _, own := range all[1:] {
		sum.Before, sum.After = mergeHalves(sum.Before, own.Before), mergeHalves(sum.After, own.After)
		sum.Why = cmp.Or(sum.Why, own.Why)
		if own.Pairs != sum.Pairs {
			sum.Pairs = ""
		}
	}
	return &sum
}

func mergeHalves(a, b map[string]results.Histogram) map[string]results.Histogram {
	merged := map[string]results.Histogram{}
	for operation, h := range a {
		merged[operation] = results.MergeHistograms(h, b[operation])
	}
	return merged
}

// Fitting implements [chaos.Crew].
func (c *crew) Fitting(f faults.Fault) []int {
	return slices.Concat(each(c.parts, func(p block.Part) []int { return p.Fitting(f) })...)
}

// Strike implements [chaos.Crew]. A fault at the first client's operation waits for it in one part.
func (c *crew) Strike(ctx context.Context, s chaos.Strike, random func(n int) int) (chaos.Struck, error) {
	if s.Fault.AtOperation() && s.Fault.Whom != faults.All && len(c.parts) > 1 {
		return c.parts[c.partOf(s.IDs[random(len(s.IDs))])].Strike(ctx, s)
	}
	var mu sync.Mutex
	sum := chaos.Struck{At: math.MaxInt64}
	err := c.all(func(p block.Part) error {
		own, err := p.Strike(ctx, s)
		mu.Lock()
		defer mu.Unlock()
		if len(own.Clients) > 0 {
			sum = chaos.Struck{At: min(sum.At, own.At), Clients: append(sum.Clients, own.Clients...)}
		}
		return err
	})
	return sum, err
}

// StrikeHolder implements [chaos.Crew].
func (c *crew) StrikeHolder(ctx context.Context, f faults.Fault, random func(n int) int) (chaos.Struck, error) {
	part := c.parts[0]
	if len(c.parts) > 1 {
		part = c.parts[c.partOf(random(c.count))]
	}
	return part.StrikeHolder(ctx, f)
}

// Hear implements [chaos.Crew].
func (c *crew) Hear(ids []int) { c.tell(func(p block.Part) { p.Hear(ids) }) }

// Record implements [chaos.Crew].
func (c *crew) Record(kind variants.EventKind) { c.tell(func(p block.Part) { p.Record(kind) }) }

// ConnectedTo implements [chaos.Crew].
func (c *crew) ConnectedTo(addr string) []int {
	return slices.Concat(each(c.parts, func(p block.Part) []int { return p.ConnectedTo(addr) })...)
}
