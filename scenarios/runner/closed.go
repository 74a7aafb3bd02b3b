package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
)

// hold lets a client of a closed load hold for the scenario's hold time.
func (m *measurement) hold(c *client) holdFunc {
	return func(ctx context.Context, l *life, asked <-chan struct{}) error {
		c.settled.Store(true)
		m.held.Add(1)
		return l.pause(ctx, asked, m.scenario.Hold)
	}
}

// closedMode returns the mode of a closed load, which ends after a number of operations or after a duration.
func closedMode(s scenarios.Scenario) mode {
	if s.Operations > 0 {
		return operationsMode{}
	}
	return durationMode{}
}

// closed is the part that both closed modes share.
type closed struct{}

func (closed) cost(v variants.Variant) variants.Cost { return v.Free }

// operationsMode lets every client complete a number of operations after a warm-up, with a rest in between, so that the
// counts belong to whole operations.
type operationsMode struct{ closed }

func (operationsMode) rehearsal(m *measurement) bool {
	m.scenario.WarmUp, m.atMost = 0, rehearsalLength
	return true
}

func (operationsMode) run(ctx context.Context, m *measurement) (observation, error) {
	m.pool.setHold(m.faults.hold(m.hold))
	if m.scenario.WarmUp > 0 {
		if err := m.loop(ctx, m.rounds(0), m.warmUp); err != nil {
			return observation{}, err
		}
	}
	begin, err := m.begin(ctx)
	if err != nil {
		return observation{}, err
	}
	m.faults.start(ctx)
	if err := m.loop(ctx, m.rounds(m.scenario.Operations), nil); err != nil {
		return observation{}, err
	}
	m.stream.closeWindow()
	if err := m.faults.finish(ctx); err != nil {
		return observation{}, err
	}
	end, err := m.snapshotAtRest(ctx)
	return between(begin, end), err
}

// durationMode lets every client loop and cuts the window out of the running load. A load that started and ended with the
// window would mix the steady state with clients that start one after another and finish one after another. The accounts
// are compared over the whole load, which begins and ends at rest.
type durationMode struct{ closed }

func (durationMode) rehearsal(m *measurement) bool {
	m.scenario.Stages = nil // the rate and the clients are those of the highest one
	m.scenario.WarmUp, m.scenario.Duration = 0, min(m.scenario.Duration, rehearsalLength)
	return true
}

func (durationMode) run(ctx context.Context, m *measurement) (o observation, err error) {
	run := ctx
	m.pool.setHold(m.faults.hold(m.hold))
	if o.begin, err = m.firstSnapshot(ctx); err != nil {
		return observation{}, err
	}
	turns := m.loopTurns()
	err = m.loop(ctx, turns, func(ctx context.Context) error {
		if _, _, err := m.cutWindow(run, ctx, turns, &o); err != nil {
			return err
		}
		return m.faults.finish(ctx)
	})
	if err != nil {
		return observation{}, err
	}
	o.end, err = m.snapshotAtRest(ctx)
	return o, err
}

// cutWindow cuts the window out of a running load, after the warm-up, and returns when it began and ended. The schedule of faults
// begins with the window. run is the context of the whole run, and ctx that of the load. If one of them ends, so does the window, so
// that the part until then can be kept. Where a breach is expected, [measurement.endByBreach] decides about a load that has failed.
func (m *measurement) cutWindow(run, ctx context.Context, turns turns, o *observation) (start, end time.Duration, err error) {
	if err := m.warmUp(ctx); err != nil {
		return 0, 0, err
	}
	start, _ = m.stream.openWindow()
	arrived := m.arrivals.arrived(start)
	turns.windowOpened(start)
	m.faults.start(ctx)
	err = sleep(ctx, m.scenario.Duration)
	if err != nil && run.Err() == nil && m.scenario.ExpectsBreach(m.variant) {
		return 0, 0, err
	}
	end, counts, cut := m.stream.cutWindow()
	if cut {
		m.part = &part{counts: counts, arrived: m.arrivals.arrived(end) - arrived}
	}
	o.counts = counts
	return start, end, err
}

// warmUp waits while the load runs, for the scenario's warm-up time. ctx ends when a client fails.
func (m *measurement) warmUp(ctx context.Context) error {
	return sleep(ctx, m.scenario.WarmUp)
}

// loop lets every client take its turns, until these end by themselves or until the function until returns. A client that is in an
// operation then finishes it.
func (m *measurement) loop(ctx context.Context, turns turns, until func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	group, ctx := errgroup.WithContext(ctx)
	var steps atomic.Int64
	for _, c := range m.pool.clients {
		c.stopped.Store(false)
	}
	defer m.watchProgress(&steps, turns, cancel)()
	defer m.watchStandstill(ctx, &steps, cancel)()
	for i, c := range m.pool.clients {
		if err := m.paceStart(ctx, i); err != nil {
			break // a client has failed, or the load is over
		}
		group.Go(func() error { return m.work(ctx, c, turns, &steps) })
	}
	if until != nil {
		group.Go(func() error {
			defer turns.end()
			return until(ctx)
		})
	}
	err := group.Wait()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errJudged):
		return nil
	case errors.Is(cause, ErrStuck), errors.Is(cause, errStandstill):
		return cause
	}
	return err
}

