package plots

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

// Set is the documents of one scenario under the same conditions, with their figures.
type Set struct {
	Name     string // the beginning of the names of the figures
	Docs     []*results.Document
	Figures  []Figure
	NotDrawn NotDrawn

	groups []group // in the order of tables
}

type group struct {
	summary.Row
	look look
}

func (g group) middle() *results.Document { return g.Repeats[len(g.Repeats)/2] }

const fewestRates = 3

// Sets returns the documents in sets with their figures, those of open loads at several rates first. Documents of different loads,
// engines, versions or machines are in different sets. Documents whose numbers must not be used are left out.
func Sets(docs []*results.Document) []Set {
	drawable := list.Where(grouping.WithoutUnfinished(docs), (*results.Document).Drawable)
	others := list.Where(drawable, func(d *results.Document) bool { return d.Rate == 0 })
	var sets []Set
	for _, open := range list.GroupBy(list.Where(drawable, func(d *results.Document) bool { return d.Rate > 0 }), allButRate) {
		if s := newSet(open, drawable); len(s.rates()) >= fewestRates {
			sets = append(sets, s)
		} else {
			others = append(others, open...)
		}
	}
	sets = append(sets, list.Map(list.GroupBy(others, grouping.Setup), func(own []*results.Document) Set { return newSet(own, drawable) })...)
	used := map[string]int{}
	for i := range sets {
		s := &sets[i]
		// Several sets of one scenario and engine differ in a condition that the file name does not have.
		if used[s.Name]++; used[s.Name] > 1 {
			s.Name = fmt.Sprintf("%s-%d", s.Name, used[s.Name])
		}
		s.draw()
	}
	return sets
}

// newSet returns a set of documents. A variant looks the same in all sets, because its look is chosen among all variants of its recipe.
func newSet(docs, all []*results.Document) Set {
	s := Set{Name: docs[0].Scenario.Name + "-" + docs[0].Environment.Engine, Docs: docs}
	looks := looksOf(list.Where(all, func(d *results.Document) bool { return d.Recipe == docs[0].Recipe }))
	s.groups = list.Map(summary.Of(docs), func(r summary.Row) group { return group{r, looks[r.Variant]} })
	if rates := s.rates(); len(rates) == 1 && rates[0] > 0 {
		s.Name += "-rate" + rates[0].Word()
	}
	return s
}

// allButRate returns a text that is equal for documents that were measured under the same conditions and clients, at any rate.
func allButRate(d *results.Document) string {
	same := *d
	same.Rate = 0
	return fmt.Sprint(grouping.Setup(&same), d.Clients)
}

// asked returns the metrics of these kinds that the scenario asks about, or of all kinds if none is given.
func (s *Set) asked(kinds ...metric.Kind) []string {
	return list.Where(s.Docs[0].Scenario.Asks, func(name string) bool {
		return len(kinds) == 0 || slices.Contains(kinds, metric.Named(name).Kind)
	})
}

// subject names the scenario, the servers, the settings of the load, and the repeats that a figure shows: one if it shows single events.
func (s *Set) subject(f Figure) string {
	d := s.Docs[0]
	text := d.Scenario.Name + " on " + servers(d)
	if metric.Guessed(d, metric.HerdMax) {
		text += ", herds guessed"
	}
	if hold := d.Scenario.Hold; hold > 0 {
		text += fmt.Sprintf(", hold %s", hold)
	}
	if rates := s.rates(); len(rates) == 1 && rates[0] > 0 {
		most := ""
		if d.IsStaged() {
			most = "up to "
		}
		text += fmt.Sprintf(", %s%s offered", most, rates[0].Of(" operations"))
	}
	what := "medians and extremes"
	if f.Zoom {
		what = "the middle one"
	}
	if repeats := list.Largest(list.Map(s.groups, func(g group) int { return len(g.Repeats) })); repeats > 1 {
		text += fmt.Sprintf(", %s of %d repeats", what, repeats)
	}
	return text
}

func servers(d *results.Document) string {
	e := d.Environment
	if e.Engine == results.Embedded {
		return e.Access("the embedded server")
	}
	return fmt.Sprintf("%s, %d %s (%s)", e.Software(), len(e.Servers), table.Plural(len(e.Servers), "server"), e.Access(e.Engine))
}

func clientsText(n int) string { return fmt.Sprintf("%d %s", n, table.Plural(n, "client")) }

func (s *Set) clients() []int {
	return list.Distinct(list.Map(s.groups, func(g group) int { return g.Clients }))
}

func (s *Set) rates() []results.Rate {
	return list.Distinct(list.Map(s.groups, func(g group) results.Rate { return g.Rate }))
}

// mostClients returns the largest number of clients. The claims of a scenario are about it.
func (s *Set) mostClients() int { return slices.Max(s.clients()) }

func (s *Set) atMost() []group {
	n := s.mostClients()
	return list.Where(s.groups, func(g group) bool { return g.Clients == n })
}

// variants returns the groups of each variant, ascending by clients and rate. Naive variants come first.
func (s *Set) variants() [][]group {
	variant := func(g group) grouping.Key { return grouping.Key{Recipe: g.Recipe, Kind: g.Kind, Variant: g.Variant} }
	sorted := slices.SortedStableFunc(slices.Values(s.groups), func(a, b group) int { return variant(a).Compare(variant(b)) })
	return list.GroupBy(sorted, variant)
}
