package gate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/table"
)

// BaselineSchema is the version of a baseline's file.
const BaselineSchema = 2

// Baseline holds the counts of a scenario's variants. Its file is small and sorted, to be committed and reviewed as a diff.
type Baseline struct {
	Schema   int           `json:"schema"`
	Scenario string        `json:"scenario"`
	Load     Load          `json:"load"`
	Rows     []BaselineRow `json:"rows"` // by number of clients and variant
}

// Load holds the conditions that counts depend on, besides the variant and the number of clients.
type Load struct {
	Recipe     string       `json:"recipe"`
	Mode       results.Mode `json:"mode"`
	Size       int          `json:"size"`
	Operations int          `json:"operations"` // of each client; 0 if the load ends otherwise
	Faults     string       `json:"faults,omitempty"`
}

func (l Load) String() string {
	text := fmt.Sprintf("%s of %s, size %d, %d operations", l.Mode, l.Recipe, l.Size, l.Operations)
	if l.Faults != "" {
		text += ", faults " + l.Faults
	}
	return text
}

// exact reports whether the counts of a load are the same in each run. Otherwise they are upper bounds, from the variant's formulas.
func (l Load) exact(clients int) bool {
	return l.Faults == "" && (l.Mode == results.LockstepMode || l.Operations > 0 && clients == 1)
}

// BaselineRow holds the counts of one variant with one number of clients.
type BaselineRow struct {
	Clients int                `json:"clients"`
	Variant string             `json:"variant"`
	Counts  map[string]float64 `json:"counts"`
}

func loadOf(d *results.Document) Load {
	return Load{Recipe: d.Recipe, Mode: d.Scenario.Mode, Size: d.Scenario.Size, Operations: d.Scenario.Operations,
		Faults: results.FaultsText(d.Scenario.Faults)}
}

// BaselinesOf makes baselines of results. It refuses results that must not be used, and repeats whose exact counts differ.
func BaselinesOf(docs []*results.Document) (map[string]Baseline, error) {
	out := map[string]Baseline{}
	var errs []error
	var empty []string // rows without counts
	for _, group := range grouping.Repeats(list.Where(docs, func(d *results.Document) bool { return !d.BreachExpected() })) {
		d, load := group[0], loadOf(group[0])
		b, known := out[d.Scenario.Name]
		if !known {
			b = Baseline{Schema: BaselineSchema, Scenario: d.Scenario.Name, Load: load}
		}
		row, err := rowOf(group)
		switch {
		case err != nil:
			errs = append(errs, err)
		case len(row.Counts) == 0:
			empty = append(empty, fmt.Sprintf("%s with %d clients", row.Variant, row.Clients))
		case b.Load != load:
			errs = append(errs, fmt.Errorf("%s: the results are of two loads (%s; %s): give those of one",
				table.Escaped(d.Scenario.Name), b.Load, load))
		case b.row(row.Variant, row.Clients) != nil:
			errs = append(errs, fmt.Errorf("%s: %s with %d clients was measured under two conditions: give the results of one run",
				table.Escaped(d.Scenario.Name), table.Escaped(row.Variant), row.Clients))
		default:
			b.Rows = append(b.Rows, row)
			out[d.Scenario.Name] = b
		}
	}
	switch {
	case len(out)+len(errs) > 0:
	case len(empty) == 0:
		errs = append(errs, errors.New("there are no results to make a baseline of"))
	default:
		errs = append(errs, fmt.Errorf("no formula predicts the counts of any of the results: %s", strings.Join(empty, ", ")))
	}
	return out, errors.Join(errs...)
}

// rowOf returns the counts of one group of repeats. It returns none with faults, because no formula contains a recovery, and
// none for an open load, in which counts depend on the rate.
func rowOf(group []*results.Document) (BaselineRow, error) {
	d := group[0]
	row := BaselineRow{Clients: d.Clients, Variant: d.Variant, Counts: map[string]float64{}}
	for _, other := range group {
		if part := partOf(other); part != "" {
			return row, fmt.Errorf("%s was %s: run it again", table.Escaped(other.Filename()), part)
		}
		if !other.Sound() || starvedGenerator(other) != "" {
			return row, fmt.Errorf("%s: its numbers must not be used: run it again", table.Escaped(other.Filename()))
		}
		if v := doubts.Deviations(other); len(v) > 0 {
			return row, fmt.Errorf("%s: %s: correct the recipe or the formula first, and run it again", table.Escaped(other.Filename()), v[0])
		}
	}
	switch {
	case d.Scenario.Faulty() || d.Rate > 0:
		return row, nil
	case d.CountsExactly():
		return row, row.addExact(group)
	}
	for _, name := range metric.WithFormula() {
		if cost, claimed := d.Expected.Costs[name]; claimed && !metric.Guessed(d, name) {
			row.Counts[name] = cost.Value
		}
	}
	return row, nil
}

