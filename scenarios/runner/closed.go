package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/block"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// shorten lets a load only warm up the servers; rounds limits one of a number of operations. All clients loop even if the load is
// open: at a low rate, servers would get too few requests to warm up.
func shorten(s *scenarios.Scenario) {
	if s.Mode != scenarios.Lockstep && s.Operations == 0 {
		s.Mode, s.Stages = scenarios.Closed, nil // the highest stage's number of clients stays
	}
	s.WarmUp, s.Duration, s.AtMost = 0, min(s.Duration, block.RehearsalLength), min(s.AtMost, block.RehearsalLength)
}

// applyOperations lets every client complete a number of operations, after a warm-up and a rest, so that counts belong to whole operations.
func (m *measurement) applyOperations(ctx context.Context) (observation, error) {
	if m.scenario.WarmUp > 0 {
		warmUp := func(ctx context.Context) error { return pool.Sleep(ctx, m.scenario.WarmUp) }
		if err := m.loop(ctx, block.Load{}, warmUp); err != nil {
			return observation{}, err
		}
	}
	if err := m.firstSnapshot(ctx); err != nil {
		return observation{}, err
	}
	m.stream.openWindow()
	m.injector.Start(ctx)
	if err := m.loop(ctx, block.Load{Operations: m.scenario.Operations}, m.endOfRehearsal()); err != nil {
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
	if err := m.firstSnapshot(ctx); err != nil {
		return observation{}, err
	}
	err = m.loop(ctx, block.Load{Staged: true}, func(loop context.Context) error {
		if err := m.cutWindow(ctx, loop, &o); err != nil {
			return err
		}
		return m.injector.Finish(loop)
	})
	if err != nil {
		return observation{}, err
	}
	o.end, err = m.snapshotAtRest(ctx)
	return o, err
}

// cutWindow cuts the window out of a running load, after the warm-up. The schedule of faults begins with the window. run is the
// context of the whole run, and ctx is the context of the load. If one of them ends, the window ends too, so that the part until
// then can be kept. If a breach is expected and the load has failed, the window stays open, and [measurement.endByBreach] decides.
func (m *measurement) cutWindow(run, ctx context.Context, o *observation) error {
	// A nanosecond more: in virtual time, clients act at the instants at which the window would begin and end, and the stream would take
	// events of one client without those of another that caused them.
	if err := pool.Sleep(ctx, m.scenario.WarmUp+time.Nanosecond); err != nil {
		return err
	}
	start := m.stream.openWindow()
	arrived := m.crew.window(block.Edge{At: start})
	m.injector.Start(ctx)
	err := pool.Sleep(ctx, m.scenario.Duration)
	if err != nil && run.Err() == nil && m.scenario.ExpectsBreach(m.variant) {
		return err
	}
	end, counts, cut := m.stream.cutWindow()
	if due := m.crew.window(block.Edge{At: end, End: true}) - arrived; cut {
		m.part = &observation{counts: counts, partial: true, unserved: recorder.Unserved{Begun: due}}
	}
	o.counts = counts
	return err
}

// endOfRehearsal ends a rehearsal of a number of operations in several blocks together; nil for other loads.
func (m *measurement) endOfRehearsal() func(context.Context) error {
	if m.repeat > 0 || !m.crew.spread {
		return nil
	}
	return func(ctx context.Context) error { return pool.Sleep(ctx, block.RehearsalLength) }
}

// startDelay is how long before its start all workers hear of a load, so that they begin at the same moment.
const startDelay = 50 * time.Millisecond

// loop lets every client take its turns until they end, or until the function until returns. Clients finish the operation that they are in.
func (m *measurement) loop(ctx context.Context, l block.Load, until func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	group, ctx := errgroup.WithContext(ctx)
	if m.crew.spread {
		l.Start = m.crew.Since() + startDelay
	}
	m.crew.tell(func(p block.Part) { p.Begin(l) })
	m.counting.Store(l.Operations > 0)
	defer m.watchProgress(cancel)()
	defer m.watchStandstill(ctx, cancel)()
	for _, p := range m.crew.parts {
		group.Go(func() error { return p.Run(ctx) })
	}
	if until != nil {
		group.Go(func() error {
			defer m.crew.endLoad(m.recipe.Collective)
			_ = m.crew.all(func(p block.Part) error { return p.Started(ctx) }) // an error ends the load
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
func (m *measurement) watchProgress(cancel context.CancelCauseFunc) (stop func()) {
	patience := m.patience + m.scenario.Hold + m.scenario.Think
	last, sent, slow := int64(-1), int64(0), 0
	return pool.Every(patience, func() bool {
		so, before := m.crew.state(), sent
		now := so.Steps + so.Held
		sent = so.Clients.Traffic().Requests
		switch {
		case so.Idle:
			now = -1 // a step that begins now has until the next tick but one
		case now != last:
			slow = 0
		case !m.faulty() && (sent != before || so.Outstanding):
			if slow++; slow == slowTicks {
				cancel(fmt.Errorf("no operation completed within %s: %w", slowTicks*patience, errSlow))
			}
		case !m.faulty():
			cancel(fmt.Errorf("no operation completed within %s: %w", patience, ErrStuck))
		case so.Ending:
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
		so := m.crew.state()
		if so.Waiting == 0 {
			return
		}
		text := fmt.Sprintf("%d of %d clients still wait when all faults are over, the longest for %s: "+
			"a wake-up was lost, or what a failed client held was left behind",
			so.Waiting, m.clients, so.Longest.Round(time.Millisecond))
		m.stream.damage(variants.Damage{
			Loss: variants.Blocked, Amount: int64(so.Longest), Violation: variants.Violation{At: at, Text: text},
		})
	})
}
