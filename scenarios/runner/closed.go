package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/variants"
)

// observation is what a mode hands back: the window that counts, what the sessions did in it, and the readings of the
// accounts at rest before and after.
type observation struct {
	start, end  time.Duration
	counts      wire.Counts
	begin, rest reading
	heap        *results.Heap // if it was to be measured
	frozen      span          // in which the servers stood still for that
}

// between is the observation of everything between two readings.
func between(begin, end reading) observation {
	counts := end.client
	counts.Sub(begin.client)
	return observation{start: begin.at, end: end.at, counts: counts, begin: begin, rest: end}
}

// free holds for a fixed time.
func free(hold time.Duration) func(*member) holdFunc {
	return func(*member) holdFunc {
		return func(ctx context.Context, lost <-chan struct{}) error { return variants.WaitFor(ctx, lost, hold) }
	}
}

// runOperations lets every client do a number of operations after a warm-up, with a rest in between, so that the
// counts belong to whole operations.
func (m *measurement) runOperations(ctx context.Context) (observation, error) {
	m.crowd.setHold(free(time.Duration(m.scenario.Hold)))
	if m.scenario.WarmUp > 0 {
		if err := m.loop(ctx, 0, m.warmUp); err != nil {
			return observation{}, err
		}
	}
	begin, err := m.begin(ctx)
	if err != nil {
		return observation{}, err
	}
	if err := m.loop(ctx, m.scenario.Operations, nil); err != nil {
		return observation{}, err
	}
	end, err := m.quiesce(ctx)
	return between(begin, end), err
}

// warmUp lets a load run for as long as the scenario warms up. ctx is the load's own, which ends when a client fails.
func (m *measurement) warmUp(ctx context.Context) error {
	return sleep(ctx, time.Duration(m.scenario.WarmUp))
}

// runDuration lets every client loop and cuts the window out of the running load: a load that starts and ends with the
// window would mix the steady state with crowds that gather and thin out. The accounts are compared over the whole,
// which begins and ends at rest.
func (m *measurement) runDuration(ctx context.Context) (observation, error) {
	m.crowd.setHold(free(time.Duration(m.scenario.Hold)))
	begin, err := m.begin(ctx)
	if err != nil {
		return observation{}, err
	}
	var o observation
	err = m.loop(ctx, 0, func(ctx context.Context) error {
		if err := m.warmUp(ctx); err != nil {
			return err
		}
		before := m.crowd.counts()
		o.start = m.crowd.since()
		if err := sleep(ctx, time.Duration(m.scenario.Duration)); err != nil {
			return err
		}
		o.end = m.crowd.since()
		o.counts = m.crowd.counts()
		o.counts.Sub(before)
		return nil
	})
	if err != nil {
		return observation{}, err
	}
	o.begin = begin
	o.rest, err = m.quiesce(ctx)
	return o, err
}

// loop lets every member work: for a number of operations each or, with zero, until conduct returns. Whoever is in the
// middle of an operation then finishes it.
func (m *measurement) loop(ctx context.Context, operations int, conduct func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	group, ctx := errgroup.WithContext(ctx)
	rounds := newRounds(operations, m.recipe.Collective)
	if m.atMost > 0 {
		rounds.until = time.Now().Add(m.atMost)
	}
	var steps atomic.Int64
	stop := m.watchProgress(&steps, cancel)
	defer stop()
	for _, member := range m.crowd.members {
		group.Go(func() error {
			for i := 0; rounds.begin(i); i++ {
				if err := member.step(ctx); err != nil {
					return member.explain(err)
				}
				steps.Add(1)
				if err := sleep(ctx, time.Duration(m.scenario.Think)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if conduct != nil {
		group.Go(func() error {
			defer rounds.end()
			return conduct(ctx)
		})
	}
	err := group.Wait()
	if cause := context.Cause(ctx); errors.Is(cause, ErrStuck) {
		return cause
	}
	return err
}

// rounds says how often each member steps.
type rounds struct {
	collective bool
	mu         sync.Mutex
	started    int // the most that any member has begun
	limit      int
	until      time.Time // after it no member begins another step, unless others wait for it; zero means never
}

// newRounds returns rounds that go on until they are ended, if limit is zero.
func newRounds(limit int, collective bool) *rounds {
	if limit == 0 {
		limit = math.MaxInt
	}
	return &rounds{limit: limit, collective: collective}
}

// begin tells whether a member may begin another step, after so many.
func (r *rounds) begin(done int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.until.IsZero() && time.Now().After(r.until) {
		r.close()
	}
	if done >= r.limit {
		return false
	}
	r.started = max(r.started, done+1)
	return true
}

// end keeps all members from beginning another step, unless others wait for it in theirs.
func (r *rounds) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.close()
}

// close does what end does; the caller has the mutex.
func (r *rounds) close() {
	r.limit = 0
	if r.collective {
		r.limit = r.started
	}
}

// ErrStuck is wrapped by the error of a load that has come to a standstill, which is the fault of the recipe.
var ErrStuck = errors.New("a wake-up was lost or a lock was left behind")

// watchProgress cancels a load in which no step has been completed between two ticks, until stop is called. The ticks are
// as far apart as a step may take.
func (m *measurement) watchProgress(steps *atomic.Int64, cancel context.CancelCauseFunc) (stop func()) {
	patience := m.patience + time.Duration(m.scenario.Hold) + time.Duration(m.scenario.Think)
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(patience)
		defer ticker.Stop()
		ticks := cmp.Or(m.ticks, ticker.C)
		for last := int64(-1); ; {
			select {
			case <-done:
				return
			case <-ticks:
			}
			now := steps.Load()
			if now == last {
				cancel(fmt.Errorf("no operation completed within %s: %w", patience, ErrStuck))
			}
			last = now
		}
	})
	return func() { close(done); watching.Wait() }
}

// sleep waits for d or for ctx, whichever is first.
func sleep(ctx context.Context, d time.Duration) error { return variants.WaitFor(ctx, nil, d) }
