package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/plots"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

type section struct {
	plots.Set
	ID, Title, Side string // the side is empty if there is only one
	Question        string
	Answers         []string
	Claims          []claim.Check
	Conditions      string
	Warnings        []string
	Main, More      *grid
	Variants        []variant
	Violations      []string
}

// variant is the information on a variant besides its measurements.
type variant struct {
	*results.Document // any of its documents
	Text              string
	Formulas          []*grid
}

// ID returns the name of the variant's element.
func (v variant) ID() string { return "v-" + v.Recipe + "-" + v.Variant }

// Name returns the variant with its recipe.
func (v variant) Name() string { return v.Recipe + "/" + v.Variant }

func (r Report) sections(place int, side compare.Side) []section {
	var out []section
	for i, set := range setsOf(side.Docs) {
		s := sectionOf(set, report.Checks(side.Docs, set.Docs[0]))
		s.ID = fmt.Sprintf("s%d-%d", place+1, i+1)
		if len(r.Sides) > 1 {
			s.Side = side.Name
		}
		out = append(out, s)
	}
	return out
}

// setsOf returns the sets of documents that share figures. Documents whose numbers must not be used join the set of the same load. If
// there is none, they have a set without figures. The order is that of tables.
func setsOf(docs []*results.Document) []plots.Set {
	sets := plots.Sets(docs)
	for _, d := range docs {
		if slices.ContainsFunc(sets, func(s plots.Set) bool { return slices.Contains(s.Docs, d) }) {
			continue
		}
		if i := slices.IndexFunc(sets, func(s plots.Set) bool { return grouping.Setup(s.Docs[0]) == grouping.Setup(d) }); i >= 0 {
			sets[i].Docs = append(sets[i].Docs, d)
		} else {
			sets = append(sets, plots.Set{Docs: []*results.Document{d}})
		}
	}
	slices.SortStableFunc(sets, func(a, b plots.Set) int { return cmp.Compare(a.Docs[0].Scenario.Name, b.Docs[0].Scenario.Name) })
	return sets
}

func sectionOf(set plots.Set, claims []claim.Check) section {
	d, rows := set.Docs[0], summary.Of(set.Docs)
	s := section{
		Set: set, Title: grouping.KeyOf(d).Title(), Question: d.Scenario.Question, Conditions: conditionsOf(d),
		Warnings: warningsOf(rows), Violations: violationsOf(set.Docs), Variants: variantsOf(set.Docs),
		Answers: answer(d, rows, claims), Claims: claims,
	}
	if len(set.Docs) > 1 && d.Rate > 0 {
		s.Title = d.Scenario.Name
	}
	s.Main, s.More = tables(d, rows)
	return s
}

func conditionsOf(d *results.Document) string {
	parts := d.Scenario.Settings()
	if d.Rate > 0 {
		parts = append(parts, d.Scenario.Offered())
	}
	parts = append(parts, "on "+serversOf(d))
	if log := d.Environment.TxnLog; log != "" {
		parts = append(parts, "transaction log on "+log)
	}
	if workers := report.Workers(d); workers != "" {
		parts = append(parts, workers)
	}
	return strings.Join(parts, ", ")
}

func warningsOf(rows []summary.Row) []string {
	all := list.AppendNew(nil, slices.Concat(list.Map(rows, func(r summary.Row) []string { return r.Warnings })...)...)
	return list.Map(all, func(warning string) string {
		concerned := list.Where(rows, func(r summary.Row) bool { return slices.Contains(r.Warnings, warning) })
		if len(concerned) == len(rows) {
			return warning
		}
		names := list.Map(concerned, func(r summary.Row) string {
			return fmt.Sprintf("%s, %d %s", r.Variant, r.Clients, table.Plural(r.Clients, "client"))
		})
		return fmt.Sprintf("%s (%s)", warning, strings.Join(names, "; "))
	})
}

// violationsOf returns the listed breaches of the promise, and how many more there were.
func violationsOf(docs []*results.Document) []string {
	const most = 5 // of each measurement
	var out []string
	for _, d := range docs {
		where := fmt.Sprintf("%s, %s, repeat %d", d.Variant, d.Load(), d.Repeat)
		listed := d.Violations[:min(len(d.Violations), most)]
		for _, v := range listed {
			out = append(out, fmt.Sprintf("%s, after %s: %s", where, v.At.Round(time.Millisecond), v.Text))
		}
		if more := d.Breaches() - int64(len(listed)); more > 0 {
			out = append(out, fmt.Sprintf("%s: %d more", where, more))
		}
	}
	return out
}

// variantsOf returns the variants of documents, each once with its formulas, exact ones before bounds, and without its text.
func variantsOf(docs []*results.Document) []variant {
	name := func(d *results.Document) string { return grouping.KeyOf(d).Name() }
	out := list.Map(list.GroupBy(docs, name), func(own []*results.Document) variant {
		exact := list.Where(own, (*results.Document).CountsExactly)
		others := list.Where(own, func(d *results.Document) bool { return !d.CountsExactly() })
		return variant{Document: own[0], Formulas: append(formulas(exact), formulas(others)...)}
	})
	slices.SortStableFunc(out, func(a, b variant) int { return cmp.Compare(a.Name(), b.Name()) })
	return out
}

// answer returns the answer of the rows, and the tally of the claims.
func answer(d *results.Document, rows []summary.Row, claims []claim.Check) []string {
	sentences := report.Answer(rows, claims)
	switch {
	case len(claims) > 0:
		sentences = append(sentences, claim.Tally(claims)+".")
	case len(d.Scenario.Asks) > 0 && len(d.Scenario.Expect) == 0:
		sentences = append(sentences, "No claims were checked: the scenario has none, or they are about another load.")
	}
	return sentences
}
