package load

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/machine"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// Arrivals hands the arrivals of an open load to clients. When an arrival is due, the client that has been free for longest
// gets it. Without a free client, the arrival waits in the backlog. No arrival is dropped while the load lasts.
//
// It keeps no list of arrivals: the due times of the backlog are computed again.
type Arrivals struct {
	epoch time.Time
	Nap   func(time.Duration) // waits the last part of the time until an arrival

	mu       sync.Mutex
	coming   *DueTimes     // the arrivals that are not due yet
	next     time.Duration // when the first of them is due
	waiting  *DueTimes     // the arrivals in the backlog, followed by coming
	backlog  int64
	most     int64         // the largest backlog since the last report
	nonEmpty time.Duration // since when the backlog has arrivals
	free     []chan time.Duration
	start    time.Duration // when the window opened
	until    time.Duration // when it closed; arrivals after this time do not come
	limit    *time.Timer   // ends the serving of the backlog after the window; nil before
	ended    bool
	dropped  int64         // arrivals of the window that were given up
	opened   chan struct{} // closed when the window opens, which may make the next arrival due earlier
	serving  []arrival     // by client id, from the first one of the block on
	block    pool.Block
	served   []recorder.Served
}

// arrival is the arrival that a client serves. While it serves none, begun is zero.
type arrival struct {
	due, begun, lateness time.Duration
	hand                 chan time.Duration // receives the due time
}

// NewArrivals returns the arrivals of a block, which have not started: of all arrivals, each block gets one in turn.
func NewArrivals(epoch time.Time, block pool.Block) *Arrivals {
	a := &Arrivals{
		epoch: epoch, Nap: machine.SleepPrecisely, until: math.MaxInt64,
		serving: make([]arrival, block.Count), block: block, opened: make(chan struct{}),
	}
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
	a.coming.block, a.waiting.block = a.block, a.block // they leave out the arrivals of other blocks
	a.next = a.coming.next()
	ctx, cancel := context.WithCancel(ctx)
	var pacing sync.WaitGroup
	pacing.Go(func() { a.pace(ctx) })
	return func() {
		cancel()
		pacing.Wait()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.ended = true
		if a.limit != nil {
			a.limit.Stop()
		}
	}
}

// finely is the part of a wait that is slept precisely. It is longer than the delay of a timer of the Go runtime.
const finely = 2 * time.Millisecond

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
		case <-opened: // the next arrival may be due earlier than before
			opened = nil
		default:
			a.Nap(next - a.since())
		}
	}
}

// release hands out all arrivals that are due, and returns when the next one is. more is false after the last one.
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
	mine := &a.serving[c.ID-a.block.First]
	if mine.begun > 0 {
		return true
	}
	a.ask(mine.hand)
	freed := a.since()
	due, ok := received(ctx, mine.hand)
	if ok {
		mine.due, mine.begun = due, a.since()
		mine.lateness = mine.begun - max(freed, due)
	}
	return ok
}

// received waits for an arrival until ctx ends. One that is there is not left in hand, where it would not be counted.
func received(ctx context.Context, hand <-chan time.Duration) (due time.Duration, ok bool) {
	select {
	case due, ok = <-hand:
	default:
		select {
		case due, ok = <-hand:
		case <-ctx.Done():
		}
	}
	return due, ok
}

// WindowOpened implements [Turns]. The levels of a changing rate begin at the moment of the window.
func (a *Arrivals) WindowOpened(at time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.start = at
	a.waiting.endWarmUp(at)
	a.next = a.coming.endWarmUp(at)
	close(a.opened)
}

// ask lets hand receive the due time of the first arrival in the backlog, or else of the next one. It closes hand if none comes any more.
func (a *Arrivals) ask(hand chan time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.backlog > 0:
		a.backlog--
		hand <- a.waiting.next()
	case a.ended:
		close(hand)
	default:
		a.free = append(a.free, hand)
	}
}

// Completed implements [Turns]. As in [variants.Log], the time is taken under the mutex.
func (a *Arrivals) Completed(c *pool.Client) {
	mine := &a.serving[c.ID-a.block.First]
	a.mu.Lock()
	defer a.mu.Unlock()
	a.served = append(a.served, recorder.Served{Due: mine.due, Begun: mine.begun, Done: a.since(), Lateness: mine.lateness})
	mine.begun = 0
}

// Arrived returns how many arrivals were due until a moment that has just passed; 0 for nil, as in a load that is not open.
func (a *Arrivals) Arrived(at time.Duration) int64 {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.releaseLocked(at)
	return a.coming.taken - 1 // without the next one
}

// WindowClosed implements [Turns]. No arrival comes after the window, although faults may be undone only later. If clients do not
// serve the backlog in as much time as the window lasted, it is dropped: a burst at the end of the window could otherwise take hours.
func (a *Arrivals) WindowClosed(at time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.releaseLocked(at)
	a.until = at
	if a.ended {
		return
	}
	a.limit = time.AfterFunc(at-a.start, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.dropBacklog()
	})
}

