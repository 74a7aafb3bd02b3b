package block

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios/chaos"
	"github.com/zkbench/zkbench/scenarios/machine"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// Block is a [Part] in this process.
type Block struct {
	*pool.Pool // without clients before Connect
	*chaos.Targets

	Recipe  variants.Recipe
	Variant variants.Variant
	Plan    Plan

	ready   atomic.Int64
	closed  bool
	driver  func() error            // ends the driver; nil without one
	floor   *floorMeter             // nil without one
	running atomic.Pointer[running] // nil before the first load
	held    atomic.Int64            // how often clients have begun to hold
	began   atomic.Int64            // how much later than planned the first load began, in nanoseconds
	vitals  machine.Vitals          // when the first load began
	itself  *standstills            // likewise; nil before

	mu       sync.Mutex      // guards the fields below
	failed   []time.Duration // when operations failed, since the last drain
	rejoined []time.Duration

	placed []variants.Placed // of one drain; kept to reuse its memory
	memory atomic.Int64      // the largest of any drain
}

// New returns a block of clients of a variant that are not connected.
func New(r variants.Recipe, v variants.Variant) *Block {
	return &Block{Recipe: r, Variant: v, Pool: new(pool.Pool)}
}

// Connect implements [Part]. If it fails, it leaves nothing.
func (b *Block) Connect(ctx context.Context, p Plan) (_ Connected, err error) {
	b.Plan = p
	p.Pool.Joined = func() { b.ready.Add(1) }
	driver, report, err := pool.StartDriver(ctx, b.Recipe, b.Variant)
	if err != nil {
		return Connected{}, err
	}
	if driver != nil {
		b.driver = driver.Close
	}
	opened, err := pool.Connect(ctx, p.Pool.DrivenBy(driver), b.Variant)
	if err != nil {
		return Connected{}, errors.Join(err, b.endDriver())
	}
	b.Pool, b.Targets = opened, chaos.NewTargets(opened)
	b.Pool.Hold = b.hold
	if len(p.Scenario.Faults) > 0 {
		b.Pool.Hold = b.Targets.Hold(b.hold)
	}
	if p.Floor > 0 {
		b.floor = newFloorMeter(p.Floor, b.Recipe, p.Pool, p.Scenario.Hold)
	}
	granted := opened.Clients[0].Ledger.SessionTimeout()
	return Connected{Took: *opened.Connection(), Granted: granted, Driver: report, Unforeseen: b.isUnforeseen()}, nil
}

func (b *Block) endDriver() error {
	if b.driver == nil {
		return nil
	}
	return b.driver()
}

// Close implements [Part]. A second call has no effect.
func (b *Block) Close(ctx context.Context) {
	b.CloseAll(ctx)
	if b.itself != nil && !b.closed {
		b.itself.stop()
	}
	b.closed = true
}

// CloseFloor implements [Part]. It also ends the driver.
func (b *Block) CloseFloor(ctx context.Context) error {
	if b.floor != nil {
		b.floor.close(ctx)
	}
	return b.endDriver()
}

// Worker implements [Part].
func (b *Block) Worker() results.Worker {
	host, _ := os.Hostname() // empty if it is not known
	return results.Worker{Host: host, CPUs: runtime.GOMAXPROCS(0)}
}

// Ready implements [Part].
func (b *Block) Ready() int64 { return b.ready.Load() }

// Fence implements [Part].
func (b *Block) Fence(ctx context.Context, f Fence) (again bool, err error) {
	switch {
	case f.Living:
		return b.FenceLiving(ctx, f.Zxid)
	case f.Waiting:
		return false, b.FenceWaiting(ctx, f.Zxid)
	default:
		return false, b.FenceTo(ctx, f.Zxid)
	}
}

// State implements [Part].
func (b *Block) State() State {
	s := State{Latest: b.Latest(), Clients: b.Counts(), Held: b.held.Load(), Outstanding: b.Outstanding()}
	if b.floor != nil && b.floor.sessions != nil {
		s.Beside = b.floor.sessions.Counts()
	}
	if r := b.running.Load(); r != nil {
		s.Steps, s.Idle, s.Ending = r.steps.Load(), r.turns.Idle(), r.turns.Ending()
	}
	for _, c := range b.Clients {
		if d := c.Does(); c.Present().Over() {
			s.Lost = true
		} else if d.Activity != pool.Outside {
			s.Waiting, s.Longest = s.Waiting+1, max(s.Longest, time.Since(d.Since))
		}
	}
	return s
}

