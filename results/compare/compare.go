// Package compare sets measurements side by side: two or more runs, or the variants of one.
//
// It takes one position: a difference is claimed only where the measurements allow it. Counts that formulas make exact are
// compared exactly, on any machine. Every other metric depends on the moment, so that it needs enough pairs of measurements
// that were taken in turns under the same conditions. Counts need no pairs if the repeats of the two sides do not overlap. Where nothing
// is decided, the table shows both numbers and what would decide. The ratio of two variants or builds is computed here and nowhere else.
package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/table"
)

// Schema is the version of a comparison's JSON form.
const Schema = 1

// Side is one side of a comparison: the documents of a run, or of several runs that alternated with the runs of another side.
type Side struct {
	Name string // as the user gave it
	Docs []*results.Document
}

// Options select what is compared. The zero value compares the default metrics and accepts no difference in the conditions.
type Options struct {
	Metrics []string          // names or patterns of [path.Match], in which a slash is an ordinary character
	Across  []grouping.Aspect // differences in the conditions that are the subject of the comparison
	Base    string            // for Variants: the variant that the others are compared with; by default a scenario's naive one
}

// Comparison is the result of Runs or Variants. It is also the JSON form that scripts read.
type Comparison struct {
	Schema      int          `json:"schema"`
	Sides       []string     `json:"sides"` // first the base; only one if variants of one run are compared
	Differences []Difference `json:"differences"`
	// Tags are those of each side that has some, by its name. They are no differences in the conditions.
	Tags    map[string][]string `json:"tags,omitempty"`
	LeftOut []string            `json:"left_out"` // measurements that only one side has
	Rows    []Row               `json:"rows"`
}

// Row compares one metric of two variants, or of one variant in two runs, under one number of clients.
type Row struct {
	Scenario string       `json:"scenario"`
	Recipe   string       `json:"recipe"`
	Size     int          `json:"size"`
	Clients  int          `json:"clients"`
	Rate     results.Rate `json:"rate,omitempty"` // of open loads, in operations per second
	Base     Place        `json:"base"`
	Other    Place        `json:"other"`
	Metric   string       `json:"metric"`
	Unit     string       `json:"unit"`
	Estimate
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"` // for Undecided, what would decide

	apart bool // the two values must not be compared at all
}

// MayBeDrawn reports whether the two values may stand side by side in a figure: both were measured, may be used, and were measured
// under conditions whose difference is accepted. It says nothing about the verdict.
func (r Row) MayBeDrawn() bool { return !r.apart }

// Place is one side of a row, with its value.
type Place struct {
	Side    string       `json:"side"`
	Variant string       `json:"variant"`
	Engine  string       `json:"engine"`
	Value   table.Number `json:"value"` // median of the repeats
	Repeats int          `json:"repeats"`
	Mark    string       `json:"mark"` // see [doubts.Mark]
}

// Notes returns one line for each difference in the conditions, and for the measurements that only one side has.
func (c Comparison) Notes() []string { return slices.Concat(c.preamble(), c.LeftOut) }

// Verdict says how the other side's value compares with the base.
type Verdict string

// The verdicts.
const (
	Better    Verdict = "better"
	Worse     Verdict = "worse"
	Different Verdict = "different"           // neither more nor less is better
	Same      Verdict = "same"                // exact counts, and equal
	NotShown  Verdict = "no difference shown" // the interval includes 1, or all repeats are equal in the digits shown
	Undecided Verdict = "undecided"
)

// Verdicts returns all verdicts in the order of legends.
func Verdicts() []Verdict { return []Verdict{Better, Worse, Different, Same, NotShown, Undecided} }

// Claimed reports whether the measurements show a difference.
func (v Verdict) Claimed() bool { return v == Better || v == Worse || v == Different }

func begin(sides ...Side) Comparison {
	c := Comparison{Schema: Schema, Tags: map[string][]string{}}
	for _, s := range sides {
		c.Sides = append(c.Sides, s.Name)
		if tags := results.TagsOf(s.Docs); tags != nil {
			c.Tags[s.Name] = tags
		}
	}
	return c
}

