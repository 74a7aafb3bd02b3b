package runner

import (
	"context"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
)

// openMode lets operations arrive at a rate and cuts the window out of the running load. When the window ends, no further operation
// arrives, and clients serve the backlog, unless the load was beyond their capacity.
type openMode struct{ durationMode }

// rehearsal lets all clients loop: at a low rate, servers would get too few requests to warm up.
func (openMode) rehearsal(m *measurement) bool {
	m.mode, m.scenario.Mode = durationMode{}, scenarios.Closed
	return m.mode.rehearsal(m)
}

func (openMode) run(ctx context.Context, m *measurement) (o observation, err error) {
	run := ctx
	m.pool.setHold(m.faults.hold(m.hold))
	if o.begin, err = m.firstSnapshot(ctx); err != nil {
		return observation{}, err
	}
	stop := m.arrivals.start(ctx, m.dueTimes)
	defer stop()
	var start, end time.Duration
	var limit *time.Timer // of serving the backlog after the window
	err = m.loop(ctx, m.arrivals, func(ctx context.Context) (err error) {
		start, end, err = m.cutWindow(run, ctx, m.arrivals, &o)
		if err != nil {
			return err
		}
		m.arrivals.lastDue(end)
		limit = time.AfterFunc(end-start, func() { m.arrivals.giveUp(start, end) })
		err = m.faults.finish(ctx)
		m.arrivals.finish(start, end)
		return err
	})
	if limit != nil {
		limit.Stop()
	}
	if err != nil {
		return observation{}, err
	}
	o.givenUp, o.unserved = m.arrivals.left(start, end)
	o.end, err = m.snapshotAtRest(ctx)
	return o, err
}

// dueTimes returns the sequence of the measurement's arrivals, each of which is a step. All variants have the same in one repeat.
func (m *measurement) dueTimes(start time.Duration) *dueTimes {
	s := m.scenario
	perSecond := m.arrivalCourse().times(1 / float64(m.recipe.BatchOf(s.Size)))
	return newDueTimes(start, perSecond, s.Arrivals, s.Seed, uint64(m.setting.repeat))
}

// arrivals hands the arrivals of an open load to clients. A client that is free gets an arrival when it is due, the one that has been
// free for longest first. Without a free client, the arrival waits in the backlog. No arrival is dropped while the load lasts.
//
// It keeps no list of arrivals: the due times of the backlog are computed again.
type arrivals struct {
	epoch time.Time
	nap   func(time.Duration) // the last part of the wait for an arrival

	mu       sync.Mutex
	coming   *dueTimes     // of the arrivals that are not due yet
	next     time.Duration // the first of these
	waiting  *dueTimes     // of the arrivals in the backlog and of those after them
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

func newArrivals(epoch time.Time, clients int) *arrivals {
	a := &arrivals{epoch: epoch, nap: sleepPrecisely, until: math.MaxInt64, serving: make([]arrival, clients), opened: make(chan struct{})}
	for i := range a.serving {
		a.serving[i].hand = make(chan time.Duration, 1)
	}
	return a
}

func (a *arrivals) since() time.Duration { return time.Since(a.epoch) }

// start begins to hand out the arrivals of a sequence that begins now. The caller ends it with stop.
func (a *arrivals) start(ctx context.Context, sequence func(start time.Duration) *dueTimes) (stop func()) {
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
func (a *arrivals) pace(ctx context.Context) {
	runtime.LockOSThread() // sleepPrecisely blocks the thread
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
			a.nap(next - a.since())
		}
	}
}

// release hands out all arrivals that are due, and returns when the next one is. more is false when there are none any more.
func (a *arrivals) release(now time.Duration) (next time.Duration, more bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.releaseLocked(now)
	return a.next, !a.ended && a.next <= a.until
}

func (a *arrivals) releaseLocked(now time.Duration) {
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

// begin implements [turns]. A client that has failed to serve its arrival keeps it.
func (a *arrivals) begin(ctx context.Context, c *client, _ int) bool {
	mine := &a.serving[c.id]
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

// windowOpened implements [turns]: the course of a rate that changes begins.
func (a *arrivals) windowOpened(at time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting.endWarmUp(at)
	a.next = a.coming.endWarmUp(at)
	close(a.opened)
}

// take returns the due time of the first arrival in the backlog. Without one, the client waits for its hand. ok is false when
// there are no arrivals any more.
func (a *arrivals) take(hand chan time.Duration) (due time.Duration, waits, ok bool) {
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

// completed implements [turns].
//
// Note: as in [variants.Log], the time is taken under the mutex.
func (a *arrivals) completed(c *client) {
	mine := &a.serving[c.id]
	a.mu.Lock()
	defer a.mu.Unlock()
	a.served = append(a.served, recorder.Served{Due: mine.due, Begun: mine.begun, Done: a.since(), Lateness: mine.lateness})
	mine.begun = 0
}

// arrived returns how many arrivals were due up to a moment that has just passed; 0 unless the load is open.
func (a *arrivals) arrived(at time.Duration) int64 {
	if a == nil {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.releaseLocked(at)
	return a.coming.count - 1 // without the next one
}

// lastDue lets no further arrival come after the window, whose end has just passed. Faults may be undone only later.
func (a *arrivals) lastDue(end time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.releaseLocked(end)
	a.until = end
}

// finish ends the arrivals when the window has ended and all faults are undone. If the load was beyond the clients' capacity, it drops
// the backlog.
func (a *arrivals) finish(start, end time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.endLocked()
	if a.backlog > 0 && a.nonEmpty < start+(end-start)/2 {
		a.dropBacklog(start, end)
	}
}

// giveUp drops the backlog when clients have not served it within the length of a window after the window. Otherwise a burst at its end
// could take hours.
func (a *arrivals) giveUp(start, end time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dropBacklog(start, end)
}

// dropBacklog empties the backlog, and counts its arrivals that were due in the window. The caller holds the mutex.
func (a *arrivals) dropBacklog(start, end time.Duration) {
	for ; a.backlog > 0; a.backlog-- {
		if due := a.waiting.next(); start <= due && due <= end {
			a.dropped++
		}
	}
}

// left returns how many arrivals of the window were given up before a client began them, and how many clients still serve when a load
// with faults has ended: these wait for something that nothing will bring.
func (a *arrivals) left(start, end time.Duration) (givenUp, serving int64) {
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

// idle implements [turns]: all clients are free.
func (a *arrivals) idle() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.free) == len(a.serving)
}

// end implements [turns].
func (a *arrivals) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.endLocked()
}

func (a *arrivals) endLocked() {
	a.ended = true
	for _, hand := range a.free {
		close(hand)
	}
	a.free = nil
}

// ending implements [turns].
func (a *arrivals) ending() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

// takeServed appends the arrivals that were served since the last call to dst, and forgets them.
func (a *arrivals) takeServed(dst []recorder.Served) []recorder.Served {
	a.mu.Lock()
	defer a.mu.Unlock()
	dst = append(dst, a.served...)
	a.served = a.served[:0]
	return dst
}

// report returns the largest backlog since the last call, and when it was last empty.
func (a *arrivals) report(now time.Duration) recorder.Backlog {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := recorder.Backlog{Most: a.most, LastEmpty: now}
	if a.backlog > 0 {
		b.LastEmpty = min(now, a.nonEmpty)
	}
	a.most = a.backlog
	return b
}

var _ turns = (*arrivals)(nil)

// isOpen reports whether the measurement's operations arrive at a rate.
func (m *measurement) isOpen() bool { return m.scenario.Mode == scenarios.Open }
