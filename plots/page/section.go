package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/plots"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/summary"
)

// section is everything about one scenario under the same conditions.
type section struct {
	ID, Title, Side string // the side is empty if there is only one
	Question        string
	Answers         []string
	Claims          []claim.Check
	Conditions      string
	Warnings        []string
	Main, More      *grid
	Figures         []figure
	NotDrawn        []string
	Variants        []variant
	Violations      []string
}

// variant is what is known of a variant beside its numbers.
type variant struct {
	ID, Name, Kind, Text string
	Formulas             []*grid
}

// sections returns a section for each scenario of a side, and the figures that belong to no scenario.
func (r Report) sections(place int, side compareSide) ([]section, []figure, error) {
	figures, notDrawn, err := plots.Figures(side.Docs)
	if err != nil {
		return nil, nil, err
	}
	var out []section
	for i, set := range setsOf(side.Docs) {
		s := sectionOf(set.Docs, checksOf(side.Docs, set.Docs[0]))
		s.ID = fmt.Sprintf("s%d-%d", place+1, i+1)
		if len(r.Sides) > 1 {
			s.Side = side.Name
		}
		for _, f := range figures {
			if f.Set != "" && f.Set == set.Name {
				s.Figures = append(s.Figures, figureOf(f))
			}
		}
		for _, n := range notDrawn {
			if n.Set == set.Name {
				s.NotDrawn = append(s.NotDrawn, n.Texts()...)
			}
		}
		out = append(out, s)
	}
	others := list.Where(figures, func(f plots.Figure) bool { return f.Set == "" })
	return out, list.Map(others, figureOf), nil
}

// setsOf returns the sets of documents that share figures. Documents whose numbers must not be used join the set of the same load, or
// have one of their own, without a figure. The order is that of tables.
func setsOf(docs []*results.Document) []plots.Set {
	sets := plots.Sets(docs)
	for _, d := range docs {
		if slices.ContainsFunc(sets, func(s plots.Set) bool { return slices.Contains(s.Docs, d) }) {
			continue
		}
		if i := slices.IndexFunc(sets, func(s plots.Set) bool { return grouping.Same(s.Docs[0], d) }); i >= 0 {
			sets[i].Docs = append(sets[i].Docs, d)
		} else {
			sets = append(sets, plots.Set{Docs: []*results.Document{d}})
		}
	}
	slices.SortStableFunc(sets, func(a, b plots.Set) int { return cmp.Compare(a.Docs[0].Scenario.Name, b.Docs[0].Scenario.Name) })
	return sets
}

func sectionOf(docs []*results.Document, claims []claim.Check) section {
	d, rows := docs[0], summary.Of(docs)
	s := section{
		Title: grouping.KeyOf(d).Title(), Question: d.Scenario.Question, Conditions: conditionsOf(d),
		Warnings: warningsOf(rows), Violations: violationsOf(docs), Variants: variantsOf(docs),
		Answers: answer(d, rows, claims), Claims: claims,
	}
	if len(docs) > 1 && docs[0].Rate > 0 {
		s.Title = d.Scenario.Name
	}
	s.Main, s.More = tables(d, rows)
	return s
}

// conditionsOf describes the load and the servers in one line.
func conditionsOf(d *results.Document) string {
	parts := d.Scenario.Settings()
	if rates := d.Scenario.Rates(); rates[0] > 0 {
		parts = append(parts, fmt.Sprintf("offered %s operations/s", strings.Join(list.Map(rates, strconv.Itoa), ", ")))
	}
	parts = append(parts, "on "+serversOf(d))
	if log := d.Environment.TxnLog; log != "" {
		parts = append(parts, "transaction log on "+log)
	}
	return strings.Join(parts, ", ")
}

// warningsOf returns the warnings of rows, each with the rows that it concerns.
func warningsOf(rows []summary.Row) []string {
	var order []string
	concerned := map[string][]string{}
	for _, r := range rows {
		for _, w := range r.Warnings {
			if concerned[w] == nil {
				order = append(order, w)
			}
			concerned[w] = append(concerned[w], fmt.Sprintf("%s with %d", r.Variant, r.Clients))
		}
	}
	for i, w := range order {
		if len(concerned[w]) < len(rows) {
			order[i] = fmt.Sprintf("%s (%s)", w, strings.Join(concerned[w], ", "))
		}
	}
	return order
}

// violationsOf returns the listed breaches of the promise, and how many more there were.
func violationsOf(docs []*results.Document) []string {
	const most = 5 // of each measurement
	var out []string
	for _, d := range docs {
		for _, v := range d.Violations[:min(len(d.Violations), most)] {
			out = append(out, fmt.Sprintf("%s, %s, repeat %d, after %s: %s", d.Variant, d.Load(), d.Repeat, v.At, v.Text))
		}
		if more := d.Breaches() - int64(min(len(d.Violations), most)); more > 0 {
			out = append(out, fmt.Sprintf("%s, %s, repeat %d: %d more", d.Variant, d.Load(), d.Repeat, more))
		}
	}
	return out
}

// variantsOf returns the variants of documents, each once, without their texts.
func variantsOf(docs []*results.Document) []variant {
	var out []variant
	for _, d := range docs {
		v := variant{ID: "v-" + d.Recipe + "-" + d.Variant, Name: d.Recipe + "/" + d.Variant, Kind: d.Kind}
		if !slices.ContainsFunc(out, func(o variant) bool { return o.ID == v.ID }) {
			out = append(out, v)
		}
	}
	slices.SortStableFunc(out, func(a, b variant) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
