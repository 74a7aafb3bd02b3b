package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results/table"
)

// Unfinished says how far a load came that was ended because it took longer than its scenario allows, or by a breach of the promise. Such a
// measurement has no other metrics than [Finished] and [Violations]: what was counted belongs to the beginning of a load.
type Unfinished struct {
	// Breach says what the breach of the promise led to, such as "stuck"; empty if the load took too long.
	Breach string `json:"breach,omitempty"`

	Done          int64 `json:"done"`          // operations that clients had completed; 0 if the load has no number of operations
	Requests      int64 `json:"requests"`      // that the clients had sent since the load began
	Notifications int64 `json:"notifications"` // that they had received since then
}

// EndedByBreach reports whether a breach of the promise has ended the load.
func (d *Document) EndedByBreach() bool { return d.Unfinished != nil && d.Unfinished.Breach != "" }

// wholeLoad returns how many operations the clients have to complete; 0 if they go on for a time.
func (d *Document) wholeLoad() int64 {
	if d.Scenario.Duration > 0 {
		return 0
	}
	return int64(d.Clients) * int64(max(d.Scenario.Operations, 1))
}

// Progress says how far an unfinished load came, and what the variant's formulas say of all of it. It is empty for a load that was
// finished.
func (d *Document) Progress() string {
	u := d.Unfinished
	if u == nil {
		return ""
	}
	if u.Breach != "" {
		return d.breached()
	}
	text := fmt.Sprintf("unfinished: did %s of %s operations in %s", table.Grouped(u.Done), table.Grouped(d.wholeLoad()), d.Scenario.AtMost)
	if whole := d.wholeByFormulas(); whole != "" {
		text += "; by its formulas all of them cause " + whole
	}
	return text + fmt.Sprintf("; so far it was %s notifications and %s requests", table.Grouped(u.Notifications), table.Grouped(u.Requests))
}

// breached says how far a load came that a breach of the promise has ended.
func (d *Document) breached() string {
	u, done := d.Unfinished, ""
	if of := d.wholeLoad(); of > 0 {
		done = fmt.Sprintf("%s of %s operations, ", table.Grouped(u.Done), table.Grouped(of))
	}
	return fmt.Sprintf("%s %s%s notifications and %s requests", u.Breach, done, table.Grouped(u.Notifications), table.Grouped(u.Requests))
}

// wholeByFormulas returns the counts of the whole load by the variant's formulas. They are upper bounds unless clients act one at
// a time.
func (d *Document) wholeByFormulas() string {
	var parts []string
	for _, count := range []struct{ metric, noun string }{{NotificationsPerOp, "notifications"}, {RequestsPerOp, "requests"}} {
		if cost, ok := d.Expected.Costs[count.metric]; ok {
			total := int64(cost.Value*float64(d.wholeLoad())*float64(max(d.Batch, 1)) + 0.5)
			parts = append(parts, table.Grouped(total)+" "+count.noun)
		}
	}
	text := strings.Join(parts, " and ")
	if text != "" && d.Scenario.Mode != LockstepMode {
		text = "up to " + text
	}
	return text
}

// keepFinished removes all metrics but those that an unfinished measurement has. If one repeat was not finished, the others are
// those that were fast: their medians would flatter the variant.
func keepFinished(metrics map[string]Aggregated) map[string]Aggregated {
	out := map[string]Aggregated{}
	for _, name := range []string{Finished, Violations} {
		if m, ok := metrics[name]; ok {
			out[name] = m
		}
	}
	return out
}

// WithoutUnfinished returns the documents without the groups of repeats of which at least one was unfinished: the repeats that were
// finished would flatter the variant.
func WithoutUnfinished(docs []*Document) []*Document {
	unfinished := map[GroupKey]bool{}
	for _, d := range docs {
		unfinished[d.Key()] = unfinished[d.Key()] || d.Unfinished != nil
	}
	return slices.DeleteFunc(slices.Clone(docs), func(d *Document) bool { return unfinished[d.Key()] })
}
