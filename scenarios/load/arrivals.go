package load

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/machine"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// Arrivals hands the arrivals of an open load to clients. A client that is free gets an arrival when it is due, the one that has been
// free for longest first. Without a free client, the arrival waits in the backlog. No arrival is dropped while the load lasts.
//
// It keeps no list of arrivals: the due times of the backlog are computed again.
type Arrivals struct {
	epoch time.Time
	Nap   func(time.Duration) // the last part of the wait for an arrival

	mu       sync.Mutex
	coming   *DueTimes     // of the arrivals that are not due yet
	next     time.Duration // the first of these
	waiting  *DueTimes     // of the arrivals in the backlog and of those after them
	backlog  int64
	most     int64         // the largest backlog since the last report
	nonEmpty time.Duration // when the backlog began to have arrivals
	free     []chan time.Duration
	until    time.Duration // no later arrival comes
	ended    bool
	dropped  int64         // arrivals of the window that were given up
	opened   chan struct{} // closed when the window is open, so that the next arrival may be due earlier
	serving  []arrival     // by client
	served   []recorder.Served
}

// arrival is what a client serves. Without an arrival, begun is zero.
type arrival struct {
	due, begun, lateness time.Duration
	hand                 chan time.Duration // the client receives the due time here
}

// NewArrivals returns arrivals for a number of clients, which have not started.
func NewArrivals(epoch time.Time, clients int) *Arrivals {
	a := &Arrivals{epoch: epoch, Nap: machine.SleepPrecisely, until: math.MaxInt64, serving: make([]arrival, clients), opened: make(chan struct{})}
	for i := range a.serving {
		a.serving[i].hand = make(chan time.Duration, 1)
	}
	return a
}

func (a *Arrivals) since() time.Duration { return time.Since(a.epoch) }

// Start begins to hand out the arrivals of a sequence that begins now. The caller ends it with stop.
func (a *Arrivals) Start(ctx context.Context, sequence func(start time.Duration) *DueTimes) (stop func()) {
	now := a.since()
	a.coming, a.waiting = sequence(now), sequence(now)
	a.next = a.coming.next()
	ctx, cancel := context.WithCancel(ctx)
	var pacing sync.WaitGroup
	pacing.Go(func() { a.pace(ctx) })
	return func() { cancel(); pacing.Wait() }
}

// finely is the part of a wait that is slept precisely. It is longer than a timer of the Go runtime is late.
const finely = 2 * time.Millisecond

// pace releases arrivals when they are due.
func (a *Arrivals) pace(ctx context.Context) {
	runtime.LockOSThread() // SleepPrecisely blocks the thread
	defer runtime.UnlockOSThread()
	opened := a.opened
	for {
		next, more := a.release(a.since())
		if !more {
			return
		}
		if variants.WaitFor(ctx, next-a.since()-finely, opened, nil) != nil {
			return
		}
		select {
		case <-opened: // the next arrival may be due earlier now
			opened = nil
		default:
			a.Nap(next - a.since())
		}
	}
}

// release hands out all arrivals that are due, and returns when the next one is. more is false when there are none any more.
func (a *Arrivals) release(now time.Duration) (next time.Duration, more bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.releaseLocked(now)
	return a.next, !a.ended && a.next <= a.until
}

func (a *Arrivals) releaseLocked(now time.Duration) {
	for ; a.next <= min(now, a.until) && !a.ended; a.next = a.coming.next() {
		if len(a.free) > 0 {
			a.free[0] <- a.waiting.next()
			a.free = a.free[1:]
			continue
		}
		if a.backlog == 0 {
			a.nonEmpty = a.next
		}
		a.backlog++
		a.most = max(a.most, a.backlog)
	}
}

// Begin implements [Turns]. A client that has failed to serve its arrival keeps it.
func (a *Arrivals) Begin(ctx context.Context, c *pool.Client, _ int) bool {
	mine := &a.serving[c.ID]
	if mine.begun > 0 {
		return true
	}
	due, waits, ok := a.take(mine.hand)
	if !ok {
		return false
	}
	freed := a.since()
	if waits {
		select {
		case due, ok = <-mine.hand:
		case <-ctx.Done():
			return false
		}
		if !ok {
			return false
		}
	}
	mine.due, mine.begun = due, a.since()
	mine.lateness = mine.begun - max(freed, due)
	return true
}

// WindowOpened implements [Turns]: the levels of a rate that changes begin.
func (a *Arrivals) WindowOpened(at time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting.endWarmUp(at)
	a.next = a.coming.endWarmUp(at)
	close(a.opened)
}

// take returns the due time of the first arrival in the backlog. Without one, the client waits for its hand. ok is false when
// there are no arrivals any more.
func (a *Arrivals) take(hand chan time.Duration) (due time.Duration, waits, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.backlog > 0:
		a.backlog--
		return a.waiting.next(), false, true
	case a.ended:
		return 0, false, false
	default:
		a.free = append(a.free, hand)
		return 0, true, true
	}
}

// Completed implements [Turns].
//
// Note: as in [variants.Log], the time is taken under the mutex.
func (a *Arrivals) Completed(c *pool.Client) {
	mine := &a.serving[c.ID]
	a.mu.Lock()
	defer a.mu.Unlock()
	a.served = append(a.served, recorder.Served{Due: mine.due, Begun: mine.begun, Done: a.since(), Lateness: mine.lateness})
	mine.begun = 0
}

