package results

import (
	"cmp"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/results/list"
)

// StageLoad is the load of one stage of the window.
type StageLoad struct {
	For     time.Duration `json:"for_ns"`
	Rate    Rate          `json:"rate,omitempty"`    // of an open load: operations per second at the end of the stage
	Clients int           `json:"clients,omitempty"` // of a closed load: clients that loop at the end of the stage
	Ramp    bool          `json:"ramp,omitempty"`    // the load changes steadily from the previous stage; else at once
}

// Level returns the rate or the number of clients, whichever the load has.
func (l StageLoad) Level() float64 { return cmp.Or(float64(l.Rate), float64(l.Clients)) }

// String returns the load in the notation of the flag --stage.
func (l StageLoad) String() string {
	text := fmt.Sprintf("for: %s, rate: %s", l.For, l.Rate)
	if l.Clients > 0 {
		text = fmt.Sprintf("for: %s, clients: %d", l.For, l.Clients)
	}
	if l.Ramp {
		text += ", ramp: true"
	}
	return text
}

// StagesLast returns the length of all stages together.
func StagesLast(stages []StageLoad) time.Duration {
	return list.Sum(list.Map(stages, func(s StageLoad) time.Duration { return s.For }))
}

// Stage has the results of one stage of the window.
type Stage struct {
	Start         time.Duration `json:"start_ns"` // since the measurement's epoch
	End           time.Duration `json:"end_ns"`
	Operations    int64         `json:"operations"` // completed in the stage
	Notifications int64         `json:"notifications"`
	LargestHerd   int           `json:"largest_herd"`          // of those that began in the stage
	BacklogMax    int64         `json:"backlog_max,omitempty"` // of an open load
	// Latency has the durations of the recipe's first phase that ended in the stage. In an open load, it has the response times of
	// the arrivals that were due in the stage, even if they were served in a later one.
	Latency Histogram `json:"latency"`
}

// IsStaged reports whether the load changes in stages, so that its numbers do not describe a single load.
func (d *Document) IsStaged() bool { return len(d.Scenario.Stages) > 0 }
