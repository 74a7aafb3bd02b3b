package runner

import (
	"cmp"
	"errors"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/variants"
)

// leastPartial is the length of a window of which no part is kept. To measure such a window again takes no longer.
const leastPartial = time.Minute

// errCutShort is why a document lacks what is measured after the load.
var errCutShort = errors.New("the load was not finished")

// part is what is known of a window as soon as it has ended, in time or not.
type part struct {
	counts  wire.Counts
	arrived int64 // arrivals of an open load that were due in the window
}

// keepsPart reports whether the window is kept as far as it lasted if the load or the run fails.
func (p scenarioRun) keepsPart(t task) bool {
	return p.Partial != nil && t.repeat > 0 && p.scenario.Duration > leastPartial
}

// closePartial completes the document of a load that was not finished. Without a window to keep, it has the violations alone. It has
// no servers' counters, which would have to be read at rest, and no orphans, which nothing has looked for.
func (m *measurement) closePartial(d *results.Document, record *recorder.Recorder) error {
	if !m.keepsPart || m.part == nil {
		record.CloseFailed(d)
		return nil
	}
	o := observation{counts: m.part.counts, partial: true, unserved: max(m.part.arrived-record.ServedInWindow(), 0)}
	o.health = takeVitals().since(m.vitals)
	m.pool.examine(&o)
	if err := m.stream.bystanders.examine(&o.health); err != nil {
		return err
	}
	facts := m.facts(o)
	if m.floor != nil {
		m.floor.floor.Why = cmp.Or(m.floor.floor.Why, errCutShort.Error())
		facts.Floor = &m.floor.floor
	}
	if m.faults != nil && m.recipe.Orphans != nil {
		record.Uncounted(string(variants.Orphans))
	}
	d.Partial = true
	err := record.Close(d, facts)
	d.Warnings = append(d.Warnings, m.faults.warnings()...)
	return err
}
