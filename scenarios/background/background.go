// Package background puts load on the servers beside the clients of a recipe: requests of other applications, and bystanders.
//
// It takes one position: requests are due at a rate, whether or not earlier ones are answered, so that a slow server has a backlog.
package background

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// The background before the load.
const (
	// AloneLength is how long the background runs alone. Its slowdown is a multiple of its latencies in this time.
	AloneLength = 2 * time.Second
	// aloneTries is how often it may run alone until it keeps up. A pause of a server delays it once, and a rate that is too
	// high delays it more and more.
	aloneTries = 3
	// alonePoll is the time between two checks of whether it keeps up.
	alonePoll = 10 * time.Millisecond
)

// MaxOutstanding bounds the requests of all sessions that are sent and not answered, and with them the memory. Further requests
// stay due, and are sent as soon as earlier ones are answered.
const MaxOutstanding = 2000

// ErrSaturated is the error of a load that was not applied, because the background alone saturates the ensemble.
var ErrSaturated = errors.New("the background alone saturates the ensemble")

type kind int

const (
	backgroundRead kind = iota
	backgroundWrite
	kinds // the number of kinds
)

// Load is the load of sessions that take no part in the recipe. They read and write znodes of their own at fixed rates. Each
// request is sent when it is due, even if earlier ones are unanswered: no request is left out. They set no watches, so that the
// recipe's notifications stay exact.
//
// It is on between the two snapshots at rest: Start begins it after the first one, and Drain ends it before the last one. A
// background without a load does nothing.
type Load struct {
	load   results.BackgroundLoad
	epoch  time.Time
	znodes []string
	data   []byte        // the data of each write
	alone  time.Duration // see AloneLength

	sessions
	slots    []chan struct{} // by session; one holds one element for each outstanding request, and its capacity is their bound
	plans    [kinds]schedule
	until    atomic.Int64  // since the epoch; requests that are due then or later are not sent
	stopping chan struct{} // closed when until has been set
	halt     context.CancelFunc
	wait     sync.WaitGroup

	mu             sync.Mutex // guards the fields below
	started        bool
	drained        bool
	done           [kinds]int64 // answered or failed
	before, during *stretch     // what was measured before and during the load; nil at first
	current        *stretch     // nil between two stretches
	saturation     bool
}

// stretch is a part of the measurement whose requests are reported.
type stretch struct {
	start, end time.Duration // the end is the largest number while it lasts
	backlogMax int64
	kinds      [kinds]struct {
		answered, failed  int64
		response, service results.LiveHistogram
	}
}

// New returns the background of a measurement. If load is nil, it does nothing.
func New(load *results.BackgroundLoad, znodes []string, alone time.Duration) *Load {
	if load == nil {
		return &Load{}
	}
	return &Load{load: *load, znodes: znodes, data: make([]byte, load.Bytes), alone: alone, stopping: make(chan struct{})}
}

// Open opens the sessions.
func (b *Load) Open(ctx context.Context, epoch time.Time, servers []ensemble.Server) (err error) {
	b.epoch = epoch
	if b.each, err = openSessions(ctx, epoch, servers, b.load.Sessions); err != nil {
		return fmt.Errorf("background: %w", err)
	}
	for range b.each {
		b.slots = append(b.slots, make(chan struct{}, max(MaxOutstanding/b.load.Sessions, 1)))
	}
	return nil
}

// Start begins to send, and returns when the background has run alone for long enough; ErrSaturated if the ensemble does not keep up.
func (b *Load) Start(ctx context.Context) error {
	if b.load == (results.BackgroundLoad{}) {
		return nil
	}
	b.begin(context.WithoutCancel(ctx)) // until Close
	defer b.Leave()
	for range aloneTries {
		b.enter(&b.before) // replaces the stretch of a try that did not keep up
		if kept, err := b.runAlone(ctx); kept || err != nil {
			return err
		}
	}
	b.saturation = true
	return ErrSaturated
}

// runAlone lets the background run alone once, and reports whether it keeps up at some moment of the second half.
//
// Note: a check at the end only could fall into a delay of a machine that is short of CPU. Between delays the background keeps
// up, unless it is too much for the servers.
func (b *Load) runAlone(ctx context.Context) (kept bool, err error) {
	before, start := b.progress(), time.Now()
	if err := pool.Sleep(ctx, b.alone/2); err != nil {
		return false, err
	}
	for {
		kept = kept || b.progress().keepsUp(before)
		left := b.alone - time.Since(start)
		if left <= 0 {
			return kept, nil
		}
		if err := pool.Sleep(ctx, min(alonePoll, left)); err != nil {
			return false, err
		}
	}
}

func (b *Load) begin(ctx context.Context) {
	ctx, b.halt = context.WithCancel(ctx)
	b.until.Store(math.MaxInt64)
	start := time.Since(b.epoch)
	b.started = true
	for k, rate := range [kinds]int{backgroundRead: b.load.Reads, backgroundWrite: b.load.Writes} {
		if rate == 0 {
			continue
		}
		b.plans[k] = newSchedule(start, rate, float64(k)/float64(kinds))
		for i := range b.each {
			b.wait.Go(func() { b.send(ctx, kind(k), i) })
		}
	}
}

