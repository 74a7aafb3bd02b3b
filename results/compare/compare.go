// Package compare sets measurements side by side: two or more runs, or the variants of one.
//
// It takes one position: a difference is claimed only where the measurements allow it. Counts that formulas make exact are
// compared exactly, on whatever machines they were taken. Everything else depends on the moment, so that it takes enough
// pairs of measurements that were taken in turns under the same conditions; short of that, both numbers are shown, with
// the reason why nothing can be said of them.
package compare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// Schema is the version of a comparison's JSON form.
const Schema = 1

// Side is what stands on one side: the documents of a run, or of several that were taken in turns with those of another
// side.
type Side struct {
	Name string // as the user gave it
	Docs []*results.Document
}

// Options say what to compare. The zero value compares the usual metrics and lets no difference in the conditions pass.
type Options struct {
	Metrics []string  // names or patterns of [path.Match], in which a slash is like any other character
	Across  []Subject // differences in the conditions that are what the comparison is about
	Base    string    // for Variants: what the others are compared with; a scenario's naive one by default
}

// Comparison is the outcome, for people and for scripts.
type Comparison struct {
	Schema      int          `json:"schema"`
	Sides       []string     `json:"sides"` // first the base; only one if variants of one run are compared
	Differences []Difference `json:"differences"`
	LeftOut     []string     `json:"left_out"` // what only one side has
	Rows        []Row        `json:"rows"`
}

// Row compares one metric of two variants, or of one variant in two runs, under one number of clients.
type Row struct {
	Scenario string         `json:"scenario"`
	Recipe   string         `json:"recipe"`
	Size     int            `json:"size"`
	Clients  int            `json:"clients"`
	Base     Place          `json:"base"`
	Other    Place          `json:"other"`
	Metric   string         `json:"metric"`
	Unit     string         `json:"unit"`
	Ratio    results.Number `json:"ratio"` // other/base: of the pairs their median, if there are any, else that of the values
	Low      results.Number `json:"low"`   // 95 % interval of the ratio
	High     results.Number `json:"high"`
	Pairs    int            `json:"pairs"` // 0 if the ratio does not come from pairs
	Verdict  Verdict        `json:"verdict"`
	Reason   string         `json:"reason"`
}

// Place is one side of a row.
type Place struct {
	Side    string         `json:"side"`
	Variant string         `json:"variant"`
	Engine  string         `json:"engine"`
	Value   results.Number `json:"value"` // median of the repeats
	Repeats int            `json:"repeats"`
	Mark    string         `json:"mark"` // BROKEN or INVALID if the numbers must not be used
}

// Verdict is how the other side's value compares with the base's.
type Verdict string

// What can be said of two values.
const (
	Better Verdict = "better"
	Worse  Verdict = "worse"
	Same   Verdict = "same" // exact counts, and equal
	Unsure Verdict = "~"    // it cannot be told
)

// Runs compares each variant with itself, in the other sides as against the first one. What cannot be compared at all is
// an error that says what each side has, or how their loads differ.
func Runs(sides []Side, o Options) (Comparison, error) {
	c := Comparison{Schema: Schema}
	for _, s := range sides {
		c.Sides = append(c.Sides, s.Name)
	}
	base := grouped(sides[0])
	var matches []match
	for _, side := range sides[1:] {
		other := grouped(side)
		same := func(a, b group) bool { return a.cell == b.cell && a.variant == b.variant }
		matched := matchUp(base, other, same)
		if len(matched) == 0 {
			return c, fmt.Errorf("%s and %s have nothing in common:\n  %s has %s\n  %s has %s",
				sides[0].Name, side.Name, sides[0].Name, inventory(base), side.Name, inventory(other))
		}
		matches = append(matches, matched...)
		c.leaveOut(base, other, same)
		c.leaveOut(other, base, same)
	}
	return c.judge(matches, o)
}

// Variants compares the variants of one side with the base among them.
func Variants(side Side, o Options) (Comparison, error) {
	c := Comparison{Schema: Schema, Sides: []string{side.Name}}
	groups := grouped(side)
	var base, others []group
	for _, g := range groups {
		if g.variant == baseOf(g.scenario, groups, o.Base) {
			base = append(base, g)
		} else {
			others = append(others, g)
		}
	}
	if o.Base != "" && len(base) == 0 {
		return c, fmt.Errorf("--base %s: no such variant; %s has %s", o.Base, side.Name, inventory(groups))
	}
	same := func(a, b group) bool { return a.cell == b.cell }
	matches := matchUp(base, others, same)
	if len(matches) == 0 {
		return c, fmt.Errorf("%s has no two variants of one scenario with equally many clients to compare: it has %s; or name a second run", side.Name, inventory(groups))
	}
	c.leaveOut(base, others, same)
	c.leaveOut(others, base, same)
	return c.judge(matches, o)
}

// baseOf returns the variant that a scenario's others are compared with.
func baseOf(scenario string, groups []group, wanted string) string {
	own := slices.DeleteFunc(slices.Clone(groups), func(g group) bool { return g.scenario != scenario })
	if wanted != "" {
		return strings.TrimPrefix(wanted, own[0].recipe+"/")
	}
	pair, err := results.ParsePair(own[0].docs[0].Scenario.Overview)
	if err == nil && slices.ContainsFunc(own, func(g group) bool { return g.variant == pair.Naive }) {
		return pair.Naive
	}
	naive := slices.IndexFunc(own, func(g group) bool { return g.docs[0].Kind == "naive" })
	return own[max(naive, 0)].variant
}

// judge fills in the rows and the differences.
func (c Comparison) judge(matches []match, o Options) (Comparison, error) {
	if err := refusal(matches); err != nil {
		return c, err
	}
	if err := checkMetrics(matches, o.Metrics); err != nil {
		return c, err
	}
	for _, m := range matches {
		differences := m.differences(o.Across)
		for _, d := range differences {
			if !slices.Contains(c.Differences, d) {
				c.Differences = append(c.Differences, d)
			}
		}
		for _, metric := range m.metrics(o.Metrics) {
			c.Rows = append(c.Rows, m.row(metric, obstacle(differences)))
		}
	}
	if len(c.Rows) == 0 {
		return c, errors.New("these measurements have none of the metrics")
	}
	return c, nil
}

// refusal returns an error for what would compare different loads, or a measurement with itself.
func refusal(matches []match) error {
	var errs []error
	var said []string
	for _, m := range matches {
		for _, err := range []error{m.sameMeasurement(), m.differentLoads()} {
			if err != nil && !slices.Contains(said, err.Error()) {
				errs, said = append(errs, err), append(said, err.Error())
			}
		}
	}
	return errors.Join(errs...)
}
