package doubts

import (
	"fmt"
	"strings"

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

// Progress says how much of an unfinished load was done, and the whole load's counts by the formulas. It is empty for a finished load.
func Progress(d *results.Document) string {
	u := d.Unfinished
	if u == nil {
		return ""
	}
	of := d.WholeLoad()
	if u.Breach != "" {
		done := ""
		if of > 0 {
			done = fmt.Sprintf("%s of %s operations, ", table.Grouped(u.Done), table.Grouped(of))
		}
		return fmt.Sprintf("%s %s%s notifications and %s requests", u.Breach, done, table.Grouped(u.Notifications), table.Grouped(u.Requests))
	}
	text := fmt.Sprintf("unfinished: did %s of %s operations in %s", table.Grouped(u.Done), table.Grouped(of), d.Scenario.AtMost)
	if whole := wholeByFormulas(d); whole != "" {
		text += "; by its formulas all of them cause " + whole
	}
	return text + fmt.Sprintf("; so far it was %s notifications and %s requests", table.Grouped(u.Notifications), table.Grouped(u.Requests))
}

// wholeByFormulas returns the counts of the whole load by the variant's formulas: upper bounds unless clients act one at a time.
func wholeByFormulas(d *results.Document) string {
	var parts []string
	for _, count := range []struct{ metric, noun string }{{metric.NotificationsPerOp, "notifications"}, {metric.RequestsPerOp, "requests"}} {
		if cost, ok := d.Expected.Costs[count.metric]; ok {
			total := int64(cost.Value*float64(d.WholeLoad())*float64(max(d.Batch, 1)) + 0.5)
			parts = append(parts, table.Grouped(total)+" "+count.noun)
		}
	}
	text := strings.Join(parts, " and ")
	if text != "" && d.Scenario.Mode != results.LockstepMode {
		text = "up to " + text
	}
	return text
}
