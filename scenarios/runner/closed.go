package runner

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/load"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

func (m *measurement) hold(ctx context.Context, c *pool.Client, l *pool.Life, asked <-chan struct{}) error {
	c.Settled.Store(true)
	m.held.Add(1)
	return l.Pause(ctx, asked, m.scenario.Hold)
}

// rehearsalLength bounds the load of a rehearsal: some thousand requests, after which servers have compiled the code that they use most.
const rehearsalLength = time.Second

// shorten lets a load only warm up the servers; rounds limits one of a number of operations. All clients loop even if the load is
// open: at a low rate, servers would get too few requests to warm up.
func shorten(s *scenarios.Scenario) {
	if s.Mode != scenarios.Lockstep && s.Operations == 0 {
		s.Mode, s.Stages = scenarios.Closed, nil // the highest stage's number of clients stays
	}
	s.WarmUp, s.Duration, s.AtMost = 0, min(s.Duration, rehearsalLength), min(s.AtMost, rehearsalLength)
}

// applyOperations lets every client complete a number of operations, after a warm-up and a rest, so that counts belong to whole operations.
func (m *measurement) applyOperations(ctx context.Context) (observation, error) {
	m.pool.Hold = m.injector.Hold(m.hold)
	if m.scenario.WarmUp > 0 {
		warmUp := func(ctx context.Context) error { return pool.Sleep(ctx, m.scenario.WarmUp) }
		if err := m.loop(ctx, m.rounds(0), new(atomic.Int64), warmUp); err != nil {
			return observation{}, err
		}
	}
	if err := m.firstSnapshot(ctx); err != nil {
		return observation{}, err
	}
	m.stream.openWindow()
	m.injector.Start(ctx)
	if err := m.loop(ctx, m.rounds(m.scenario.Operations), &m.done, nil); err != nil {
		return observation{}, err
	}
	m.stream.closeWindow()
	if err := m.injector.Finish(ctx); err != nil {
		return observation{}, err
	}
	return m.observeAtRest(ctx)
}

// applyDuration lets every client loop and cuts the window out of the running load. One that started and ended with the window would mix
// the steady state with clients that start and finish one after another. The cross-check covers the whole load, which begins and ends at
// rest.
//
// In an open load, no operation arrives after the window, and clients serve the backlog. They may take as long as the window for
// it. If the load was beyond their capacity, the backlog is dropped.
func (m *measurement) applyDuration(ctx context.Context) (o observation, err error) {
	m.pool.Hold = m.injector.Hold(m.hold)
	if err := m.firstSnapshot(ctx); err != nil {
		return observation{}, err
	}
	turns, stop := m.loopTurns(ctx)
	defer stop()
	err = m.loop(ctx, turns, new(atomic.Int64), func(loop context.Context) error {
		if err := m.cutWindow(ctx, loop, turns, &o); err != nil {
			return err
		}
		return m.injector.Finish(loop)
	})
	if err != nil {
		return observation{}, err
	}
	if m.isOpen() {
		o.unserved.GivenUp, o.unserved.Begun = m.arrivals.Left()
	}
	o.end, err = m.snapshotAtRest(ctx)
	return o, err
}

func (m *measurement) isOpen() bool { return m.scenario.Mode == scenarios.Open }

// cutWindow cuts the window out of a running load, after the warm-up. The schedule of faults begins with the window. run is the
// context of the whole run, and ctx is the context of the load. If one of them ends, the window ends too, so that the part until
// then can be kept. If a breach is expected and the load has failed, the window stays open, and [measurement.endByBreach] decides.
func (m *measurement) cutWindow(run, ctx context.Context, turns load.Turns, o *observation) error {
	// A nanosecond more: in virtual time, clients act at the instants at which the window would begin and end, and the stream would take
	// events of one client without those of another that caused them.
	if err := pool.Sleep(ctx, m.scenario.WarmUp+time.Nanosecond); err != nil {
		return err
	}
	start, _ := m.stream.openWindow()
	arrived := m.arrivals.Arrived(start)
	turns.WindowOpened(start)
	m.injector.Start(ctx)
	err := pool.Sleep(ctx, m.scenario.Duration)
	if err != nil && run.Err() == nil && m.scenario.ExpectsBreach(m.variant) {
		return err
	}
	end, counts, cut := m.stream.cutWindow()
	if cut {
		m.part = &observation{counts: counts, partial: true, unserved: recorder.Unserved{Begun: m.arrivals.Arrived(end) - arrived}}
	}
	turns.WindowClosed(end)
	o.counts = counts
	return err
}

