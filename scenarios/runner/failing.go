package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants"
)

// failing causes the faults of a scenario's schedule while the load runs.
type failing struct {
	m        *measurement
	schedule []faults.Fault

	stop    context.CancelFunc
	working sync.WaitGroup

	mu       sync.Mutex
	random   *rand.Rand
	awaiting []*occurrence           // faults of the next client that begins to hold
	broken   map[int]*occurrence     // of servers, by id, until they are restored
	deaf     map[int]<-chan struct{} // of clients, by id: closed when they hear again
	reports  []string                // failures that are worth a warning, the first few
	err      error                   // why a fault could not be caused
}

// occurrence is one time that a fault of the schedule is due.
type occurrence struct {
	faults.Fault
	id     int // in the recorder, once it has happened
	struck chan struct{}
}

// newFailing returns what causes a scenario's faults, or nil if there are none.
func newFailing(m *measurement, repeat int) *failing {
	schedule := m.scenario.Faults
	if len(schedule) == 0 {
		return nil
	}
	return &failing{
		m: m, schedule: schedule,
		random: rand.New(rand.NewPCG(m.scenario.Seed, uint64(repeat))),
		broken: map[int]*occurrence{}, deaf: map[int]<-chan struct{}{},
	}
}

// start begins the schedule. It is to be ended by finish. Both may be called on nil.
func (f *failing) start(ctx context.Context) {
	if f == nil {
		return
	}
	ctx, f.stop = context.WithCancel(ctx)
	begin := f.m.pool.since()
	f.working.Go(func() {
		for o := range faults.Plan(f.schedule, f.m.scenario.Duration) {
			if sleep(ctx, begin+o.Due-f.m.pool.since()) != nil {
				return
			}
			f.working.Go(func() { f.cause(ctx, &occurrence{Fault: o.Fault, struck: make(chan struct{})}) })
		}
	})
}

// faultPatience is how long a fault waits for a client at which it can be aimed.
const faultPatience = 5 * time.Second

// cause makes one fault happen, and undoes it when its time is over.
func (f *failing) cause(ctx context.Context, o *occurrence) {
	var err error
	switch {
	case o.Kind.OfServer():
		err = f.breakServer(ctx, o)
	case o.Whom == faults.Holder && f.m.scenario.Hold < longHold:
		err = f.awaitHolder(ctx, o)
	default:
		err = f.strikeSome(ctx, o)
	}
	f.conclude(ctx, o, err)
}

// conclude takes the error of a fault: that it met no client is counted, and any other one makes the measurement fail.
func (f *failing) conclude(ctx context.Context, o *occurrence, err error) {
	switch {
	case errors.Is(err, errMissed):
		f.m.stream.note(f.m.stream.recorder.MissedFault)
	case err != nil && ctx.Err() == nil:
		f.fail(fmt.Errorf("fault `%s`: %w", o.Fault, err))
	}
}

// errMissed reports that there was no client at which the fault could be aimed.
var errMissed = errors.New("no client was in a state that the fault needs")

// strikeSome waits until clients fit, and lets the fault happen to one at random, to the first of them to send the operation that
// the fault waits for, or to all.
func (f *failing) strikeSome(ctx context.Context, o *occurrence) error {
	for deadline := time.Now().Add(faultPatience); ; {
		f.mu.Lock()
		candidates := f.m.pool.candidates(o.Whom)
		if o.Whom != faults.All && !o.AtOperation() && len(candidates) > 1 {
			candidates = []*client{candidates[f.random.IntN(len(candidates))]}
		}
		f.mu.Unlock()
		if len(candidates) > 0 {
			return f.aim(o, candidates)(ctx)
		}
		if time.Now().After(deadline) || sleep(ctx, time.Millisecond) != nil {
			return errMissed
		}
	}
}

// longHold is how long a hold must last for a fault to be aimed at a client that holds already. A shorter one may end before the
// fault happens, so that the fault waits for the next client that begins to hold.
const longHold = 100 * time.Millisecond

// awaitHolder waits until a client begins to hold and has met the fault, see meet.
func (f *failing) awaitHolder(ctx context.Context, o *occurrence) error {
	f.mu.Lock()
	f.awaiting = append(f.awaiting, o)
	f.mu.Unlock()
	timer := time.NewTimer(faultPatience)
	defer timer.Stop()
	select {
	case <-o.struck:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	if f.giveUp(o) {
		return errMissed
	}
	<-o.struck // it is being met, and finish must wait for that
	return nil
}

// giveUp takes a fault from those that wait for a holder. It returns false if a holder has met it.
func (f *failing) giveUp(o *occurrence) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.awaiting, o)
	if i >= 0 {
		f.awaiting = slices.Delete(f.awaiting, i, i+1)
	}
	return i >= 0
}

// meet lets a fault that waits for a holder happen to a client that begins to hold.
func (f *failing) meet(ctx context.Context, c *client) {
	f.mu.Lock()
	if len(f.awaiting) == 0 {
		f.mu.Unlock()
		return
	}
	o := f.awaiting[0]
	f.awaiting = f.awaiting[1:]
	f.mu.Unlock()
	defer close(o.struck)
	happen := f.aim(o, []*client{c})
	strike := func() { f.conclude(ctx, o, happen(ctx)) }
	if o.AtOperation() { // which the client makes later in its step
		f.working.Go(strike)
	} else {
		strike()
	}
}

