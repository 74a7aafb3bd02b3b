// Package plots draws results: a few figures in one style, each kind in a source file of its own.
//
// It takes one position: a picture must answer what its scenario asks, and must not say more than its numbers. The figures of a
// scenario follow its claims and what its recipe measures. A figure in which nothing differs is not drawn, and the reader is told.
// Latencies are drawn as whole distributions, and medians with the extremes of their repeats. A timeline shows the middle of the
// middle repeat instead of a selected stretch. A variant looks the same in all figures of its scenario: naive ones have warm colors
// and shapes with corners, optimized ones cool colors and round shapes, and those of libraries grays and crosses. Colors stand for
// verdicts where two runs are compared in ratios: warm is worse, and cool is better.
package plots

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
)

// NotDrawn says of a scenario what has no figure.
type NotDrawn struct {
	Set    string   // the beginning of the names of the scenario's figures
	Same   []string // metrics in which nothing differs, each with its value
	Others []string // other figures, each with the reason
}

// Texts returns a text for all metrics that are the same, and one for each other figure.
func (n NotDrawn) Texts() []string {
	if len(n.Same) == 0 {
		return n.Others
	}
	return append([]string{"the same everywhere: " + strings.Join(n.Same, ", ")}, n.Others...)
}

// String returns the scenario and everything that is not drawn of it.
func (n NotDrawn) String() string { return n.Set + ": " + strings.Join(n.Texts(), "; ") }

// WriteAll stores figures in a folder, which it creates, in each of the formats. The files of one figure follow each other. Figures
// are drawn in parallel, on as many CPUs as there are.
func WriteAll(figures []Figure, dir string, formats []string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	var files []string
	var drawing errgroup.Group
	drawing.SetLimit(runtime.GOMAXPROCS(0))
	for _, f := range figures {
		for _, format := range formats {
			path := filepath.Join(dir, f.Name+"."+format)
			files = append(files, path)
			drawing.Go(func() error { return f.Write(path, format) })
		}
	}
	return files, drawing.Wait()
}

// Figures returns every figure that the documents have something to show in, scenario by scenario, and what they show nothing in. It
// never mixes documents of different loads, engines, versions or machines in one figure, and leaves out those whose numbers must
// not be used.
func Figures(docs []*results.Document) ([]Figure, []NotDrawn, error) {
	var figures []Figure
	var notDrawn []NotDrawn
	for _, s := range setsOf(docs) {
		own, err := s.figures()
		if err != nil {
			return nil, nil, err
		}
		figures = append(figures, own...)
		if n := s.notDrawn; len(n.Same)+len(n.Others) > 0 {
			n.Set = s.prefix
			notDrawn = append(notDrawn, n)
		}
	}
	return append(figures, pairsFigure(docs)...), notDrawn, nil
}

// set is the documents of one scenario under the same conditions.
type set struct {
	docs     []*results.Document
	groups   [][]*results.Document             // repeats of one variant under one number of clients
	rows     map[*results.Document]summary.Row // of each group, by its first document
	looks    palette
	prefix   string // begins the names of the set's files
	notDrawn NotDrawn
}

// setsOf returns the sets of documents, those of open loads at several rates first.
func setsOf(docs []*results.Document) []*set {
	drawable := list.Where(grouping.WithoutUnfinished(docs), (*results.Document).Drawable)
	isOpen := func(d *results.Document) bool { return d.Rate > 0 }
	var all []*set
	others := slices.DeleteFunc(slices.Clone(drawable), isOpen)
	for _, sweep := range list.GroupBy(list.Where(drawable, isOpen), allButRate) {
		if s := newSet(sweep); len(s.rates()) >= fewestRates {
			all = append(all, s)
		} else {
			others = append(others, sweep...)
		}
	}
	all = append(all, list.Map(list.GroupBy(others, grouping.Setup), newSet)...)
	used := map[string]int{}
	for _, s := range all {
		// Several sets of one scenario and engine differ in a condition that the file name does not have.
		if used[s.prefix]++; used[s.prefix] > 1 {
			s.prefix = fmt.Sprintf("%s-%d", s.prefix, used[s.prefix])
		}
	}
	return all
}

// allButRate is a text that is equal for documents that were measured under the same conditions and clients, except for the rate.
func allButRate(d *results.Document) string {
	same := *d
	same.Rate = 0
	return fmt.Sprint(grouping.Setup(&same), d.Clients)
}

// Set groups the documents that share figures, with the name that these begin with.
type Set struct {
	Name string
	Docs []*results.Document
}

// Sets returns the documents in the groups in which they are drawn. Those whose numbers must not be used are in none.
func Sets(docs []*results.Document) []Set {
	return list.Map(setsOf(docs), func(s *set) Set { return Set{s.prefix, s.docs} })
}

