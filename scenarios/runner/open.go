package runner

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/load"
)

// openMode lets operations arrive at a rate and cuts the window out of the running load. When the window ends, no further
// operation arrives, and clients serve the backlog. They may take as long as the window for it. If the
// load was beyond their capacity, the backlog is dropped.
type openMode struct{ durationMode }

// rehearsal lets all clients loop: at a low rate, servers would get too few requests to warm up.
func (openMode) rehearsal(m *measurement) bool {
	m.mode, m.scenario.Mode = durationMode{}, scenarios.Closed
	return m.mode.rehearsal(m)
}

func (openMode) run(ctx context.Context, m *measurement) (o observation, err error) {
	run := ctx
	m.pool.SetHold(m.holdAmongFaults())
	if o.begin, err = m.firstSnapshot(ctx); err != nil {
		return observation{}, err
	}
	stop := m.arrivals.Start(ctx, load.DueTimesOf(m.scenario, m.rate, m.repeat, m.recipe.BatchOf(m.scenario.Size)))
	defer stop()
	var start, end time.Duration
	var limit *time.Timer // ends the serving of the backlog after the window
	err = m.loop(ctx, m.arrivals, func(ctx context.Context) (err error) {
		start, end, err = m.cutWindow(run, ctx, m.arrivals, &o)
		if err != nil {
			return err
		}
		m.arrivals.LastDue(end)
		limit = time.AfterFunc(end-start, func() { m.arrivals.GiveUp(start, end) })
		err = m.injector.Finish(ctx)
		m.arrivals.Finish(start, end)
		return err
	})
	if limit != nil {
		limit.Stop()
	}
	if err != nil {
		return observation{}, err
	}
	o.unserved.GivenUp, o.unserved.Begun = m.arrivals.Left(start, end)
	o.end, err = m.snapshotAtRest(ctx)
	return o, err
}

func (m *activeLoad) isOpen() bool { return m.scenario.Mode == scenarios.Open }
