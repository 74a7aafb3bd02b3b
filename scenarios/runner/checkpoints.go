package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/variants"
)

// checkpointInterval is the time between two partial documents of a measurement. Shorter windows have none: to measure them again
// takes less than a minute.
const checkpointInterval = time.Minute

// errUnderWay is why a partial document lacks what is measured after the load.
var errUnderWay = errors.New("the measurement was interrupted during the load")

// checkpoints saves a document of the window so far every minute, and when the run is interrupted, so that a run of an hour that
// ends in its last minute keeps the others. The next document replaces it.
type checkpoints struct {
	m        *measurement
	document *results.Document // what is known before the measurement
	save     func(*results.Document) error
}

// newCheckpoints returns the checkpoints of a measurement; nil if it has none.
func (p scenarioRun) newCheckpoints(m *measurement, t task, d *results.Document) *checkpoints {
	if p.Checkpoint == nil || t.repeat == 0 || time.Duration(m.scenario.Duration) <= checkpointInterval {
		return nil
	}
	known := *d
	return &checkpoints{m: m, document: &known, save: p.Checkpoint}
}

// opening is what the window of a measurement began with.
type opening struct {
	snapshot snapshot    // before the load
	counts   wire.Counts // when the window opened
	arrived  int64       // by then, in an open load
}

// during saves checkpoints until wait returns, and another one if run, the context of the whole run, has ended by then. It cancels
// wait if a document cannot be saved. ctx also ends when the load fails.
func (c *checkpoints) during(run, ctx context.Context, from opening, wait func(context.Context) error) error {
	if c == nil {
		return wait(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	var failed error
	var saving sync.WaitGroup
	saving.Go(func() {
		defer cancel() // without effect after done
		failed = c.saveUntil(done, from)
	})
	err := wait(ctx)
	close(done)
	saving.Wait()
	if failed == nil && run.Err() != nil {
		failed = c.saveOne(from)
	}
	if failed != nil {
		return fmt.Errorf("save the results so far: %w", failed)
	}
	return err
}

// saveUntil saves a checkpoint in each interval until done is closed, or until one cannot be saved. It saves none just before the end
// of the window, which would be late then.
func (c *checkpoints) saveUntil(done <-chan struct{}, from opening) error {
	start := time.Now()
	ticker := time.NewTicker(checkpointInterval)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return nil
		case <-ticker.C:
			if left := time.Duration(c.m.scenario.Duration) - time.Since(start); left < checkpointInterval/10 {
				continue
			}
			if err := c.saveOne(from); err != nil {
				return err
			}
		}
	}
}

// saveOne saves a document of the window so far. It saves none while a fault is being recorded, and none without an operation.
func (c *checkpoints) saveOne(from opening) error {
	known, ok := c.m.stream.copyRecorder()
	if !ok {
		return nil
	}
	copied, counts := known.recorder, known.counts
	copied.CloseWindow(known.at)
	if c.m.faults != nil && c.m.recipe.Orphans != nil {
		copied.Uncounted(string(variants.Orphans))
	}
	counts.Sub(from.counts)
	d := *c.document
	d.Partial = true
	d.Warnings, d.Invalid = slices.Clone(d.Warnings), slices.Clone(d.Invalid)
	facts, err := c.facts(from, counts)
	if err != nil {
		return err
	}
	facts.Unserved = max(known.arrived-from.arrived-copied.ServedInWindow(), 0)
	if err := copied.Close(&d, facts); err != nil {
		return err
	}
	d.Warnings = append(d.Warnings, c.m.faults.warnings()...)
	if d.Window.Operations == 0 || d.Window.Length() >= d.Scenario.Duration {
		return nil
	}
	return c.save(&d)
}

// facts returns what is known of the window so far. The servers' counters would have to be read at rest.
func (c *checkpoints) facts(from opening, counts wire.Counts) (recorder.Facts, error) {
	m := c.m
	o := observation{begin: from.snapshot, end: from.snapshot, counts: counts, health: takeVitals().since(m.vitals)}
	o.end.client, o.end.servers, o.end.err = m.pool.counts(), nil, errUnderWay
	m.pool.examine(&o)
	if err := m.stream.bystanders.examine(&o.health); err != nil {
		return recorder.Facts{}, err
	}
	facts := m.facts(o)
	if m.floor != nil {
		floor := m.floor.floor
		floor.Why = cmp.Or(floor.Why, errUnderWay.Error())
		facts.Floor = &floor
	}
	return facts, nil
}
