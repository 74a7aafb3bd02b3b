package observe

import (
	"errors"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios"
)

// ErrNothing says that there is no document because no write succeeded in the window: the metrics of an observed document are
// per successful write.
var ErrNothing = errors.New("no write succeeded, and the metrics of a document are per successful write")

// Document ends the window and returns it as a document that can be plotted, compared and gated. An operation is a successful
// write. The name stands for the variant, and the number of clients is the largest number of sessions at a time. It may be
// called once for a window.
func (o *Observer) Document(run, name string, started time.Time, e results.Environment) (*results.Document, error) {
	now := o.lock()
	defer o.mu.Unlock()
	o.end(now)
	w := o.window
	if writes, failed := w.counts.Writes(); writes == failed {
		return nil, ErrNothing
	}
	e.SessionTimeout = o.timeout
	counts := scenarios.CountsOf(w.counts)
	d := &results.Document{
		Schema: results.Schema, Run: run, Started: started.UTC().Truncate(time.Millisecond),
		Scenario: results.Scenario{
			Name: "observed", Question: "What does an application do to its ensemble?", Mode: results.ObservedMode,
			Size: 1, Repeats: 1, Clients: []int{w.MostSessions}, Variants: []string{name},
		},
		Recipe: "application", Variant: name, Kind: results.Application,
		Phases: []string{phaseWrite, phaseRead}, Operation: phaseWrite, Batch: 1, Clients: w.MostSessions, Repeat: 1,
		Waiting: []string{}, UntimedPhases: []string{}, Shares: []results.Share{}, Environment: e,
		Warnings: []string{}, Invalid: []string{}, Violations: []results.Violation{},
		Counts: counts, Expected: results.Expected{Costs: map[string]results.Cost{}},
		Oracle: results.Oracle{
			Why:                 "other clients may use the servers of an application",
			ClientNotifications: w.counts.TotalNotifications(), ClientWrites: counts.Writes,
		},
	}
	w.record.Close(d, recorder.Unserved{})
	return d, nil
}
