package gate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// BaselineSchema is the version of a baseline's file.
const BaselineSchema = 1

// Baseline is what a scenario's variants cost in counts: small and sorted, to be kept in a repository and read in a diff.
type Baseline struct {
	Schema   int           `json:"schema"`
	Scenario string        `json:"scenario"`
	Load     Load          `json:"load"`
	Rows     []BaselineRow `json:"rows"` // by number of clients and variant
}

// Load is what shapes counts, besides the number of clients; another one makes other counts.
type Load struct {
	Recipe     string `json:"recipe"`
	Mode       string `json:"mode"`
	Size       int    `json:"size"`
	Operations int    `json:"operations"` // of each client; 0 if the load ends otherwise
}

func (l Load) String() string {
	return fmt.Sprintf("%s of %s, size %d, %d operations", l.Mode, l.Recipe, l.Size, l.Operations)
}

// BaselineRow is what one variant costs under one number of clients.
type BaselineRow struct {
	Clients int                `json:"clients"`
	Variant string             `json:"variant"`
	Exact   bool               `json:"exact"` // else the counts are upper bounds, by the variant's formulas
	Counts  map[string]float64 `json:"counts"`
}

func loadOf(d *results.Document) Load {
	return Load{Recipe: d.Recipe, Mode: d.Scenario.Mode, Size: max(d.Scenario.Size, 1), Operations: d.Scenario.Operations}
}

// BaselinesOf makes baselines of results, which all have to be sound: numbers that must not be used are no measure for
// others. Repeats whose exact counts differ are refused, too.
func BaselinesOf(docs []*results.Document) (map[string]Baseline, error) {
	out := map[string]Baseline{}
	var errs []error
	var empty []string // rows that would demand nothing
	for _, group := range results.GroupRepeats(docs) {
		d := group[0]
		b, known := out[d.Scenario.Name]
		if !known {
			b = Baseline{Schema: BaselineSchema, Scenario: d.Scenario.Name, Load: loadOf(d)}
		}
		row, err := rowOf(group)
		switch {
		case err != nil:
			errs = append(errs, err)
		case len(row.Counts) == 0:
			empty = append(empty, fmt.Sprintf("%s with %d clients", row.Variant, row.Clients))
		case b.Load != loadOf(d):
			errs = append(errs, fmt.Errorf("%s: results of two loads (%s; %s): give those of one", d.Scenario.Name, b.Load, loadOf(d)))
		case b.row(row.Variant, row.Clients) != nil:
			errs = append(errs, fmt.Errorf("%s: %s with %d clients was measured under two conditions: give the results of one run", d.Scenario.Name, row.Variant, row.Clients))
		default:
			b.Rows = append(b.Rows, row)
			out[d.Scenario.Name] = b
		}
	}
	switch {
	case len(out) > 0 || len(errs) > 0:
	case len(empty) > 0:
		errs = append(errs, fmt.Errorf("no formula says what counts these have: %s", strings.Join(empty, ", ")))
	default:
		errs = append(errs, errors.New("there are no results to make a baseline of"))
	}
	return out, errors.Join(errs...)
}

// rowOf returns the counts of one group of repeats.
func rowOf(group []*results.Document) (BaselineRow, error) {
	d := group[0]
	row := BaselineRow{Clients: d.Clients, Variant: d.Variant, Exact: d.Expected.Exact, Counts: map[string]float64{}}
	for _, other := range group {
		if !other.Sound() || starvedGenerator(other) != "" {
			return row, fmt.Errorf("%s: its numbers must not be used: run it again", other.Filename())
		}
	}
	for _, name := range results.CountMetrics() {
		cost, claimed := d.Expected.Costs[name]
		m, measured := d.Metrics[name]
		switch {
		case !claimed || d.Guessed(name):
		case !row.Exact:
			row.Counts[name] = cost.Value
		case !measured:
			return row, fmt.Errorf("%s has no %s: run it again", d.Filename(), name)
		default:
			row.Counts[name] = m.Value
			for _, other := range group {
				if other.AgainstCount(name, m.Value) != 0 {
					return row, fmt.Errorf("%s has another %s than repeat %d: run it again", other.Filename(), name, d.Repeat)
				}
			}
		}
	}
	return row, nil
}

// row returns the row of a variant and number of clients; nil if there is none.
func (b Baseline) row(variant string, clients int) *BaselineRow {
	i := slices.IndexFunc(b.Rows, func(r BaselineRow) bool { return r.Variant == variant && r.Clients == clients })
	if i < 0 {
		return nil
	}
	return &b.Rows[i]
}

