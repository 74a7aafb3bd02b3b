package results

import (
	"cmp"
	"maps"
	"slices"

	"github.com/zkbench/zkbench/results/paired"
)

// Summary is the condensed form of a run, from which tables and figures are made.
type Summary struct {
	Rows []Row
}

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
	Pair     string // of the scenario; see ParsePair
	Metrics  map[string]Aggregated
	Warnings []string // reasons why the numbers must not be used begin with "invalid: "
	Mark     string   // see [Mark]
	Partial  bool     // a measurement was interrupted
	Guessed  bool     // notifications do not name the transaction that caused them
	Faults   []FaultLoad
	// Background is the load of the background in the notation of the flag --background; empty without one.
	Background string
	// Stages are the parts of a load that changes within the window.
	Stages []StageRow
	// Unrecovered is the number of faults after which the load ended without a recovery. The true times until a recovery are
	// then at least the measured ones.
	Unrecovered int64
	// Beyond reports whether an open load was beyond the capacity in at least one repeat.
	Beyond bool
	// Unfinished says how far the first of the repeats came that was ended before its load was done; see [Document.Progress].
	// The row then has no other metrics than [Finished] and [Violations].
	Unfinished string
	// KnownBroken says which promise the variant is known to break; see [Document.KnownBroken].
	KnownBroken string
	// BreachExpected reports whether the scenario expects the variant to break its promise.
	BreachExpected bool

	polls bool // the variant states no bound of its requests, so that their rate tells more than their number per operation
}

// findings returns all reasons and warnings against the numbers of a measurement.
func (d *Document) findings() []string {
	return append(Map(d.Invalid, func(reason string) string { return "invalid: " + reason }), d.Warnings...)
}

// Sound reports whether a measurement's numbers may be used: they are valid, the recipe kept its promise, and the load was
// finished.
func (d *Document) Sound() bool {
	return len(d.Invalid) == 0 && len(d.Violations) == 0 && d.Unfinished == nil
}

// Drawable reports whether a measurement may stand in a figure beside others: its numbers may be used, and its variant is not known to
// be broken. A lock that does not always wake its waiters is no faster for that.
func (d *Document) Drawable() bool { return d.Sound() && d.KnownBroken == "" }

// Aggregated is the median of a metric over the repeats, with the extremes.
type Aggregated struct {
	Value float64
	Unit  string
	Min   float64
	Max   float64
}

// Summarize returns one row for each group of repeats.
func Summarize(docs []*Document) Summary {
	var s Summary
	for _, group := range GroupRepeats(docs) {
		d := group[0]
		row := Row{
			Scenario: d.Scenario.Name, Recipe: d.Recipe, Variant: d.Variant, Kind: d.Kind, Phases: d.Phases, Clients: d.Clients, Rate: d.Rate,
			Size: d.Scenario.Size, Repeats: len(group), Engine: d.Environment.Engine, InMemory: d.Environment.InMemory(), Pair: d.Scenario.Overview,
			Metrics: Aggregate(group), Mark: Mark(group), Faults: d.Scenario.Faults,
			Background: d.Scenario.background(), Stages: stageRows(group), KnownBroken: d.KnownBroken, BreachExpected: d.BreachExpected(),
		}
		row.polls = d.polls()
		for _, d := range group {
			row.Partial = row.Partial || d.Partial
			if d.Failure != nil {
				row.Unrecovered += d.Failure.Unrecovered
			}
			row.Beyond = row.Beyond || d.BeyondCapacity()
			row.Guessed = row.Guessed || d.Herd.Grouping == GroupedByPathAndTime
			row.Unfinished = cmp.Or(row.Unfinished, d.Progress())
			row.Warnings = AppendNew(row.Warnings, d.findings()...)
		}
		row.dropUnbounded()
		if row.Unfinished != "" {
			row.Metrics = keepFinished(row.Metrics)
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// UnfinishedMark is the mark of measurements that were not finished, and have no other numbers than how far they came.
const UnfinishedMark = "unfinished"

// Mark returns the word that stands beside the numbers of repeats that must not be used, or lack a part; empty for sound ones. Of several
// that apply, the gravest stands.
func Mark(repeats []*Document) string {
	for _, mark := range []struct {
		word    string
		applies func(d *Document) bool
	}{
		{"BROKEN", (*Document).Broken},
		{"INVALID", func(d *Document) bool { return len(d.Invalid) > 0 }},
		{"PARTIAL", func(d *Document) bool { return d.Partial }},
		{"known broken", func(d *Document) bool { return d.KnownBroken != "" }},
		{UnfinishedMark, func(d *Document) bool { return d.Unfinished != nil }},
	} {
		if slices.ContainsFunc(repeats, mark.applies) {
			return mark.word
		}
	}
	return ""
}

// polls reports whether the variant states costs, and no bound of its requests, as those that poll.
func (d *Document) polls() bool {
	_, bounded := d.Expected.Costs[RequestsPerOp]
	return len(d.Expected.Costs) > 0 && !bounded
}

// dropUnbounded drops the response times of a load that was beyond the capacity in one repeat. Those of the other repeats are no
// estimate of what a user would wait.
func (r *Row) dropUnbounded() {
	if r.Beyond {
		dropResponse(r.Metrics)
	}
}

func dropResponse(metrics map[string]Aggregated) {
	maps.DeleteFunc(metrics, func(name string, _ Aggregated) bool { return MetricNamed(name).Responds() })
}

// Aggregate returns the median of each metric over the repeats that have it. Of violations and lost items it returns the sum,
// and of the time for which clients were blocked the maximum: the median would hide what happened in one repeat of three.
func Aggregate(group []*Document) map[string]Aggregated {
	values, sums, units := map[string][]float64{}, map[string]float64{}, map[string]string{}
	for _, d := range group {
		for name, m := range d.Metrics {
			values[name] = append(values[name], m.Value)
			sums[name] += m.Value
			units[name] = m.Unit
		}
	}
	out := map[string]Aggregated{}
	for name, v := range values {
		slices.Sort(v)
		a := Aggregated{Value: paired.Median(v), Unit: units[name], Min: v[0], Max: v[len(v)-1]}
		switch MetricNamed(name).repeats {
		case bySum:
			a.Value = sums[name]
		case byLargest:
			a.Value = a.Max
		}
		out[name] = a
	}
	return out
}

// MostClients returns the largest number of clients of any row; 0 without rows. Claims are about this number unless they
// name another.
func MostClients(rows []Row) int {
	return Largest(Map(rows, func(r Row) int { return r.Clients }))
}

// HighestRate returns the largest rate of any row; 0 without open loads.
func HighestRate(rows []Row) int {
	return Largest(Map(rows, func(r Row) int { return r.Rate }))
}