// Runs compares each variant in the other sides with the same variant in the first one. It returns an error if the sides have
// nothing in common, or if their loads differ.
func Runs(sides []Side, o Options) (Comparison, error) {
	c := begin(sides...)
	base := grouped(sides[0])
	var matches []match
	for _, side := range sides[1:] {
		other := grouped(side)
		matched := c.matchUp(base, other, func(g group) grouping.Key { return g.Key })
		if len(matched) == 0 {
			return c, fmt.Errorf("%s and %s have nothing in common:\n  %s has %s\n  %s has %s",
				sides[0].Name, side.Name, sides[0].Name, inventory(base), side.Name, inventory(other))
		}
		matches = append(matches, matched...)
	}
	return c.compare(matches, o)
}

// Variants compares the variants of one side with the base among them.
func Variants(side Side, o Options) (Comparison, error) {
	c := begin(side)
	groups := grouped(side)
	isBase := func(g group) bool { return g.Variant == baseOf(g.Scenario, groups, o.Base) }
	base, others := list.Where(groups, isBase), slices.DeleteFunc(slices.Clone(groups), isBase)
	if o.Base != "" && len(base) == 0 {
		return c, fmt.Errorf("--base %s: no such variant; %s has %s", o.Base, side.Name, inventory(groups))
	}
	matches := c.matchUp(base, others, func(g group) grouping.Key {
		return grouping.Key{Scenario: g.Scenario, Recipe: g.Recipe, Size: g.Size, Clients: g.Clients, Rate: g.Rate}
	})
	if len(matches) == 0 {
		return c, fmt.Errorf("%s has no two variants of one scenario with equally many clients to compare: it has %s; or name a second run",
			side.Name, inventory(groups))
	}
	return c.compare(matches, o)
}

// Of compares one metric of the repeats of two variants, or of one variant in two runs.
func Of(base, other []*results.Document, metric string) Row {
	m := match{groupOf("", base), groupOf("", other)}
	return m.row(metric, obstacle(m.differences(nil)))
}

func baseOf(scenario string, groups []group, wanted string) string {
	own := list.Where(groups, func(g group) bool { return g.Scenario == scenario })
	if wanted != "" {
		return strings.TrimPrefix(wanted, own[0].Recipe+"/")
	}
	pair, err := claim.ParsePair(own[0].docs[0].Scenario.Overview)
	if err == nil && slices.ContainsFunc(own, func(g group) bool { return g.Variant == pair.Naive }) {
		return pair.Naive
	}
	sound := list.Where(own, func(g group) bool { return g.docs[0].KnownBroken == "" })
	if len(sound) == 0 {
		sound = own
	}
	naive := slices.IndexFunc(sound, func(g group) bool { return g.docs[0].Kind == "naive" })
	return sound[max(naive, 0)].Variant
}

// compare fills in the rows and the differences. It returns an error if the matches compare different loads, or a measurement with itself.
func (c Comparison) compare(matches []match, o Options) (Comparison, error) {
	var refused []string
	for _, m := range matches {
		differences := m.differences(o.Across)
		for _, err := range []error{m.sameMeasurement(), m.differentLoads(differences)} {
			if err != nil {
				refused = list.AppendNew(refused, err.Error())
			}
		}
		c.Differences = list.AppendNew(c.Differences, differences...)
		for _, metric := range m.metrics(o.Metrics) {
			c.Rows = append(c.Rows, m.row(metric, obstacle(differences)))
		}
	}
	if len(refused) > 0 {
		return c, errors.New(strings.Join(refused, "\n"))
	}
	if err := checkMetrics(matches, o.Metrics); err != nil {
		return c, err
	}
	if len(c.Rows) == 0 {
		return c, errors.New("these measurements have none of the metrics")
	}
	return c, nil
}
