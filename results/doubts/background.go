package doubts

import (
	"fmt"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/table"
)

// backgroundFailures returns how many of the background's requests failed.
func backgroundFailures(d *results.Document) int64 {
	b := d.Background
	if b == nil {
		return 0
	}
	failed := b.Alone.Read.Failed + b.Alone.Write.Failed
	if b.During != nil {
		failed += b.During.Read.Failed + b.During.Write.Failed
	}
	return failed
}

// KeptUp is the share of the background's requests due that are answered if it keeps up: else their times depend on how long it is on.
const KeptUp = 0.99

// backgroundFallsBehind describes a background that the ensemble could not answer beside the load of the recipe; empty if it could.
func backgroundFallsBehind(d *results.Document) string {
	b, l := d.Background, d.Scenario.Background
	if b == nil || b.During == nil || l == nil {
		return ""
	}
	for _, of := range []struct {
		kind     string
		requests results.BackgroundRequests
	}{{"reads", b.During.Read}, {"writes", b.During.Write}} {
		if r := of.requests; float64(r.Due-r.Answered) > max((1-KeptUp)*float64(r.Due), fewBehind) {
			return fmt.Sprintf("the background did not keep up beside the load: %d of %d %s were answered in the window, so that their times grow with its length",
				r.Answered, r.Due, of.kind)
		}
	}
	return ""
}

// fewBehind is how many requests may be unanswered at the end of any window.
const fewBehind = 10

// backgroundSaturates describes a background that the ensemble cannot answer even without the load of the recipe; empty if it can.
func backgroundSaturates(d *results.Document) string {
	b, l := d.Background, d.Scenario.Background
	if b == nil || b.During != nil || l == nil {
		return ""
	}
	return fmt.Sprintf("the background alone saturates the ensemble: it offered %d reads/s and %d writes/s, and achieved %s and %s, with up to %d requests unanswered: ask for a lower rate",
		l.Reads, l.Writes, table.Count(b.Alone.Rate(b.Alone.Read)), table.Count(b.Alone.Rate(b.Alone.Write)), b.Alone.BacklogMax)
}