// send sends every request of a kind whose turn falls to the session, when the request is due.
func (b *Load) send(ctx context.Context, k kind, session int) {
	conn, slots := b.each[session].conn, b.slots[session]
	for i := session; ; i += len(b.each) {
		due := b.plans[k].due(i)
		err := variants.WaitFor(ctx, due-time.Since(b.epoch), b.stopping, nil)
		if err != nil || due >= time.Duration(b.until.Load()) {
			return
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		path := b.znodes[i%len(b.znodes)]
		b.wait.Go(func() {
			defer func() { <-slots }()
			sent := time.Since(b.epoch)
			var err error
			if k == backgroundRead {
				_, _, err = conn.Get(path)
			} else {
				_, err = conn.Set(path, b.data, -1)
			}
			if ctx.Err() == nil {
				b.record(k, due, sent, err)
			}
		})
	}
}

// record counts a request that has ended. The time is taken under the mutex, so that it belongs to the current stretch.
func (b *Load) record(k kind, due, sent time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Since(b.epoch)
	b.measureBacklog(now)
	b.done[k]++
	if b.current != nil && err == nil {
		b.current.kinds[k].answered++
	}
	for _, s := range []*stretch{b.before, b.during} {
		if s == nil || due < s.start || due >= s.end {
			continue
		}
		if err != nil {
			s.kinds[k].failed++
			continue
		}
		s.kinds[k].response.Add(now - due)
		s.kinds[k].service.Add(now - sent)
	}
}

// due returns how many requests of a kind are due before a time.
func (b *Load) due(k kind, before time.Duration) int64 {
	plan := b.plans[k]
	before = min(before, time.Duration(b.until.Load()))
	if plan.interval == 0 || before <= plan.start {
		return 0
	}
	return int64((before-plan.start-1)/plan.interval) + 1
}

// measureBacklog updates the largest backlog of the current stretch. The mutex is locked.
func (b *Load) measureBacklog(now time.Duration) {
	if b.current == nil {
		return
	}
	var backlog int64
	for k := range kinds {
		backlog += b.due(k, now) - b.done[k]
	}
	b.current.backlogMax = max(b.current.backlogMax, backlog)
}

// progress counts the requests that are due and done at one moment.
type progress struct{ due, done [kinds]int64 }

func (b *Load) progress() progress {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := progress{done: b.done}
	now := time.Since(b.epoch)
	for k := range kinds {
		p.due[k] = b.due(k, now)
	}
	return p
}

// keepsUp reports, for all kinds, whether the requests done since an earlier moment are nearly as many as those that became
// due, or the backlog has not grown.
func (p progress) keepsUp(before progress) bool {
	for k := range kinds {
		offered, achieved := p.due[k]-before.due[k], p.done[k]-before.done[k]
		if float64(achieved) < doubts.KeptUp*float64(offered) && p.due[k]-p.done[k] > before.due[k]-before.done[k] {
			return false
		}
	}
	return true
}

// EnterWindow begins the stretch of the window, which lasts until Leave.
func (b *Load) EnterWindow() { b.enter(&b.during) }

func (b *Load) enter(which **stretch) {
	if !b.started {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current = &stretch{start: time.Since(b.epoch), end: math.MaxInt64}
	*which = b.current
}

// Leave ends the current stretch.
func (b *Load) Leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.current == nil {
		return
	}
	b.current.end = time.Since(b.epoch)
	b.measureBacklog(b.current.end)
	b.current = nil
}

// Close stops sending at once, and closes the sessions. Requests under way fail.
func (b *Load) Close() {
	if b.halt != nil {
		b.halt()
	}
	closeAll(b.each) // ends the requests under way
	b.wait.Wait()
}

// Saturates reports whether the ensemble did not keep up with the background alone.
func (b *Load) Saturates() bool { return b.saturation }

// drainPatience is the longest time after the load in which no request of the background is answered or fails. It is long
// enough for requests to a silent server to fail. All remaining requests together may take longer.
const drainPatience = time.Minute

// Drain stops the background, and returns when every request that was due has been sent and has been answered or has failed.
func (b *Load) Drain(ctx context.Context) error {
	if !b.started || b.drained {
		return nil
	}
	b.drained = true
	b.mu.Lock()
	b.until.Store(int64(time.Since(b.epoch)))
	b.mu.Unlock()
	close(b.stopping)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	finished := func() int64 {
		done := b.progress().done
		return list.Sum(done[:])
	}
	defer pool.WhileGrowing(finished, drainPatience, func(finished int64) {
		due := b.progress().due
		cancel(fmt.Errorf("%d requests of the background are left after the load, and none was answered or failed within %s",
			list.Sum(due[:])-finished, drainPatience))
	})()
	done := make(chan struct{})
	go func() { b.wait.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Report returns the latencies and the failures of the requests. It returns nil without a background, or if the load ended before
// the background began. It must be called after Close.
func (b *Load) Report() *results.Background {
	if !b.started {
		return nil
	}
	out := &results.Background{Alone: b.reportStretch(b.before)}
	if !b.saturation {
		out.During = new(b.reportStretch(b.during))
	}
	return out
}

func (b *Load) reportStretch(s *stretch) results.BackgroundStretch {
	return results.BackgroundStretch{
		Start: s.start, End: s.end, BacklogMax: s.backlogMax, Read: b.reportKind(s, backgroundRead), Write: b.reportKind(s, backgroundWrite),
	}
}

func (b *Load) reportKind(s *stretch, k kind) results.BackgroundRequests {
	of := &s.kinds[k]
	return results.BackgroundRequests{
		Due: b.due(k, s.end) - b.due(k, s.start), Answered: of.answered, Failed: of.failed,
		Response: of.response.Encode(), Service: of.service.Encode(),
	}
}
