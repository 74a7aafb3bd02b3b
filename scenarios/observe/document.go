package observe

import (
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
)

// ScenarioName is the scenario of all observed documents, and RecipeName their recipe.
const (
	ScenarioName = "observed"
	RecipeName   = "application"
)

// ErrNothing says that there is no document because no write succeeded in the window: the metrics of an observed document are for each
// successful write.
var ErrNothing = errors.New("no write succeeded, and the metrics of a document are per successful write")

// Document ends the window and returns it as a document that can be plotted, compared and gated. An operation is a successful write. The
// name stands for the variant, and clients are the most sessions at a time. It may be called once for a window.
func (o *Observer) Document(run, name string, started time.Time, e results.Environment) (*results.Document, error) {
	now := o.lock()
	defer o.mu.Unlock()
	o.end(now)
	w := o.window
	if w.counts.writes == w.counts.failedWrites {
		return nil, ErrNothing
	}
	e.SessionTimeout = o.timeout
	d := &results.Document{
		Schema: results.Schema, Run: run, Started: started.UTC().Truncate(time.Millisecond),
		Scenario: results.Scenario{
			Name: ScenarioName, Question: "What does an application do to its ensemble?", Mode: results.ObservedMode,
			Size: 1, Repeats: 1, ClientCounts: fmt.Sprintf("[%d]", w.mostSessions), Variants: name,
		},
		Recipe: RecipeName, Variant: name, Kind: results.Application,
		Phases: []string{phaseWrite, phaseRead}, Operation: phaseWrite, Batch: 1, Clients: w.mostSessions, Repeat: 1,
		Waiting: []string{}, UntimedPhases: []string{}, Shares: []results.Share{}, Environment: e,
		Warnings: []string{}, Invalid: []string{}, Violations: []results.Violation{},
	}
	c := w.counts.document()
	return d, w.record.Close(d, recorder.Facts{
		Counts:         c,
		Oracle:         results.Oracle{Why: "other clients may use the servers of an application", ClientNotifications: w.counts.notified, ClientWrites: c.Writes},
		Costs:          map[string]results.Cost{},
		SessionTimeout: o.timeout,
	})
}

// document returns the counts without notifications, which the recorder has.
func (c counts) document() results.Counts {
	return results.Counts{
		Requests: byName(c.requests), Failed: byName(c.failed), TotalRequests: c.all, TotalFailed: c.allFailed,
		Writes: c.writes, FailedWrites: c.failedWrites, BytesIn: c.bytesIn, BytesOut: c.bytesOut,
	}
}

func byName(counts map[wire.Opcode]int64) map[string]int64 {
	out := map[string]int64{}
	for op, n := range counts {
		out[op.String()] += n
	}
	return out
}
