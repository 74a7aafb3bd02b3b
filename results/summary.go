package results

import (
	"cmp"
	"slices"
	"strings"
)

// Summary is the condensed form of a run, for people's scripts: `zkbench run --summary FILE`.
type Summary struct {
	Rows []Row `json:"rows"`
}

// Row is one variant under one number of clients: all its repeats.
type Row struct {
	Scenario string                `json:"scenario"`
	Recipe   string                `json:"recipe"`
	Variant  string                `json:"variant"`
	Kind     string                `json:"kind"`
	Phases   []string              `json:"phases"`
	Clients  int                   `json:"clients"`
	Size     int                   `json:"size"` // of what the recipe works on, for each client
	Repeats  int                   `json:"repeats"`
	Engine   string                `json:"engine"`
	InMemory bool                  `json:"txn_log_in_memory,omitempty"`
	Pair     string                `json:"overview,omitempty"` // of the scenario; see ParsePair
	Metrics  map[string]Aggregated `json:"metrics"`
	Warnings []string              `json:"warnings"` // reasons why the numbers are void begin with "invalid: "
	Invalid  bool                  `json:"invalid"`
	Guessed  bool                  `json:"herds_guessed"` // the servers do not tell which transaction caused a notification
}

// findings returns everything that speaks against the numbers of a measurement.
func (d *Document) findings() []string {
	var out []string
	for _, reason := range d.Invalid {
		out = append(out, "invalid: "+reason)
	}
	return append(out, d.Warnings...)
}

// Sound tells whether a measurement's numbers may be used: they are valid, and those of a recipe that kept its promise.
func (d *Document) Sound() bool { return len(d.Invalid) == 0 && len(d.Violations) == 0 }

// Aggregated is a metric over the repeats: the median, and the extremes.
type Aggregated struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Min   float64 `json:"min"`
	Max   float64 `json:"max"`
}

// compareDocuments orders results as tables show them.
func compareDocuments(a, b *Document) int {
	return cmp.Or(
		strings.Compare(a.Scenario.Name, b.Scenario.Name),
		cmp.Compare(max(a.Scenario.Size, 1), max(b.Scenario.Size, 1)),
		cmp.Compare(a.Clients, b.Clients),
		strings.Compare(a.Kind, b.Kind), // naive before optimized
		strings.Compare(a.Variant, b.Variant),
		strings.Compare(a.Environment.Engine, b.Environment.Engine),
		cmp.Compare(a.Repeat, b.Repeat),
	)
}

func sameRow(a, b *Document) bool {
	return a.Clients == b.Clients && a.Recipe == b.Recipe && a.Variant == b.Variant && a.SameConditions(b)
}

// SameConditions tells whether two documents were measured under the same load on the same kind of servers and machine,
// so that they may stand in one figure.
func (d *Document) SameConditions(o *Document) bool {
	return d.Scenario.Name == o.Scenario.Name && len(d.Unlike(o)) == 0
}

// GroupRepeats returns the documents in groups that differ only in their repeat, in the order of tables.
func GroupRepeats(docs []*Document) [][]*Document {
	sorted := slices.SortedStableFunc(slices.Values(docs), compareDocuments)
	var groups [][]*Document
	for _, d := range sorted {
		if n := len(groups); n > 0 && sameRow(groups[n-1][0], d) {
			groups[n-1] = append(groups[n-1], d)
			continue
		}
		groups = append(groups, []*Document{d})
	}
	return groups
}

// Summarize condenses documents into one row per variant and number of clients.
func Summarize(docs []*Document) Summary {
	s := Summary{Rows: []Row{}}
	for _, group := range GroupRepeats(docs) {
		d := group[0]
		row := Row{
			Scenario: d.Scenario.Name, Recipe: d.Recipe, Variant: d.Variant, Kind: d.Kind, Phases: d.Phases, Clients: d.Clients,
			Size: max(d.Scenario.Size, 1), Repeats: len(group), Engine: d.Environment.Engine, InMemory: d.Environment.InMemory(), Pair: d.Scenario.Overview,
			Metrics: Aggregate(group), Warnings: []string{},
		}
		for _, d := range group {
			row.Invalid = row.Invalid || len(d.Invalid) > 0
			row.Guessed = row.Guessed || d.Herd.Grouping == byPathAndTime
			for _, w := range d.findings() {
				if !slices.Contains(row.Warnings, w) {
					row.Warnings = append(row.Warnings, w)
				}
			}
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// Aggregate takes the median of each metric over the repeats that have it. Violations are added up instead: a breach
// in one repeat of three is a breach.
func Aggregate(group []*Document) map[string]Aggregated {
	values := map[string][]float64{}
	units := map[string]string{}
	for _, d := range group {
		for name, m := range d.Metrics {
			values[name] = append(values[name], m.Value)
			units[name] = m.Unit
		}
	}
	out := map[string]Aggregated{}
	for name, v := range values {
		slices.Sort(v)
		a := Aggregated{Value: median(v), Unit: units[name], Min: v[0], Max: v[len(v)-1]}
		if name == Violations {
			a.Value = 0
			for _, n := range v {
				a.Value += n
			}
		}
		out[name] = a
	}
	return out
}

func median(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return (sorted[n/2-1] + sorted[n/2]) / 2
}