// Over returns the baseline with what an older one has and it has not: rows, so that results of one variant can be saved
// without those of the others; and counts, as those who save cannot always tell how large a herd was. One of another load is
// forgotten.
func (b Baseline) Over(old Baseline) Baseline {
	if b.Load != old.Load {
		return b
	}
	for _, row := range old.Rows {
		switch newer := b.row(row.Variant, row.Clients); {
		case newer == nil:
			b.Rows = append(b.Rows, row)
		case newer.Exact == row.Exact:
			counts := maps.Clone(row.Counts)
			maps.Copy(counts, newer.Counts)
			newer.Counts = counts
		}
	}
	return b
}

// Difference is one count that differs between two baselines; a side that lacks it is nil.
type Difference struct {
	Scenario, Variant, Metric string
	Clients                   int
	Old, New                  *float64
}

// Diff returns in what a newer baseline differs from an older one, in the order of tables.
func (b Baseline) Diff(newer Baseline) []Difference {
	var out []Difference
	add := func(row BaselineRow, metric string, before, after *float64) {
		out = append(out, Difference{b.Scenario, row.Variant, metric, row.Clients, before, after})
	}
	for _, row := range newer.Rows {
		old := b.row(row.Variant, row.Clients)
		if old == nil {
			old = &BaselineRow{}
		}
		all := maps.Clone(row.Counts)
		maps.Copy(all, old.Counts)
		for _, metric := range sortedKeys(all) {
			before, after := find(old.Counts, metric), find(row.Counts, metric)
			if before == nil || after == nil || *before != *after {
				add(row, metric, before, after)
			}
		}
	}
	for _, row := range b.Rows {
		if newer.row(row.Variant, row.Clients) == nil {
			for _, metric := range sortedKeys(row.Counts) {
				add(row, metric, find(row.Counts, metric), nil)
			}
		}
	}
	return out
}

func find(counts map[string]float64, metric string) *float64 {
	if v, ok := counts[metric]; ok {
		return &v
	}
	return nil
}

// Write stores the baseline in dir, which is created if need be, under the scenario's name.
func (b Baseline) Write(dir string) error {
	slices.SortFunc(b.Rows, func(x, y BaselineRow) int {
		return cmp.Or(cmp.Compare(x.Clients, y.Clients), strings.Compare(x.Variant, y.Variant))
	})
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return results.WriteJSON(filepath.Join(dir, b.Scenario+".json"), b)
}

// ErrNoBaselines is wrapped by the error of a folder that has none.
var ErrNoBaselines = errors.New("holds no baselines")

// ReadBaselines returns the baselines in a folder, by scenario. A folder without any is an error: it would demand nothing.
func ReadBaselines(dir string) (map[string]Baseline, error) {
	files, err := results.Matching(dir, "*.json")
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

// readBaseline is strict: a misspelt field would demand less than its author thinks.
func readBaseline(file string) (Baseline, error) {
	var b Baseline
	text, err := results.ReadFile(file)
	if err != nil {
		return b, err
	}
	if err := strictly(text, &b); err != nil {
		return b, fmt.Errorf("%s is no baseline: %w", file, err)
	}
	switch {
	case b.Schema != BaselineSchema:
		return b, fmt.Errorf("%s has schema %d, this zkbench reads %d: save it anew", file, b.Schema, BaselineSchema)
	case b.Scenario+".json" != filepath.Base(file):
		return b, fmt.Errorf("%s is one of %q: a baseline's file is named after its scenario", file, b.Scenario)
	case len(b.Rows) == 0:
		return b, fmt.Errorf("%s has no rows: it would demand nothing", file)
	}
	if problem := b.problem(text); problem != "" {
		return b, fmt.Errorf("%s: %s", file, problem)
	}
	return b, nil
}

// strictly decodes a text that is one JSON value, with known fields, and nothing after it.
func strictly(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its end: remove what does not belong to it")
	}
	return nil
}