// dropBacklog empties the backlog, and counts its arrivals that were due in the window. The caller holds the mutex.
func (a *Arrivals) dropBacklog() {
	for ; a.backlog > 0; a.backlog-- {
		if a.inWindow(a.waiting.next()) {
			a.dropped++
		}
	}
}

func (a *Arrivals) inWindow(due time.Duration) bool { return a.start <= due && due <= a.until }

// Left returns how many arrivals of the window were given up before a client began them, and how many clients are still
// serving one when a load with faults has ended: they wait for an event that cannot come.
func (a *Arrivals) Left() (givenUp, serving int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	late := list.Where(a.serving, func(s arrival) bool { return s.begun > 0 && a.inWindow(s.due) })
	a.dropBacklog()
	return a.dropped, int64(len(late))
}

// Idle implements [Turns]. It reports whether all clients are free.
func (a *Arrivals) Idle() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.free) == len(a.serving)
}

// End implements [Turns]. If the backlog has not been empty since the first half of the window, the load was beyond the clients'
// capacity, and End drops the backlog.
func (a *Arrivals) End() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = true
	for _, hand := range a.free {
		close(hand)
	}
	a.free = nil
	if a.backlog > 0 && a.nonEmpty < a.start+(a.until-a.start)/2 {
		a.dropBacklog()
	}
}

// Ending implements [Turns].
func (a *Arrivals) Ending() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

// TakeServed returns the arrivals that were served since the last call.
func (a *Arrivals) TakeServed() []recorder.Served {
	a.mu.Lock()
	defer a.mu.Unlock()
	served := a.served
	a.served = nil
	return served
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

// DueTimes is the sequence of moments at which the arrivals of an open load are due. Two sequences with the same parameters
// and the same end of the warm-up are equal.
type DueTimes struct {
	levels levels     // the levels from begun on, in arrivals per nanosecond
	random *rand.Rand // nil if arrivals are due at equal distances
	count  int64
	taken  int64 // arrivals that next has returned, of the block
	block  pool.Block
	begun  time.Duration // when the first piece of levels began
	passed float64       // the integral of the rate up to begun
	due    float64       // the integral of the rate up to the arrival that next returned last
}

// newDueTimes returns the arrivals of a rate with these levels. The seeds are for arrivals that are independent of each other.
func newDueTimes(start time.Duration, perSecond levels, how string, seed, repeat uint64) *DueTimes {
	d := &DueTimes{begun: start, levels: perSecond.times(1 / float64(time.Second))}
	if how == scenarios.Poisson {
		d.random = rand.New(rand.NewPCG(seed, repeat))
	}
	return d
}

// DueTimesOf returns the sequence of an open load's arrivals, each of which is a step with a number of operations. All
// variants have the same sequence in one repeat.
func DueTimesOf(s scenarios.Scenario, rate results.Rate, repeat, operations int) func(start time.Duration) *DueTimes {
	rates := steady(float64(rate))
	if len(s.Stages) > 0 {
		stages := levelsOf(s.Stages)
		rates = append(steady(stages[0].from), stages...) // the warm-up lasts until the window opens
	}
	return func(start time.Duration) *DueTimes {
		return newDueTimes(start, rates.times(1/float64(operations)), s.Arrivals, s.Seed, uint64(repeat))
	}
}

// endWarmUp ends the warm-up, which is the first of several pieces, and returns when the next arrival is due now: earlier
// than before if the rate from here on is higher. All arrivals before that one were due in the warm-up.
func (d *DueTimes) endWarmUp(at time.Duration) time.Duration {
	if len(d.levels) > 1 && d.levels[0].length == 0 {
		d.levels[0].length = max(at-d.begun, 1)
	}
	return d.last()
}

// next returns when the block's next arrival is due.
func (d *DueTimes) next() time.Duration {
	d.skip()
	for d.block.Of > 1 && (d.count-1)%int64(d.block.Of) != int64(d.block.Index) {
		d.skip()
	}
	d.taken++
	return d.last()
}

// skip goes on to the next arrival, which is due when the integral of the rate has grown by 1, or by an exponentially distributed number.
func (d *DueTimes) skip() {
	d.count++
	if d.random == nil {
		d.due = float64(d.count) // a sum of rounded distances would drift
	} else {
		d.due += d.random.ExpFloat64()
	}
}

// last returns the due time of the arrival that next returned last.
func (d *DueTimes) last() time.Duration {
	for d.due-d.passed > d.levels[0].area() {
		d.passed += d.levels[0].area()
		d.begun += d.levels[0].length
		d.levels = d.levels[1:]
	}
	// The integral of the level reaches the rest of the area at the solution of a quadratic equation. Of its two forms, this one is
	// exact for a slope of 0, too.
	p, area := d.levels[0], d.due-d.passed
	root := math.Sqrt(max(p.from*p.from+2*p.slope()*area, 0))
	return d.begun + time.Duration(math.Round(2*area/(p.from+root)))
}