// Stand implements [Part].
func (b *Block) Stand(ctx context.Context) error {
	b.watch()
	if b.isUnforeseen() {
		return nil
	}
	return b.Each(func(c *pool.Client) error {
		if standing, ok := c.Participant.(variants.Standing); ok {
			return standing.Stand(ctx)
		}
		return nil
	})
}

// isUnforeseen reports whether participants that would stand in line between steps do not, as steps are due when arrivals or stages say so.
func (b *Block) isUnforeseen() bool {
	if !b.Plan.IsOpen() && len(b.Plan.Scenario.Stages) == 0 {
		return false
	}
	_, standing := b.Clients[0].Participant.(variants.Standing)
	return standing
}

// Drain implements [Part].
//
// Note: the order of the steps matters. The batch has no less traffic than requests up to At, and all notifications of transactions up to
// Passed arrive before At. Each other source is read after At, so that it returns everything that was recorded before.
func (b *Block) Drain(d Drain) Batch {
	var out Batch
	if d.Counts {
		out.Counts = b.Counts()
		out.Traffic = out.Counts.Traffic()
	} else {
		out.Traffic = b.Traffic()
	}
	out.Passed, out.At = b.Passed(), b.Since()
	for _, c := range b.Clients {
		for _, n := range c.TakeNotifications() {
			out.Notifications = append(out.Notifications,
				recorder.Notification{At: n.At, Client: c.ID, Zxid: n.Zxid, Type: n.Type.String(), Path: n.Path})
		}
	}
	b.mu.Lock()
	out.Failed, out.Rejoined, b.failed, b.rejoined = b.failed, b.rejoined, nil, nil
	b.mu.Unlock()
	out.Backlog.LastEmpty = out.At
	if r := b.running.Load(); r != nil && r.arrivals != nil {
		out.Served, out.Backlog = r.arrivals.TakeServed(), r.arrivals.Report(out.At)
	}
	out.Memory, out.Events = machine.ResidentMemory(), b.takeEvents(d)
	b.memory.Store(max(b.memory.Load(), out.Memory))
	out.Latest, out.Taken = out.At, b.Since()
	return out
}

// takeEvents returns the events that the clients have recorded, as [variants.Log.Take] does.
func (b *Block) takeEvents(d Drain) []variants.Placed {
	clear(b.placed) // releases the writes
	b.placed = b.placed[:0]
	until := d.Until
	if d.All {
		until = pool.Endless
	}
	for _, c := range b.Clients {
		b.placed = c.TakeEvents(b.placed, until)
	}
	for i := range b.placed {
		b.placed[i].Worker = uint16(b.Plan.Pool.Block.Index)
	}
	return b.placed
}

// note keeps the time of something that happens now. It is taken under the mutex, as in [variants.Log].
func (b *Block) note(in *[]time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*in = append(*in, b.Since())
}

// Watches implements [Part].
func (b *Block) Watches(id int) []string { return b.Clients[id-b.Clients[0].ID].Ledger.WatchesNow() }

// Examine implements [Part].
func (b *Block) Examine() Examined {
	e := Examined{Warnings: b.Warnings(), Began: time.Duration(b.began.Load()), Memory: b.memory.Load()}
	if b.itself != nil {
		e.Health = machine.TakeVitals().Since(b.vitals)
		e.Health.StoodStill = b.itself.so()
	}
	if r := b.running.Load(); r != nil && r.arrivals != nil {
		e.Unserved.GivenUp, e.Unserved.Begun = r.arrivals.Left()
	}
	for _, c := range b.Clients {
		c.Examine(&e.Health)
	}
	return e
}

// Floor implements [Part]. A failure is a part of the floor, and no error.
func (b *Block) Floor(ctx context.Context, half Half) results.Floor {
	switch {
	case !half.After:
		b.floor.before(ctx)
	case half.Renew:
		b.floor.renew(ctx)
		fallthrough
	default:
		b.floor.floor.After = b.floor.half(ctx)
	}
	return b.floor.floor
}

var _ Part = (*Block)(nil)