// loop lets every client take its turns until they end, or until the function until returns, and counts their steps. Clients finish the
// operation that they are in.
func (m *measurement) loop(ctx context.Context, turns load.Turns, steps *atomic.Int64, until func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range m.pool.Clients {
		c.Stopped.Store(false)
	}
	defer m.watchProgress(steps, turns, cancel)()
	defer m.watchStandstill(ctx, steps, cancel)()
	for i, c := range m.pool.Clients {
		if err := m.paceStart(ctx, i); err != nil {
			break // a client has failed, or the load is over
		}
		group.Go(func() error { return m.work(ctx, c, turns, steps) })
	}
	if until != nil {
		group.Go(func() error {
			defer turns.End()
			return until(ctx)
		})
	}
	err := group.Wait()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errWaitsInVain):
		return nil
	case errors.Is(cause, ErrStuck), errors.Is(cause, errSlow), errors.Is(cause, errStandstill):
		return cause
	}
	return err
}

// settlesWithin is how long the pacing of starts waits for a client that may never wait for a watch, such as one that polls.
const settlesWithin = time.Second

// paceStart delays the first operation of a client of a large load until at most pool.Parallel earlier clients are between their
// start and their first wait. If 10,000 clients entered a line at once, each of them would list all others at the same time:
// that takes gigabytes in zkbench and in the servers, and delays heartbeats until sessions are lost.
func (m *measurement) paceStart(ctx context.Context, client int) error {
	if m.faulty() || m.isOpen() || len(m.pool.Clients) < scenarios.CrowdOfStarts || client < pool.Parallel {
		return ctx.Err()
	}
	before := m.pool.Clients[client-pool.Parallel]
	waiting := func() bool { return !before.Settled.Load() && !before.AtRest() }
	for begun := time.Now(); ctx.Err() == nil && waiting() && time.Since(begun) < settlesWithin; {
		_ = pool.Sleep(ctx, time.Millisecond)
	}
	return ctx.Err()
}

// work lets a client take its steps, with the scenario's think time after each.
func (m *measurement) work(ctx context.Context, c *pool.Client, turns load.Turns, steps *atomic.Int64) error {
	defer c.Stopped.Store(true)
	failures, first, certain := 0, roundOf(c, 0), false
	for i := 0; certain || turns.Begin(ctx, c, i); {
		certain = lookAhead(ctx, c, turns, i)
		err := c.Step(ctx, m.faulty())
		if err != nil {
			failures++
			if err := m.recover(ctx, c, failures, err); err != nil {
				return err
			}
			i = roundOf(c, first+i) - first
			continue
		}
		failures = 0
		c.Completed++
		turns.Completed(c)
		c.Settled.Store(true)
		i = roundOf(c, first+i+1) - first
		steps.Add(1)
		if err := pool.Sleep(ctx, m.scenario.Think); err != nil {
			return err
		}
	}
	return nil
}

// lookAhead tells a participant that stands in line between steps whether it takes another step after the next one, and returns that.
// Such a step is begun although the load ends meanwhile: the participant's place in line would stop the others.
func lookAhead(ctx context.Context, c *pool.Client, turns load.Turns, taken int) bool {
	standing, ok := c.Participant.(variants.Standing)
	if !ok {
		return false
	}
	rounds, closed := turns.(*load.Rounds)
	again := closed && rounds.Begin(ctx, c, taken+1)
	standing.Returns(again)
	return again
}

// stand lets participants take their places before counting begins, unless some have no step to take yet.
func (m *measurement) stand(ctx context.Context) error {
	return m.pool.Each(func(c *pool.Client) error {
		if standing, ok := c.Participant.(variants.Standing); ok && !m.isUnforeseen() {
			return standing.Stand(ctx)
		}
		return nil
	})
}

// isUnforeseen reports whether participants that would stand in line between steps do not, as steps are due when arrivals or stages say so.
func (m *measurement) isUnforeseen() bool {
	if !m.isOpen() && len(m.scenario.Stages) == 0 {
		return false
	}
	_, standing := m.pool.Clients[0].Participant.(variants.Standing)
	return standing
}

// mostFailures bounds the operations of one client that fail in a row.
const mostFailures = 1000

// recover decides how a client continues after a step that failed. Without faults, the error ends the load. With faults, the
// failure is counted, and a client whose life is over joins again.
func (m *measurement) recover(ctx context.Context, c *pool.Client, failures int, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !m.faulty():
		return c.Explain(err)
	case failures > mostFailures:
		return c.Explain(fmt.Errorf("no operation of this client succeeds any more: %w", err))
	}
	m.stream.Note(m.stream.recorder.FailedOperation)
	if c.Over() {
		if m.recipe.IsFixed(m.variant) { // the faults of its scenarios do not end sessions, but a server that is slow to come back does
			return c.Explain(errors.New("a client's session was lost, and no client of this recipe can join again: " +
				"choose a longer session-timeout, or roam"))
		}
		if err := m.pool.Rejoin(ctx, c); err != nil {
			return err
		}
		m.stream.Note(m.stream.recorder.Rejoined)
		return nil
	}
	m.pool.Report("an operation failed although its client and its session live", c.Explain(err))
	return pool.Sleep(ctx, pool.RejoinPause)
}