// problem returns what keeps a row from demanding what its author thinks; empty if nothing does.
func (b Baseline) problem(text []byte) string {
	var given struct{ Rows []struct{ Exact *bool } } // left out, it would quietly make bounds of exact counts
	if err := json.Unmarshal(text, &given); err != nil {
		return err.Error()
	}
	for i, row := range b.Rows {
		where := fmt.Sprintf("the row of %q with %d clients", row.Variant, row.Clients)
		switch {
		case given.Rows[i].Exact == nil:
			return where + " does not say whether it is exact: save it anew"
		case len(row.Counts) == 0:
			return where + " has no counts, and would demand nothing: remove it"
		}
		for name, count := range row.Counts {
			if count > results.LargestCount {
				return fmt.Sprintf("%s: %s of %g is no bound: save it anew", where, name, count)
			}
			if !slices.Contains(results.CountMetrics(), name) {
				return fmt.Sprintf("%s: %s is not one of the counts of a baseline (%s)", where, name, strings.Join(results.CountMetrics(), ", "))
			}
		}
	}
	return ""
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// againstBaselines holds each scenario's results to its baseline.
func againstBaselines(docs []*results.Document, baselines map[string]Baseline) ([]Check, []string) {
	byScenario := map[string][]*results.Document{}
	for _, d := range docs {
		byScenario[d.Scenario.Name] = append(byScenario[d.Scenario.Name], d)
	}
	var checks []Check
	var notes []string
	for _, name := range sortedKeys(byScenario) {
		b, known := baselines[name]
		if !known {
			notes = append(notes, fmt.Sprintf("%s has no baseline: `zkbench baseline save` makes one", name))
			continue
		}
		found, told := b.judge(byScenario[name])
		checks, notes = append(checks, found...), append(notes, told...)
	}
	var absent []string
	for _, name := range sortedKeys(baselines) {
		if byScenario[name] == nil && baselines[name].Load.Mode == "drain" { // other loads take long, and are not run on every change
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		notes = append(notes, fmt.Sprintf("drains with a baseline and without a result: %s; --require demands one", strings.Join(absent, ", ")))
	}
	if len(checks) == 0 {
		checks = append(checks, Check{Rule: "baseline", Source: FromBaseline, Outcome: Inconclusive, Why: "none of the baselines is of a scenario that was measured"})
	}
	return checks, notes
}

func (b Baseline) judge(docs []*results.Document) (checks []Check, notes []string) {
	for _, d := range docs {
		if loadOf(d) != b.Load {
			c := about(d, FromBaseline, "same load")
			c.Outcome, c.Why = Inconclusive, fmt.Sprintf("the baseline is of another load: %s, not %s", b.Load, loadOf(d))
			return []Check{c}, nil
		}
	}
	groups := results.GroupRepeats(docs)
	for _, row := range b.Rows {
		found := false
		for _, group := range groups {
			if group[0].Variant == row.Variant && group[0].Clients == row.Clients {
				found = true
				checks = append(checks, row.judge(group)...)
			}
		}
		if !found {
			checks = append(checks, Check{Rule: "measured", Source: FromBaseline, Scenario: b.Scenario, Variant: row.Variant, Clients: row.Clients,
				Outcome: Inconclusive, Why: fmt.Sprintf("the baseline has this, and the results have not: run it, or take its row out of %s.json (delete the file with the last one)", b.Scenario)})
		}
	}
	for _, group := range groups {
		if d := group[0]; b.row(d.Variant, d.Clients) == nil {
			notes = append(notes, fmt.Sprintf("%s: the baseline has no %s with %d clients: `zkbench baseline save` adds it", b.Scenario, d.Variant, d.Clients))
		}
	}
	return checks, notes
}

// judge holds each repeat to the counts, the worst one deciding: a median would hide one repeat of three.
func (r BaselineRow) judge(group []*results.Document) []Check {
	var checks []Check
	for _, name := range sortedKeys(r.Counts) {
		c := about(group[0], FromBaseline, "== baseline")
		if !r.Exact {
			c.Rule = "<= bound"
		}
		c.Metric, c.Limit = name, number(r.Counts[name])
		for _, d := range group {
			r.compare(&c, d)
		}
		checks = append(checks, c)
	}
	return checks
}

// compare lets one repeat make a check worse.
func (r BaselineRow) compare(c *Check, d *results.Document) {
	limit := r.Counts[c.Metric]
	m, measured := d.Metrics[c.Metric]
	outcome, why := Pass, ""
	switch {
	case !measured:
		outcome, why = Inconclusive, fmt.Sprintf("repeat %d has no %s", d.Repeat, c.Metric)
	case d.Guessed(c.Metric):
		outcome, why = Inconclusive, fmt.Sprintf("repeat %d: it is %.6g, against %.6g; %s", d.Repeat, m.Value, limit, herdsAreGuessed)
	case r.Exact && !d.Expected.Exact:
		outcome, why = Inconclusive, "the baseline is exact, and this load is not"
	case r.Exact && d.AgainstCount(c.Metric, limit) > 0, !r.Exact && d.Exceeds(c.Metric, limit):
		outcome, why = Regression, fmt.Sprintf("repeat %d: it is %.6g, against %.6g by the baseline", d.Repeat, m.Value, limit)
	case r.Exact && d.AgainstCount(c.Metric, limit) < 0:
		why, c.better = fmt.Sprintf("improved: it is %.6g, against %.6g by the baseline; `zkbench baseline save` keeps that", m.Value, limit), true
	}
	if measured && (c.Value == nil || m.Value > float64(*c.Value)) {
		c.Value = number(m.Value)
	}
	if severity(outcome) < severity(c.Outcome) || c.Why == "" {
		c.Outcome, c.Why = outcome, why
	}
}