// work lets a client take its steps, with a pause after each.
func (m *measurement) work(ctx context.Context, c *client, turns turns, steps *atomic.Int64) error {
	defer c.stopped.Store(true)
	failures, first := 0, c.round(0)
	for i := 0; turns.begin(ctx, c, i); {
		err := m.step(ctx, c)
		if err != nil {
			failures++
			if err := m.recover(ctx, c, failures, err); err != nil {
				return err
			}
			i = c.round(first+i) - first
			continue
		}
		failures = 0
		c.completed++
		turns.completed(c)
		c.settled.Store(true)
		i = c.round(first+i+1) - first
		steps.Add(1)
		if err := sleep(ctx, m.scenario.Think); err != nil {
			return err
		}
	}
	return nil
}

// round returns the number of the client's next step: that of the group's round, if its recipe has them, else the given one.
func (c *client) round(otherwise int) int {
	if r, ok := c.participant.(variants.Rounded); ok {
		return int(r.Round())
	}
	return otherwise
}

// turns decides when clients take a step.
type turns interface {
	// begin waits until a client that has taken a number of steps may begin another one. It reports whether the client may.
	begin(ctx context.Context, c *client, taken int) bool
	// windowOpened is called when the warm-up is over, with the moment at which the window began.
	windowOpened(at time.Duration)
	// completed is called when a client has taken a step.
	completed(c *client)
	// end keeps clients from beginning another step, except for those that they owe to each other or to arrivals.
	end()
	// idle reports whether no step is due, so that none can be completed.
	idle() bool
	// ending reports whether end was called, or the turns have ended by themselves.
	ending() bool
}

// rounds lets each client begin the next step when the last one is done, for a number of steps.
type rounds struct {
	done       *atomic.Int64 // counts completed steps; nil unless their number was given in advance
	collective bool          // a step needs all clients, so that each client must take equally many
	mu         sync.Mutex
	started    int       // the largest number of steps that any client has begun
	limit      int       // the number of steps of each client
	until      time.Time // when the rounds end by themselves; zero means never
}

// rounds returns the turns of a closed load with a number of steps of each client; zero means that they go on until end.
func (m *measurement) rounds(operations int) *rounds {
	r := newRounds(operations, m.recipe.Collective)
	if operations > 0 {
		r.done = &m.done
	}
	if m.atMost > 0 {
		r.until = time.Now().Add(m.atMost)
	}
	return r
}

// newRounds returns rounds with a limit of steps for each client. Zero means that they go on until end.
func newRounds(limit int, collective bool) *rounds {
	if limit == 0 {
		limit = math.MaxInt
	}
	return &rounds{limit: limit, collective: collective}
}

// begin reports whether a client that has done so many steps may begin another one.
func (r *rounds) begin(_ context.Context, _ *client, done int) bool {
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

// windowOpened implements [turns].
func (*rounds) windowOpened(time.Duration) {}

// completed implements [turns].
func (r *rounds) completed(*client) {
	if r.done != nil {
		r.done.Add(1)
	}
}

// end keeps all clients from beginning another step. A step of a collective recipe that one client has begun is still taken
// by all, as they wait for each other in it.
func (r *rounds) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.close()
}

// idle implements [turns].
func (*rounds) idle() bool { return false }

// ending reports whether clients are not to begin any number of further steps.
func (r *rounds) ending() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limit < math.MaxInt
}

// close is end for callers that hold the mutex.
func (r *rounds) close() {
	r.limit = 0
	if r.collective {
		r.limit = r.started
	}
}

// ErrStuck is wrapped by the error of a load that no longer makes progress, which is a fault of the recipe.
var ErrStuck = errors.New("a wake-up was lost or a lock was left behind")

// errJudged is the cause of the end of a load with faults in which clients still waited when they could no longer be served.
var errJudged = errors.New("clients wait in vain")

// watchProgress cancels a load in which no client completes a step or begins to hold between two ticks. A step of several
// operations may take long, and its client holds between them. The ticks are as far apart as the longest wait that is
// accepted. The caller ends the watching with stop.
func (m *measurement) watchProgress(steps *atomic.Int64, turns turns, cancel context.CancelCauseFunc) (stop func()) {
	patience := m.patience + m.scenario.Hold + m.scenario.Think
	done := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(patience)
		defer ticker.Stop()
		for last := int64(-1); ; {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			now := steps.Load() + m.held.Load()
			switch {
			case turns.idle():
				now = -1 // a step that begins now has until the next tick but one
			case now != last:
			case m.faults == nil:
				cancel(fmt.Errorf("no operation completed within %s: %w", patience, ErrStuck))
			case turns.ending():
				m.faults.judge()
				cancel(errJudged)
			}
			last = now
		}
	})
	return func() { close(done); watching.Wait() }
}

// sleep waits for d or for ctx, whichever is first.
func sleep(ctx context.Context, d time.Duration) error { return variants.WaitFor(ctx, d, nil, nil) }
