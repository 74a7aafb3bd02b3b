package doubts

import (
	"fmt"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/table"
)

// The shares of a response time that may be delay within zkbench: of the medians, and of the 99th percentiles.
const (
	latenessWarning = 0.10
	latenessInvalid = 0.25
)

// lateness describes the delay of arrivals within zkbench if it is a large share of a percentile of the reported times. invalid means that
// these must not be used: never so for the embedded server, in the same process, whose times do not represent an ensemble in any case.
func lateness(d *results.Document) (text string, invalid bool) {
	if d.Open == nil {
		return "", false
	}
	late, most := d.Open.Lateness.Decode(), latenessWarning
	for _, p := range []float64{50, 99} {
		if late.TotalCount() < metric.SamplesOf(p) {
			continue
		}
		reported := d.Metrics[metric.Quantile(results.ServicePhase, p)].Value
		if m, ok := d.Metrics[metric.Quantile(results.ResponsePhase, p)]; ok {
			reported = m.Value
		}
		if share := float64(late.ValueAtPercentile(p)) / reported; reported > 0 && share > most {
			most = share
			text = fmt.Sprintf("zkbench began arrivals late: %.0f%% of the p%g of the response times is its own delay", 100*share, p)
		}
	}
	return text, most > latenessInvalid && d.Environment.Engine != results.Embedded
}

// KeptUp is the share of the background's due requests that must be answered. With fewer, their times depend on the window's length.
const KeptUp = 0.99

func backgroundFallsBehind(d *results.Document) string {
	b, l := d.Background, d.Scenario.Background
	if b == nil || b.During == nil || l == nil {
		return ""
	}
	for i, r := range []results.BackgroundRequests{b.During.Read, b.During.Write} {
		if float64(r.Due-r.Answered) > max((1-KeptUp)*float64(r.Due), fewBehind) {
			return fmt.Sprintf("the background did not keep up beside the load: "+
				"%d of %d %s were answered in the window, so that their times grow with its length",
				r.Answered, r.Due, []string{"reads", "writes"}[i])
		}
	}
	return ""
}

// fewBehind is how many requests may be unanswered at the end of any window.
const fewBehind = 10

func backgroundSaturates(d *results.Document) string {
	b, l := d.Background, d.Scenario.Background
	if b == nil || b.During != nil || l == nil {
		return ""
	}
	return fmt.Sprintf("the background alone saturates the ensemble: it offered %d reads/s and %d writes/s, "+
		"and achieved %s and %s, with up to %d requests unanswered: ask for a lower rate",
		l.Reads, l.Writes, table.Count(b.Alone.Rate(b.Alone.Read)), table.Count(b.Alone.Rate(b.Alone.Write)), b.Alone.BacklogMax)
}