// aim aims a fault at clients, and returns a function that lets it happen. The traps of a fault at an operation are set at once, so that
// the clients cannot make the operation before.
func (f *failing) aim(o *occurrence, clients []*client) func(context.Context) error {
	if !o.AtOperation() {
		return func(ctx context.Context) error { return f.strike(ctx, o, clients) }
	}
	traps := setTraps(o, clients)
	return func(ctx context.Context) error { return f.strike(ctx, o, caught(ctx, traps)) }
}

// strike lets a fault happen to clients.
func (f *failing) strike(ctx context.Context, o *occurrence, victims []*client) error {
	if len(victims) == 0 {
		return errMissed
	}
	var ids []int
	for _, c := range victims {
		ids = append(ids, c.id)
	}
	if o.Kind == faults.Cut && !o.AtOperation() {
		for _, c := range victims {
			c.present().link.Cut()
		}
	}
	f.begin(o, clientsNamed(ids), ids)
	switch o.Kind {
	case faults.Stop:
		for _, c := range victims {
			c.present().die()
		}
	case faults.Deaf:
		f.deafen(ctx, o, victims)
	case faults.Expire:
		return each(victims, func(c *client) error { return c.expire(ctx) })
	}
	return nil
}

// clientsNamed names the victims of a fault for tables and figures.
func clientsNamed(ids []int) string {
	if len(ids) == 1 {
		return fmt.Sprintf("client %d", ids[0])
	}
	return fmt.Sprintf("%d clients", len(ids))
}

// recordAll adds an event to the history of each client.
func recordAll(clients []*client, kind variants.EventKind) {
	for _, c := range clients {
		l := c.present()
		l.log.Record(kind, int64(l.number))
	}
}

// endless is longer than any load.
const endless = 1000 * time.Hour

// deafen makes clients ignore requests of others until the time of the fault is over.
func (f *failing) deafen(ctx context.Context, o *occurrence, victims []*client) {
	over := make(chan struct{})
	f.mu.Lock()
	for _, c := range victims {
		f.deaf[c.id] = over
	}
	f.mu.Unlock()
	recordAll(victims, variants.Deafened)
	f.working.Go(func() {
		_ = sleep(ctx, cmp.Or(o.For, endless))
		f.mu.Lock()
		for _, c := range victims {
			delete(f.deaf, c.id)
		}
		f.mu.Unlock()
		recordAll(victims, variants.Hearing)
		close(over)
		f.end(o)
	})
}

// begin records that a fault has happened.
func (f *failing) begin(o *occurrence, target string, victims []int) {
	f.beginAt(f.m.pool.since(), o, target, victims)
}

// beginAt records that a fault has happened at a time.
func (f *failing) beginAt(at time.Duration, o *occurrence, target string, victims []int) {
	f.m.stream.noteAt(at, func(at time.Duration) {
		o.id = f.m.stream.recorder.FaultBegan(at, string(o.Kind), target, victims)
	})
}

// end records that a fault is over.
func (f *failing) end(o *occurrence) {
	f.m.stream.note(func(at time.Duration) { f.m.stream.recorder.FaultEnded(o.id, at) })
}

// mostReports is how many failures are kept for the warnings.
const mostReports = 3

// report keeps a failure of a client for a warning.
func (f *failing) report(what string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.reports) < mostReports {
		f.reports = append(f.reports, fmt.Sprintf("%s: %v", what, err))
	}
}

// fail keeps the first reason why a fault could not be caused, which makes the measurement fail.
func (f *failing) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}

// hold returns how clients hold in a run with faults.
func (f *failing) hold(next func(*client) holdFunc) func(*client) holdFunc {
	if f == nil {
		return next
	}
	return func(c *client) holdFunc {
		usual := next(c)
		return func(ctx context.Context, l *life, asked <-chan struct{}) error {
			c.enter(inHold)
			defer c.enter(inStep)
			if !l.over() {
				f.meet(ctx, c)
			}
			if hears := f.deafness(c); hears != nil {
				return l.pause(ctx, hears, endless)
			}
			return usual(ctx, l, asked)
		}
	}
}

// deafness returns a channel that is closed when a client hears again, or nil if it is not deaf.
func (f *failing) deafness(c *client) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.deaf[c.id]
}

// finish ends the schedule and undoes all faults. It returns when the servers have a quorum again, with the error of a fault that
// could not be caused or undone.
func (f *failing) finish(ctx context.Context) error {
	if f == nil || f.stop == nil {
		return nil
	}
	f.stop()
	f.working.Wait()
	f.stop = nil
	return errors.Join(f.err, f.restoreAll(context.WithoutCancel(ctx)))
}

// faultyPatience is how long no operation may complete after the faults before the clients that are still at work are taken to
// wait in vain. A session that a fault ended has run out by then, and an election has ended.
func faultyPatience(timeout time.Duration) time.Duration { return 2*timeout + 10*time.Second }

// judge reports that clients are in a step that does not end although all faults are over, and lets the observer conclude.
func (f *failing) judge() {
	stream := f.m.stream
	stream.judge(func(at time.Duration) {
		var waiting int
		var longest time.Duration
		for _, c := range f.m.pool.clients {
			if d := c.does(); d.activity != outside && !c.present().over() {
				waiting, longest = waiting+1, max(longest, time.Since(d.since))
			}
		}
		if waiting == 0 {
			return
		}
		text := fmt.Sprintf("%d of %d clients still wait when all faults are over, the longest for %s: a wake-up was lost, or what a failed client held was left behind",
			waiting, len(f.m.pool.clients), longest.Round(time.Millisecond))
		stream.damage(variants.Damage{Loss: variants.Blocked, Amount: int64(longest), Violation: variants.Violation{At: at, Text: text}})
	})
}

// warnings returns the failures of clients that are worth a warning.
func (f *failing) warnings() []string {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reports
}