// addExact adds the counts that each repeat has: all that a variant can state as a formula, and those of each operation of ZooKeeper.
func (r BaselineRow) addExact(group []*results.Document) error {
	first := group[0]
	for _, name := range sortedKeys(metric.Aggregate(group)) {
		if (!slices.Contains(metric.WithFormula(), name) || metric.Guessed(first, name)) && !ofOperation(name) {
			continue
		}
		r.Counts[name] = first.Metrics[name].Value
		for _, d := range group {
			if metric.AgainstCount(d, name, r.Counts[name]) != 0 {
				return fmt.Errorf("%s and repeat %d differ in %s: run it again", table.Escaped(d.Filename()), first.Repeat, name)
			}
		}
	}
	return nil
}

func (b Baseline) row(variant string, clients int) *BaselineRow {
	if i := slices.IndexFunc(b.Rows, func(r BaselineRow) bool { return r.Variant == variant && r.Clients == clients }); i >= 0 {
		return &b.Rows[i]
	}
	return nil
}

// Over returns the baseline with the rows and counts that only an older one of the same load has. This way, the results of one
// variant can be saved without the others, also on servers on which herds are guessed.
func (b Baseline) Over(old Baseline) Baseline {
	if b.Load != old.Load {
		return b
	}
	for _, row := range old.Rows {
		if newer := b.row(row.Variant, row.Clients); newer != nil {
			counts := maps.Clone(row.Counts)
			maps.DeleteFunc(counts, func(name string, _ float64) bool { return ofOperation(name) }) // the newer one has all of them
			maps.Copy(counts, newer.Counts)
			newer.Counts = counts
		} else {
			b.Rows = append(b.Rows, row)
		}
	}
	return b
}

// Write stores the baseline in dir under the scenario's name. It creates dir if necessary.
func (b Baseline) Write(dir string) error {
	slices.SortFunc(b.Rows, func(x, y BaselineRow) int {
		return cmp.Or(cmp.Compare(x.Clients, y.Clients), strings.Compare(x.Variant, y.Variant))
	})
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return store.WriteJSON(filepath.Join(dir, b.Scenario+".json"), b)
}

// ErrNoBaselines is wrapped by the error about a folder without baselines.
var ErrNoBaselines = errors.New("holds no baselines")

// ReadBaselines returns the baselines in a folder, by scenario. Without any it returns an error, because the gate would demand nothing.
func ReadBaselines(dir string) (map[string]Baseline, error) {
	files, err := store.Matching(dir, "*.json")
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s %w: `zkbench baseline save RESULT… --dir %s` makes them", dir, ErrNoBaselines, dir)
	}
	out := map[string]Baseline{}
	var errs []error
	for _, file := range files {
		b, err := readBaseline(file)
		errs = append(errs, err)
		out[b.Scenario] = b
	}
	return out, errors.Join(errs...)
}

// readBaseline refuses unknown fields: a misspelt one would demand less than its author thinks.
func readBaseline(file string) (Baseline, error) {
	var b Baseline
	text, err := store.ReadFile(file)
	if err != nil {
		return b, err
	}
	if err := store.DecodeStrict(text, &b); err != nil {
		return b, fmt.Errorf("%s is not a baseline of this zkbench: %w: save it again", file, err)
	}
	switch {
	case b.Schema != BaselineSchema:
		return b, fmt.Errorf("%s has schema %d, this zkbench reads %d: remove it, and save it again", file, b.Schema, BaselineSchema)
	case b.Scenario+".json" != filepath.Base(file):
		return b, fmt.Errorf("%s is a baseline of %q: its file must be named after the scenario", file, b.Scenario)
	case len(b.Rows) == 0:
		return b, fmt.Errorf("%s has no rows, and would demand nothing", file)
	}
	for _, row := range b.Rows {
		if why := row.problem(); why != "" {
			return b, fmt.Errorf("%s: the row of %q with %d clients %s", file, row.Variant, row.Clients, why)
		}
	}
	return b, nil
}

// problem returns why a row demands less than its author may think; empty if it does not.
func (r BaselineRow) problem() string {
	if len(r.Counts) == 0 {
		return "has no counts, and would demand nothing: remove it"
	}
	for name, count := range r.Counts {
		if count > metric.LargestCount {
			return fmt.Sprintf("has a %s of %g, which is not a bound: save it again", name, count)
		}
		if !slices.Contains(metric.WithFormula(), name) && !ofOperation(name) {
			return fmt.Sprintf("has %s, which is not one of the counts of a baseline (%s, OP-requests/op, OP-watches/op)",
				name, strings.Join(metric.WithFormula(), ", "))
		}
	}
	return ""
}