// Arrived returns how many arrivals were due up to a moment that has just passed; 0 unless the load is open.
func (a *Arrivals) Arrived(at time.Duration) int64 {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.releaseLocked(at)
	return a.coming.count - 1 // without the next one
}

// LastDue lets no further arrival come after the window, whose end has just passed. Faults may be undone only later.
func (a *Arrivals) LastDue(end time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.releaseLocked(end)
	a.until = end
}

// Finish ends the arrivals when the window has ended and all faults are undone. If the load was beyond the clients' capacity, it drops
// the backlog.
func (a *Arrivals) Finish(start, end time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.endLocked()
	if a.backlog > 0 && a.nonEmpty < start+(end-start)/2 {
		a.dropBacklog(start, end)
	}
}

// GiveUp drops the backlog when clients have not served it within the length of a window after the window. Otherwise a burst at its end
// could take hours.
func (a *Arrivals) GiveUp(start, end time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dropBacklog(start, end)
}

// dropBacklog empties the backlog, and counts its arrivals that were due in the window. The caller holds the mutex.
func (a *Arrivals) dropBacklog(start, end time.Duration) {
	for ; a.backlog > 0; a.backlog-- {
		if due := a.waiting.next(); start <= due && due <= end {
			a.dropped++
		}
	}
}

// Left returns how many arrivals of the window were given up before a client began them, and how many clients still serve when a load
// with faults has ended: these wait for something that nothing will bring.
func (a *Arrivals) Left(start, end time.Duration) (givenUp, serving int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.serving {
		if s.begun > 0 && start <= s.due && s.due <= end {
			serving++
		}
	}
	a.dropBacklog(start, end)
	return a.dropped, serving
}

// Idle implements [Turns]: all clients are free.
func (a *Arrivals) Idle() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.free) == len(a.serving)
}

// End implements [Turns].
func (a *Arrivals) End() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.endLocked()
}

func (a *Arrivals) endLocked() {
	a.ended = true
	for _, hand := range a.free {
		close(hand)
	}
	a.free = nil
}

// Ending implements [Turns].
func (a *Arrivals) Ending() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

// TakeServed appends the arrivals that were served since the last call to dst, and forgets them.
func (a *Arrivals) TakeServed(dst []recorder.Served) []recorder.Served {
	a.mu.Lock()
	defer a.mu.Unlock()
	dst = append(dst, a.served...)
	a.served = a.served[:0]
	return dst
}

// Report returns the largest backlog since the last call, and when it was last empty.
func (a *Arrivals) Report(now time.Duration) recorder.Backlog {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := recorder.Backlog{Most: a.most, LastEmpty: now}
	if a.backlog > 0 {
		b.LastEmpty = min(now, a.nonEmpty)
	}
	a.most = a.backlog
	return b
}

var _ Turns = (*Arrivals)(nil)

// DueTimes is the sequence of moments at which the arrivals of an open load are due. It depends on nothing but its parameters and the
// end of the warm-up, so that two sequences with the same of these are equal.
type DueTimes struct {
	levels levels     // what is left of it, in arrivals per nanosecond
	random *rand.Rand // nil if arrivals are due at equal distances
	count  int64
	begun  time.Duration // when the first piece of the levels began
	passed float64       // arrivals before that, on average
	due    float64       // the integral of the rate up to the arrival that next has returned
}

// newDueTimes returns the sequence of arrivals whose number per second has these levels. The random numbers of arrivals that are
// independent of each other come from the seeds.
func newDueTimes(start time.Duration, perSecond levels, how string, seed, repeat uint64) *DueTimes {
	d := &DueTimes{begun: start, levels: perSecond.times(1 / float64(time.Second))}
	if how == scenarios.Poisson {
		d.random = rand.New(rand.NewPCG(seed, repeat))
	}
	return d
}

// DueTimesOf returns the sequence of an open load's arrivals, each of which is a step with a number of operations. All variants have the
// same in one repeat.
func DueTimesOf(s scenarios.Scenario, rate, repeat, operations int) func(start time.Duration) *DueTimes {
	rates := steady(float64(rate))
	if len(s.Stages) > 0 {
		stages := levelsOf(s.Stages)
		rates = append(steady(stages[0].from), stages...) // the warm-up lasts until the window opens
	}
	return func(start time.Duration) *DueTimes {
		return newDueTimes(start, rates.times(1/float64(operations)), s.Arrivals, s.Seed, uint64(repeat))
	}
}

// endWarmUp ends the first piece of levels of several pieces, in which all arrivals so far but the last one were due. It returns when that
// one is due now: with a higher rate from here on, earlier than it was.
func (d *DueTimes) endWarmUp(at time.Duration) time.Duration {
	if len(d.levels) > 1 && d.levels[0].length == 0 {
		d.levels[0].length = max(at-d.begun, 1)
	}
	return d.last()
}

// next returns when the next arrival is due: when the integral of the rate has grown by 1, or by an exponentially distributed number.
func (d *DueTimes) next() time.Duration {
	d.count++
	if d.random == nil {
		d.due = float64(d.count) // a sum of rounded distances would drift
	} else {
		d.due += d.random.ExpFloat64()
	}
	return d.last()
}

// last returns when the arrival is due that next has returned last.
func (d *DueTimes) last() time.Duration {
	for d.due-d.passed > d.levels[0].area() {
		d.passed += d.levels[0].area()
		d.begun += d.levels[0].length
		d.levels = d.levels[1:]
	}
	return d.begun + time.Duration(math.Round(d.levels[0].after(d.due-d.passed)))
}