// roundOf returns the number of the client's next step: the group's round if the recipe has rounds, and otherwise the given number.
func roundOf(c *pool.Client, otherwise int) int {
	if r, ok := c.Participant.(variants.Rounded); ok {
		return int(r.Round())
	}
	return otherwise
}

// rounds returns the turns of a closed load. operations is the number of steps of each client; zero means until End. In a rehearsal,
// clients begin no step later than rehearsalLength.
func (m *measurement) rounds(operations int) *load.Rounds {
	r := load.NewRounds(operations, m.recipe.Collective)
	if m.repeat == 0 && operations > 0 {
		r.Until = time.Now().Add(rehearsalLength)
	}
	return r
}

// loopTurns returns turns that last until End. The caller ends what runs beside them with stop. If the scenario has stages, they
// change the rate of an open load, and otherwise the number of clients.
func (m *measurement) loopTurns(ctx context.Context) (turns load.Turns, stop func()) {
	switch {
	case m.isOpen():
		due := load.DueTimesOf(m.scenario, m.rate, m.repeat, m.recipe.BatchOf(m.scenario.Size))
		return m.arrivals, m.arrivals.Start(ctx, due)
	case len(m.scenario.Stages) > 0:
		return load.NewChangingRounds(m.rounds(0), m.scenario.Stages, m.pool.Epoch), func() {}
	default:
		return m.rounds(0), func() {}
	}
}

// ErrStuck is wrapped by the error of a load that no longer makes progress, which is a fault of the recipe.
var ErrStuck = errors.New("a wake-up was lost or a lock was left behind")

// errSlow is wrapped by the error of a load in which no operation completes although the clients send requests.
var errSlow = errors.New("clients still send requests: choose shorter operations, or correct the recipe if it repeats requests without end")

const slowTicks = 10 // in a row, at which clients send requests and complete no step

// errWaitsInVain is the cause that cancels a load with faults whose clients still wait when they can no longer be served.
var errWaitsInVain = errors.New("clients wait in vain")

// watchProgress cancels a load in which no client completes a step or begins to hold between two ticks. A step of several
// operations may take long, and its client holds between them. The ticks are as far apart as the longest wait that is
// accepted. Clients that send requests or wait for replies are slow and not stuck, and may be so for slowTicks ticks.
func (m *measurement) watchProgress(steps *atomic.Int64, turns load.Turns, cancel context.CancelCauseFunc) (stop func()) {
	patience := m.patience + m.scenario.Hold + m.scenario.Think
	last, sent, slow := int64(-1), int64(0), 0
	return pool.Every(patience, func() bool {
		now, before := steps.Load()+m.held.Load(), sent
		sent = m.pool.Traffic().Requests
		switch {
		case turns.Idle():
			now = -1 // a step that begins now has until the next tick but one
		case now != last:
			slow = 0
		case !m.faulty() && (sent != before || m.pool.Outstanding()):
			if slow++; slow == slowTicks {
				cancel(fmt.Errorf("no operation completed within %s: %w", slowTicks*patience, errSlow))
			}
		case !m.faulty():
			cancel(fmt.Errorf("no operation completed within %s: %w", patience, ErrStuck))
		case turns.Ending():
			m.concludeWaits()
			cancel(errWaitsInVain)
		}
		last = now
		return true
	})
}

// faultyPatience is the longest time after the faults in which no operation completes. After it, clients that are still at work
// are taken to wait in vain: every session that a fault cut off has expired, and elections are over.
func faultyPatience(timeout time.Duration) time.Duration { return 2*timeout + 10*time.Second }

// concludeWaits reports clients whose step does not end although all faults are over, and lets the observer conclude.
func (m *measurement) concludeWaits() {
	m.stream.conclude(func(at time.Duration) {
		var waiting int
		var longest time.Duration
		for _, c := range m.pool.Clients {
			if d := c.Does(); d.Activity != pool.Outside && !c.Present().Over() {
				waiting, longest = waiting+1, max(longest, time.Since(d.Since))
			}
		}
		if waiting == 0 {
			return
		}
		text := fmt.Sprintf("%d of %d clients still wait when all faults are over, the longest for %s: "+
			"a wake-up was lost, or what a failed client held was left behind",
			waiting, len(m.pool.Clients), longest.Round(time.Millisecond))
		m.stream.damage(variants.Damage{Loss: variants.Blocked, Amount: int64(longest), Violation: variants.Violation{At: at, Text: text}})
	})
}
