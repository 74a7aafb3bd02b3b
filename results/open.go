package results

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results/table"
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

// The phases of an arrival in an open load.
const (
	ResponsePhase = "response" // from when it was due until it was served
	ServicePhase  = "service"  // from when a client began until it was served
)

// The metrics of open loads.
const (
	OfferedPerSecond  = "offered/s"
	AchievedPerSecond = "achieved/s"
	BacklogMax        = "backlog-max"
)

// isResponse reports whether a metric is a response time of an open load.
func isResponse(metric string) bool { return slices.Contains(timesOf(ResponsePhase), metric) }

// IsOpenMetric reports whether only open loads have a metric.
func IsOpenMetric(metric string) bool { return slices.Contains(openMetrics(), metric) }

// openMetrics returns the names of all metrics that only open loads have.
func openMetrics() []string {
	return append([]string{OfferedPerSecond, AchievedPerSecond, BacklogMax}, timesOf(ResponsePhase, ServicePhase)...)
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

// addOpen adds the metrics of an open load.
func (d *Document) addOpen(metrics map[string]Metric) {
	seconds := d.Window.Length().Seconds()
	if d.Open == nil || seconds == 0 {
		return
	}
	batch := float64(d.Batch)
	metrics[OfferedPerSecond] = Metric{batch * float64(d.Open.Arrivals) / seconds, "1/s"}
	metrics[AchievedPerSecond] = Metric{batch * float64(d.Open.Completed) / seconds, "1/s"}
	metrics[BacklogMax] = Metric{float64(d.Open.BacklogMax), "arrivals"}
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
		return 0, 0 // reported by validate
	}
	for _, p := range []float64{50, 99} {
		if late.TotalCount() < samplesOf(p) {
			continue
		}
		reported := d.Metrics[percentileName(ServicePhase, p)].Value
		if m, ok := d.Metrics[percentileName(ResponsePhase, p)]; ok {
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
		{"achieved/s", 0, AchievedPerSecond, table.Count},
		{"response p50", 0, percentileName(ResponsePhase, 50), table.Latency},
		{"response p99", 0, percentileName(ResponsePhase, 99), table.Latency},
		{"service p50", 2, percentileName(ServicePhase, 50), table.Latency},
		{"service p99", 3, percentileName(ServicePhase, 99), table.Latency},
		{"backlog max", 1, BacklogMax, table.Whole},
	}
	for _, c := range all {
		if c.metric != OpsPerSecond {
			c.need += 4 // dropped before those above
			first = append(first, c)
		}
	}
	return first
}