func checkBaselines(docs []*results.Document, baselines map[string]Baseline, verbose bool) (checks []Check, notes []string) {
	measured := map[string]bool{}
	for _, docs := range byScenario(docs) {
		name := docs[0].Scenario.Name
		measured[name] = true
		b, known := baselines[name]
		if !known {
			notes = append(notes, fmt.Sprintf("%s has no baseline: `zkbench baseline save` makes one", name))
			continue
		}
		found, noted := b.check(docs)
		checks, notes = append(checks, found...), append(notes, noted...)
	}
	absent := list.Where(sortedKeys(baselines), func(name string) bool { // other loads take long, and are not run on every change
		b := baselines[name]
		return !measured[name] && !slices.ContainsFunc(b.Rows, func(r BaselineRow) bool { return !b.Load.exact(r.Clients) })
	})
	if len(absent) > 0 && verbose {
		notes = append(notes, fmt.Sprintf("scenarios with exact counts in a baseline and without a result: %s; --require demands one",
			strings.Join(absent, ", ")))
	}
	if len(checks) == 0 {
		checks = []Check{{Rule: "baseline", Source: FromBaseline, Outcome: outcome.Inconclusive, Why: "no measured scenario has a baseline"}}
	}
	return checks, notes
}

func (b Baseline) check(docs []*results.Document) (checks []Check, notes []string) {
	for _, d := range docs {
		if loadOf(d) != b.Load {
			c := ofScenario("same load", b.Scenario, outcome.Inconclusive,
				fmt.Sprintf("the baseline is of another load: %s, not %s", b.Load, loadOf(d)))
			c.Source = FromBaseline
			return []Check{c}, nil
		}
	}
	groups := grouping.Repeats(docs)
	var without []BaselineRow
	for _, row := range b.Rows {
		mine := list.Where(groups, func(g []*results.Document) bool { return g[0].Variant == row.Variant && g[0].Clients == row.Clients })
		for _, group := range mine {
			checks = append(checks, row.check(group, b.Load.exact(row.Clients))...)
		}
		if len(mine) == 0 {
			without = append(without, row)
		}
	}
	for _, rows := range list.GroupBy(without, func(r BaselineRow) int { return r.Clients }) {
		variants := list.Map(rows, func(r BaselineRow) string { return r.Variant })
		c := ofScenario("measured", b.Scenario, outcome.Inconclusive, fmt.Sprintf("the baseline has rows without a result (%s): "+
			"run them, or remove them from %s.json (with the last row, the file)", strings.Join(variants, ", "), b.Scenario))
		c.Source, c.Clients = FromBaseline, rows[0].Clients
		checks = append(checks, c)
	}
	for _, group := range groups {
		if d := group[0]; b.row(d.Variant, d.Clients) == nil && !d.BreachExpected() {
			notes = append(notes, fmt.Sprintf("%s: the baseline has no %s with %d clients: `zkbench baseline save` adds it",
				b.Scenario, d.Variant, d.Clients))
		}
	}
	return checks, notes
}

// check compares each repeat with the counts. The worst repeat decides: a median would hide one repeat of three. In an exact row, an
// operation that only the row or only the results have differs, too.
func (r BaselineRow) check(group []*results.Document, exact bool) []Check {
	operations := list.Where(sortedKeys(metric.Aggregate(group)), func(name string) bool { return exact && ofOperation(name) })
	return list.Map(list.AppendNew(sortedKeys(r.Counts), operations...), func(name string) Check {
		each := list.Map(group, func(d *results.Document) Check { return r.checkRepeat(group, d, name, exact) })
		return slices.MinFunc(each, func(a, b Check) int { return outcome.Compare(a.Outcome, b.Outcome) })
	})
}

// ofOperation reports whether a metric is that of an operation of ZooKeeper: zero if it was not measured.
func ofOperation(name string) bool { return metric.Named(name).Operation != "" }

func (r BaselineRow) checkRepeat(group []*results.Document, d *results.Document, name string, exact bool) Check {
	c := about(d, FromBaseline, "== baseline")
	if !exact {
		c.Rule = "<= bound"
	}
	c.Metric, c.Limit = name, number(r.Counts[name])
	m, measured := d.Metrics[name]
	if measured = measured || ofOperation(name); measured {
		c.Value = number(m.Value)
	}
	switch {
	case !measured:
		c.Outcome, c.Why = outcome.Inconclusive, fmt.Sprintf("repeat %d has no %s", d.Repeat, name)
	case metric.Guessed(d, name):
		c.Outcome = outcome.Inconclusive
		c.Why = fmt.Sprintf("repeat %d: it is %.6g, against %.6g; %s", d.Repeat, m.Value, r.Counts[name], claim.HerdsAreGuessed)
	case exact && !d.CountsExactly():
		c.Outcome, c.Why = outcome.Inconclusive, "the baseline is exact, and this load was not finished"
	case exact && metric.AgainstCount(d, name, r.Counts[name]) != 0, !exact && metric.Exceeds(d, name, r.Counts[name]):
		c.deviate(group, d, exact, "the baseline", doubts.Repeat)
	}
	return c
}
