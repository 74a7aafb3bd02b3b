package results

import (
	"fmt"
	"slices"
	"time"
)

// Open says how an open load was served, in which operations arrive whether or not earlier ones are done. An arrival is one
// step of a client, which has [Document].Batch operations.
type Open struct {
	Arrivals  int64 `json:"arrivals"`  // due in the window
	Served    int64 `json:"served"`    // of Arrivals, in the window or after it
	GivenUp   int64 `json:"given_up"`  // of Arrivals, by the load: no client ever began them
	Completed int64 `json:"completed"` // in the window, whenever they were due
	// BacklogMax is the largest number of arrivals in the window that were due and waited for a client.
	BacklogMax int64 `json:"backlog_max"`
	// LastEmpty is the last moment up to the window's end at which no arrival waited for a client, since the measurement's epoch.
	LastEmpty time.Duration `json:"backlog_last_empty_ns"`
	// Lateness is the delay of arrivals within zkbench: from when an arrival was due and its client was free until the client began.
	Lateness Histogram `json:"lateness"`
}

// BeyondCapacity reports whether an open load offered more than the clients could serve: arrivals waited for a client during the
// whole second half of the window, or were given up after it. The response times then depend on the length of the load, so that they
// are no metrics.
func (d *Document) BeyondCapacity() bool {
	if d.Open == nil {
		return false
	}
	return d.Open.GivenUp > 0 || d.Open.LastEmpty < d.Window.Start+d.Window.Length()/2
}

// The shares of a response time that may be delay within zkbench: of the medians, and of the 99th percentiles.
const (
	latenessWarning = 0.10
	latenessInvalid = 0.25
)

// lateArrivals compares the delay of arrivals within zkbench with the times that are reported. It returns the percentile in which the
// delay is the largest share, and that share; 0 without an open load.
func (d *Document) lateArrivals() (percentile, share float64) {
	if d.Open == nil {
		return 0, 0
	}
	late, err := d.Open.Lateness.Decode()
	if err != nil {
		return 0, 0
	}
	for _, p := range []float64{50, 99} {
		if late.TotalCount() < samplesOf(p) {
			continue
		}
		reported := d.Metrics[Quantile(ServicePhase, p)].Value
		if m, ok := d.Metrics[Quantile(ResponsePhase, p)]; ok {
			reported = m.Value
		}
		if s := float64(late.ValueAtPercentile(p)) / reported; reported > 0 && s > share {
			percentile, share = p, s
		}
	}
	return percentile, share
}

// lateness describes the delay of arrivals within zkbench if it is a large share of the times. It is invalid if the times must not be
// used. Those of the embedded server, which runs in the same process, are not those of an ensemble in any case.
func (d *Document) lateness() (text string, invalid bool) {
	p, share := d.lateArrivals()
	if share <= latenessWarning {
		return "", false
	}
	invalid = share > latenessInvalid && d.Environment.Engine != Embedded
	text = fmt.Sprintf("zkbench began arrivals late: %.0f%% of the p%g of the response times is its own delay", 100*share, p)
	return text, invalid
}

// unserved returns how many arrivals of the window have no response time although there are response times; 0 of an open load that
// was served, or beyond the capacity.
func (d *Document) unserved() int64 {
	if d.Open == nil || d.BeyondCapacity() {
		return 0
	}
	return d.Open.Arrivals - d.Open.Served
}

// beyond stands in tables for response times of a load beyond the capacity.
const beyond = "beyond"

// beyondLine explains the response times that are missing in a table; empty without any.
func beyondLine(rows []Row) string {
	if !slices.ContainsFunc(rows, func(r Row) bool { return r.Beyond }) {
		return ""
	}
	return beyond + ": the rate is beyond the capacity of so many clients. Arrivals waited for a client during the whole second half of " +
		"the window, or were not served within its length after it, so that their response times grow with its length."
}

// openFirst returns the columns of the table of an open load: what arrived and what users waited come first. The achieved rate takes
// the place of the throughput.
func openFirst(all []column) []column {
	first := []column{
		{0, AchievedPerSecond},
		{0, Quantile(ResponsePhase, 50)},
		{0, Quantile(ResponsePhase, 99)},
		{2, Quantile(ServicePhase, 50)},
		{3, Quantile(ServicePhase, 99)},
		{1, BacklogMax},
	}
	for _, c := range all {
		if c.metric != OpsPerSecond {
			c.need += 4 // dropped before those above
			first = append(first, c)
		}
	}
	return first
}
