package block

import (
	"context"
	"encoding/gob"
	"fmt"
	"sort"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/chaos"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/scenarios/remote"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// Known are the errors of a block that a controller distinguishes.
func Known() []error { return []error{session.ErrSessionLost} }

// registerTypes lets orders and answers travel.
func registerTypes() {
	for _, value := range []any{
		Plan{}, Connected{}, Fence{}, State{}, Half{}, results.Floor{}, Load{}, Edge{}, Drain{}, Batch{},
		pool.Look{}, Examined{}, faults.Fault{}, chaos.Strike{}, chaos.Struck{}, variants.EventKind(0),
	} {
		gob.Register(value)
	}
}

// far is a [Part] on a worker. It converts all times.
type far struct {
	worker *remote.Worker
	lost   func(error)
	index  int
	ours   time.Duration // of the measurement's epoch, on the controller's clock
	theirs time.Duration // of the same moment, on the worker's clock
	points points
	latest Batch // of the latest drain, without events
}

// NewFar returns a block of clients on a worker that are not connected. index is its number among the workers. lost is called when an order
// without an error fails.
func NewFar(w *remote.Worker, index int, lost func(error)) Part {
	registerTypes()
	return &far{worker: w, index: index, lost: lost}
}

// do gives the worker an order without arguments, or with one, and returns its answer.
func do[R any](ctx context.Context, f *far, order string, args any) (answer R, err error) {
	got, err := f.worker.Do(ctx, order, args)
	if err != nil {
		return answer, err // names the worker
	}
	answer, ok := got.(R)
	if !ok {
		err = fmt.Errorf("worker %s answered %s with a %T", f.worker, order, got)
	}
	return answer, err
}

// ask is do for an order that waits for nothing.
func ask[R any](f *far, order string, args any) R {
	answer, err := do[R](context.Background(), f, order, args)
	f.check(err)
	return answer
}

// give gives the worker an order that has no answer but an error.
func (f *far) give(ctx context.Context, order string) error {
	_, err := do[bool](ctx, f, order, nil)
	return err
}

// check is for the error of an order that must not fail.
func (f *far) check(err error) {
	if err != nil {
		f.lost(err)
	}
}

// toTheirs converts a time of the measurement to the worker's clock, and toOurs back.
func (f *far) toTheirs(at time.Duration) time.Duration {
	return f.worker.Clock().Theirs(f.ours+at) - f.theirs
}
func (f *far) toOurs(at time.Duration) time.Duration {
	return f.worker.Clock().Ours(f.theirs+at) - f.ours
}

// point is a moment on both clocks, since the measurement's epoch.
type point struct{ theirs, ours time.Duration }

// ReplyPatience is how long an event waits for the reply that places it, if the clients are on several workers: their clocks do not say
// where it stands. No reply takes longer than a session timeout.
const ReplyPatience = time.Minute

// mostPoints bounds how many drains are remembered, ten in a second, and is enough for ReplyPatience.
const mostPoints = 1024

// points convert the times of what was recorded by the latest drain. The same time always becomes the same, and two times keep their order,
// also in batches between which the clocks became better known: the places of events depend on it.
type points []point

// learn adds the moment at which all events of a drain had been taken.
func (all *points) learn(p point) {
	last := (*all)[len(*all)-1]
	*all = append(*all, point{max(p.theirs, last.theirs+1), max(p.ours, last.ours+1)})
	*all = (*all)[max(len(*all)-mostPoints, 0):]
}

func (all points) convert(at time.Duration) time.Duration {
	i := sort.Search(len(all)-1, func(i int) bool { return all[i].theirs >= at })
	to, from := all[i], all[max(i-1, 0)]
	if i == 0 || at >= to.theirs {
		return to.ours + at - to.theirs
	}
	share := float64(at-from.theirs) / float64(to.theirs-from.theirs)
	return from.ours + time.Duration(share*float64(to.ours-from.ours))
}

func (f *far) Connect(ctx context.Context, p Plan) (Connected, error) {
	f.ours = p.Pool.Epoch.Sub(f.worker.Epoch())
	f.theirs = f.worker.Clock().Theirs(f.ours)
	f.points = points{{}}
	f.worker.Clock().Restart()
	p.Epoch = f.theirs
	p.Pool = p.Pool.Portable()
	return do[Connected](ctx, f, "Connect", p)
}

func (f *far) Worker() results.Worker {
	h := f.worker.Hello()
	return results.Worker{Host: h.Host, Zone: h.Zone, CPUs: h.CPUs, ClockBound: f.worker.Clock().Bound()}
}

func (f *far) Refresh(ctx context.Context) error { return f.give(ctx, "Refresh") }
func (f *far) Stand(ctx context.Context) error   { return f.give(ctx, "Stand") }
func (f *far) Run(ctx context.Context) error     { return f.give(ctx, "Run") }
func (f *far) Started(ctx context.Context) error { return f.give(ctx, "Started") }

func (f *far) CloseFloor(ctx context.Context) error { return f.give(ctx, "CloseFloor") }

func (f *far) Fence(ctx context.Context, to Fence) (bool, error) {
	return do[bool](ctx, f, "Fence", to)
}

func (f *far) Strike(ctx context.Context, s chaos.Strike) (chaos.Struck, error) {
	return f.strike(ctx, "Strike", s)
}

func (f *far) StrikeHolder(ctx context.Context, fault faults.Fault) (chaos.Struck, error) {
	return f.strike(ctx, "StrikeHolder", fault)
}

func (f *far) strike(ctx context.Context, order string, args any) (chaos.Struck, error) {
	struck, err := do[chaos.Struck](ctx, f, order, args)
	struck.At = f.toOurs(struck.At)
	return struck, err
}

func (f *far) EndLives(ctx context.Context) { f.check(f.give(ctx, "EndLives")) }
func (f *far) Close(ctx context.Context)    { f.check(f.give(ctx, "Close")) }

func (f *far) Floor(ctx context.Context, half Half) results.Floor {
	floor, err := do[results.Floor](ctx, f, "Floor", half)
	if err != nil {
		floor.Why = err.Error()
	}
	return floor
}

func (f *far) Begin(l Load) {
	l.Start = f.toTheirs(l.Start)
	ask[bool](f, "Begin", l)
}

func (f *far) Window(e Edge) int64 {
	e.At = f.toTheirs(e.At)
	return ask[int64](f, "Window", e)
}

func (f *far) Ready() int64                     { return ask[int64](f, "Ready", nil) }
func (f *far) State() State                     { return ask[State](f, "State", nil) }
func (f *far) Freeze() int                      { return ask[int](f, "Freeze", nil) }
func (f *far) End(begun int)                    { ask[bool](f, "End", begun) }
func (f *far) Look() pool.Look                  { return ask[pool.Look](f, "Look", nil) }
func (f *far) Watches(id int) []string          { return ask[[]string](f, "Watches", id) }
func (f *far) Fitting(fault faults.Fault) []int { return ask[[]int](f, "Fitting", fault) }
func (f *far) Hear(ids []int)                   { ask[bool](f, "Hear", ids) }
func (f *far) Record(kind variants.EventKind)   { ask[bool](f, "Record", kind) }
func (f *far) ConnectedTo(addr string) []int    { return ask[[]int](f, "ConnectedTo", addr) }

func (f *far) Examine() Examined {
	e := ask[Examined](f, "Examine", nil)
	for i := range e.Health.StoodStill {
		e.Health.StoodStill[i].Start = f.points.convert(e.Health.StoodStill[i].Start)
	}
	return e
}

func (f *far) Drain(d Drain) Batch {
	if !d.All {
		d.Until = f.toTheirs(d.Until)
	}
	b, err := do[Batch](context.Background(), f, "Drain", d)
	if err == nil {
		b.Events, err = b.Columns.Placed(uint16(f.index))
	}
	if err != nil {
		f.lost(err)
		return f.latest
	}
	f.points.learn(point{b.Taken, f.toOurs(b.Taken)})
	for i := range b.Events {
		b.Events[i].At = f.points.convert(b.Events[i].At)
	}
	for i := range b.Notifications {
		b.Notifications[i].At = f.points.convert(b.Notifications[i].At)
	}
	for _, times := range [][]time.Duration{b.Failed, b.Rejoined} {
		for i := range times {
			times[i] = f.points.convert(times[i])
		}
	}
	for i := range b.Served {
		s := &b.Served[i]
		later := f.points.convert(s.Done) - s.Done // of all three: the times of one client are exact
		s.Due, s.Begun, s.Done = s.Due+later, s.Begun+later, s.Done+later
	}
	later := f.points.convert(b.At) - b.At
	b.Backlog.LastEmpty, b.At = b.Backlog.LastEmpty+later, b.At+later
	b.Latest, b.Complete, b.ClockBound = b.At, f.points.convert(b.Complete), f.worker.Clock().Bound()
	f.latest.Latest = b.At
	f.latest.At, f.latest.Traffic, f.latest.Passed, f.latest.Backlog = b.At, b.Traffic, b.Passed, b.Backlog
	if d.Counts {
		f.latest.Counts = b.Counts
	}
	return b
}
