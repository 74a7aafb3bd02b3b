// Package summary puts the repeats of a measurement together: one row for each variant under one load.
//
// It takes one position: repeats become one number only together with what speaks against any of them, so that each row has the doubts
// about all of its repeats.
package summary

import (
	"cmp"
	"maps"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
)

// Row summarizes the repeats of one variant with one number of clients.
type Row struct {
	Scenario string
	Recipe   string
	Variant  string
	Kind     string
	Phases   []string
	Clients  int
	Rate     int // operations per second that an open load offers
	Size     int // of the recipe's data, for each client
	Repeats  int
	Engine   string
	InMemory bool   // the transaction log is in a memory file system
	Pair     string // of the scenario; see claim.ParsePair
	Metrics  map[string]metric.Aggregated
	Warnings []string // reasons why the numbers must not be used begin with "invalid: "
	Mark     string   // see [doubts.Mark]
	Partial  bool     // a measurement was interrupted
	Guessed  bool     // notifications do not name the transaction that caused them
	Faults   []results.FaultLoad
	// Background is the load of the background in the notation of the flag --background; empty without one.
	Background string
	// Stages are the parts of a load that changes within the window.
	Stages []StageRow
	// Unrecovered is the number of faults after which the load ended without a recovery. The true times until a recovery are
	// then at least the measured ones.
	Unrecovered int64
	// Beyond reports whether an open load was beyond the capacity in at least one repeat.
	Beyond bool
	// Unfinished says how far the first of the repeats came that was ended before its load was done; see [doubts.Progress].
	// The row then has no other metrics than [metric.Finished] and [metric.Violations].
	Unfinished string
	// KnownBroken says which promise the variant is known to break; see [results.Document.KnownBroken].
	KnownBroken string
	// BreachExpected reports whether the scenario expects the variant to break its promise.
	BreachExpected bool

	Polls bool // the variant states no bound of its requests, so that their rate tells more than their number per operation
}

// reasons returns all reasons and warnings against the numbers of a measurement.
func reasons(d *results.Document) []string {
	return append(list.Map(d.Invalid, func(reason string) string { return "invalid: " + reason }), d.Warnings...)
}

// Of returns one row for each group of repeats.
func Of(docs []*results.Document) (rows []Row) {
	for _, group := range grouping.Repeats(docs) {
		d := group[0]
		row := Row{
			Scenario: d.Scenario.Name, Recipe: d.Recipe, Variant: d.Variant, Kind: d.Kind, Phases: d.Phases, Clients: d.Clients, Rate: d.Rate,
			Size: d.Scenario.Size, Repeats: len(group), Engine: d.Environment.Engine, InMemory: grouping.InMemory(d.Environment), Pair: d.Scenario.Overview,
			Metrics: metric.Aggregate(group), Mark: doubts.Mark(group), Faults: d.Scenario.Faults,
			Background: background(d.Scenario), Stages: stageRows(group), KnownBroken: d.KnownBroken, BreachExpected: d.BreachExpected(),
		}
		row.Polls = polls(d)
		for _, d := range group {
			row.Partial = row.Partial || d.Partial
			if d.Failure != nil {
				row.Unrecovered += d.Failure.Unrecovered
			}
			row.Beyond = row.Beyond || d.BeyondCapacity()
			row.Guessed = row.Guessed || d.Herd.Grouping == results.GroupedByPathAndTime
			row.Unfinished = cmp.Or(row.Unfinished, doubts.Progress(d))
			row.Warnings = list.AppendNew(row.Warnings, reasons(d)...)
		}
		row.dropUnbounded()
		if row.Unfinished != "" {
			row.Metrics = keepFinished(row.Metrics)
		}
		rows = append(rows, row)
	}
	return rows
}

// polls reports whether the variant states costs, and no bound of its requests, as those that poll.
func polls(d *results.Document) bool {
	_, bounded := d.Expected.Costs[metric.RequestsPerOp]
	return len(d.Expected.Costs) > 0 && !bounded
}

// dropUnbounded drops the response times of a load that was beyond the capacity in one repeat. Those of the other repeats are no
// estimate of what a user would wait.
func (r *Row) dropUnbounded() {
	if r.Beyond {
		dropResponse(r.Metrics)
	}
}

func dropResponse(metrics map[string]metric.Aggregated) {
	maps.DeleteFunc(metrics, func(name string, _ metric.Aggregated) bool { return metric.Named(name).Responds() })
}

// MostClients returns the largest number of clients of any row; 0 without rows. Claims are about this number unless they
// name another.
func MostClients(rows []Row) int {
	return list.Largest(list.Map(rows, func(r Row) int { return r.Clients }))
}

// HighestRate returns the largest rate of any row; 0 without open loads.
func HighestRate(rows []Row) int {
	return list.Largest(list.Map(rows, func(r Row) int { return r.Rate }))
}

// keepFinished removes all metrics but those that an unfinished measurement has. If one repeat was not finished, the others are
// those that were fast: their medians would flatter the variant.
func keepFinished(metrics map[string]metric.Aggregated) map[string]metric.Aggregated {
	out := map[string]metric.Aggregated{}
	for _, name := range []string{metric.Finished, metric.Violations} {
		if m, ok := metrics[name]; ok {
			out[name] = m
		}
	}
	return out
}

// background returns the load of the background in the notation of the flag --background; empty without one.
func background(s results.Scenario) string {
	if s.Background == nil {
		return ""
	}
	return s.Background.String()
}

// AtLeast reports whether the true value of a metric may be larger, because the load of a repeat ended before a recovery did.
func (r Row) AtLeast(name string) bool {
	return metric.Named(name).OfRecovery() && r.Unrecovered > 0
}