// newSet returns a set of drawable documents.
func newSet(docs []*results.Document) *set {
	s := &set{docs: docs, groups: grouping.Repeats(docs), rows: map[*results.Document]summary.Row{}, looks: newPalette(docs)}
	for _, g := range s.groups {
		s.rows[g[0]] = summary.Of(g)[0]
	}
	s.prefix = docs[0].Scenario.Name + "-" + docs[0].Environment.Engine
	if rates := s.rates(); len(rates) == 1 && rates[0] > 0 {
		s.prefix += fmt.Sprintf("-rate%d", rates[0])
	}
	return s
}

// same notes that nothing differs in a metric. That of a metric that the scenario does not ask about goes without saying, unless it is
// a count that every recipe has.
func (s *set) same(q quantity, all []series) {
	if slices.Contains(s.asked(), q.Name) || slices.Contains(metric.WithFormula(), q.Name) {
		text := q.Name + " " + q.Format(all[0].points[0].value/q.factor)
		if len(all) == 1 && len(s.variants()) > 1 {
			text += " of " + all[0].name + " alone"
		}
		s.notDrawn.Same = append(s.notDrawn.Same, text)
	}
}

// without notes that a figure is not drawn.
func (s *set) without(format string, args ...any) {
	s.notDrawn.Others = append(s.notDrawn.Others, fmt.Sprintf(format, args...))
}

// asked returns the metrics that the scenario is about, of these kinds, or of all.
func (s *set) asked(kinds ...metric.Kind) []string {
	return list.Where(s.docs[0].Scenario.Asks, func(name string) bool {
		return len(kinds) == 0 || slices.Contains(kinds, metric.Named(name).Kind)
	})
}

// subject names the scenario and the servers, what shapes the load, and what its points are.
func (s *set) subject() string { return s.shown("medians and extremes") }

// subjectOfOne is the subject of a figure of single events, which shows one repeat.
func (s *set) subjectOfOne() string { return s.shown("the middle one") }

// shown returns the load, and what of several repeats is shown.
func (s *set) shown(what string) string {
	if repeats := s.repeats(); repeats > 1 {
		return fmt.Sprintf("%s, %s of %d repeats", s.load(), what, repeats)
	}
	return s.load()
}

// load names the scenario and the servers, and what shapes the load.
func (s *set) load() string {
	d := s.docs[0]
	text := d.Scenario.Name + " on " + servers(d)
	if hold := d.Scenario.Hold; hold > 0 {
		text += fmt.Sprintf(", hold %s", hold)
	}
	if rates := s.rates(); len(rates) == 1 && rates[0] > 0 {
		most := ""
		if d.IsStaged() {
			most = "up to "
		}
		text += fmt.Sprintf(", %s%d operations/s offered", most, rates[0])
	}
	return text
}

// servers names the servers of a document.
func servers(d *results.Document) string {
	e := d.Environment
	if e.Engine == results.Embedded {
		return "the embedded server"
	}
	return fmt.Sprintf("ZooKeeper %s, %d %s (%s)", e.ZooKeeper, len(e.Servers), table.Plural(len(e.Servers), "server"), e.Engine)
}

// repeats returns the largest number of repeats of a group.
func (s *set) repeats() int {
	return list.Largest(list.Map(s.groups, func(g []*results.Document) int { return len(g) }))
}

// clients returns the numbers of clients in the set, ascending.
func (s *set) clients() []int {
	return list.Distinct(list.Map(s.groups, func(g []*results.Document) int { return g[0].Clients }))
}

// mostClients returns the largest number of clients, about which a scenario's claims are.
func (s *set) mostClients() int { return slices.Max(s.clients()) }

// atMost returns the groups with the largest number of clients, naive ones first.
func (s *set) atMost() [][]*results.Document {
	n := s.mostClients()
	return slices.DeleteFunc(slices.Clone(s.groups), func(g []*results.Document) bool { return g[0].Clients != n })
}

// variants returns the groups of each variant, ascending by clients and rate; naive variants come first.
func (s *set) variants() [][][]*results.Document {
	keys := make([]grouping.Key, len(s.groups))
	for i, g := range s.groups {
		keys[i] = grouping.KeyOf(g[0])
		keys[i].Clients, keys[i].Rate = 0, 0
	}
	sorted := slices.Clone(keys)
	slices.SortFunc(sorted, grouping.Key.Compare)
	sorted = slices.Compact(sorted)
	out := make([][][]*results.Document, len(sorted))
	for i, g := range s.groups {
		v := slices.Index(sorted, keys[i])
		out[v] = append(out[v], g)
	}
	return out
}

// figures returns the figures in which the set has something to show, those of the costs first.
func (s *set) figures() ([]Figure, error) {
	if len(s.rates()) > 1 {
		return s.knee(), nil
	}
	percentiles, err := s.percentiles()
	if err != nil {
		return nil, err
	}
	return slices.Concat(
		s.costs(), s.throughput(), s.outcomes(), s.latencies(), percentiles, s.floor(),
		s.herdSizes(), s.timelines(), s.overTime(), s.recoveries(), s.failures(),
	), nil
}
