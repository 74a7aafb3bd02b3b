package compare

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/results/table"
)

type group struct {
	grouping.Key // without the kind, which may differ between two builds

	side string
	docs []*results.Document
}

type match struct{ base, other group }

func keyOf(d *results.Document) grouping.Key {
	k := grouping.KeyOf(d)
	k.Kind = ""
	return k
}

func groupOf(side string, docs []*results.Document) group { return group{keyOf(docs[0]), side, docs} }

func grouped(side Side) []group {
	return list.Map(list.GroupBy(side.Docs, keyOf), func(docs []*results.Document) group { return groupOf(side.Name, docs) })
}

// matchUp returns each other group with the base of the same key, in the order of the base, and notes the groups without a partner.
func (c *Comparison) matchUp(base, others []group, key func(group) grouping.Key) []match {
	partners := func(g group, in []group) []group {
		return list.Where(in, func(o group) bool { return key(o) == key(g) })
	}
	for _, side := range [][2][]group{{base, others}, {others, base}} {
		alone := list.Where(side[0], func(g group) bool { return len(partners(g, side[1])) == 0 })
		if len(alone) > 0 {
			c.LeftOut = append(c.LeftOut, fmt.Sprintf("only in %s: %s", alone[0].side, inventory(alone)))
		}
	}
	return slices.Concat(list.Map(base, func(b group) []match {
		return list.Map(partners(b, others), func(o group) match { return match{b, o} })
	})...)
}

// inventory lists groups: "lock-drain with 10, 50 clients: lock/children-watch, lock/znode".
func inventory(groups []group) string {
	variants := list.GroupBy(groups, func(g group) [2]string { return [2]string{g.Title(), g.Name()} })
	head := func(loads []group) string {
		clients := list.Map(loads, func(g group) string { return strconv.Itoa(g.Clients) })
		return fmt.Sprintf("%s with %s %s", loads[0].Title(), strings.Join(clients, ", "), table.Plural(loads[len(loads)-1].Clients, "client"))
	}
	return table.Escaped(strings.Join(list.Map(list.GroupBy(variants, head), func(same [][]group) string {
		names := list.Map(same, func(loads []group) string { return loads[0].Name() })
		return head(same[0]) + ": " + strings.Join(names, ", ")
	}), "; "))
}

func (m match) documents() []*results.Document { return slices.Concat(m.base.docs, m.other.docs) }

func (m match) sameMeasurement() error {
	for _, a := range m.base.docs {
		for _, b := range m.other.docs {
			if a.Run == b.Run && a.Filename() == b.Filename() && a.Started.Equal(b.Started) {
				return fmt.Errorf("%s of run %q stands on both sides: name two different runs", table.Escaped(a.Filename()), a.Run)
			}
		}
	}
	return nil
}

// defaultMetrics returns the metrics that are compared by default: throughput, the median of the first two phases, and the
// counts that load the ensemble. Tails are left out, because a few repeats cannot distinguish them. With faults, their costs
// come first. In open loads, whose throughput is the rate, response times replace it.
func defaultMetrics(d *results.Document) []string {
	out := append(metric.OfFaults(), metric.OpsPerSecond)
	if d.Rate > 0 {
		out = append(metric.OfFaults(), metric.Quantile(results.ResponsePhase, 50), metric.Quantile(results.ResponsePhase, 90))
	}
	for _, phase := range d.Phases[:min(len(d.Phases), 2)] {
		out = append(out, metric.Quantile(phase, 50))
	}
	return append(out, metric.RequestsPerOp, metric.WritesPerOp, metric.NotificationsPerOp, metric.HerdMax)
}

func names(docs []*results.Document) []string {
	return slices.Sorted(maps.Keys(metric.Aggregate(docs)))
}

func (m match) metrics(patterns []string) []string {
	if len(patterns) == 0 {
		patterns = defaultMetrics(m.base.docs[0])
	}
	known := names(m.documents())
	return list.AppendNew(nil, slices.Concat(list.Map(patterns, func(p string) []string {
		return list.Where(known, func(name string) bool { return fits(p, name) })
	})...)...)
}

// fits reports whether a name matches a pattern. A slash in a metric is an ordinary character, and is hidden from path.Match.
func fits(pattern, name string) bool {
	hide := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, err := path.Match(hide(pattern), hide(name))
	return ok && err == nil
}

func checkMetrics(matches []match, patterns []string) error {
	known := names(slices.Concat(list.Map(matches, match.documents)...))
	for _, p := range patterns {
		if !slices.ContainsFunc(known, func(name string) bool { return fits(p, name) }) {
			return fmt.Errorf("--metrics: no metric matches %q%s", p, strict.Nearest(p, known))
		}
	}
	return nil
}

// Subjects returns the kinds of conditions that a comparison can be about. The machine is not one of them: machines cannot
// take turns, so that times of two machines are never compared.
func Subjects() []grouping.Aspect {
	return []grouping.Aspect{grouping.EngineAspect, grouping.ZooKeeperAspect, grouping.SettingsAspect}
}

// Difference is a condition in which two sides differ.
type Difference struct {
	Subject  grouping.Aspect `json:"subject"`
	Name     string          `json:"name"` // such as "tickTime"
	Side     string          `json:"side"` // the side that differs from the base
	Base     string          `json:"base"`
	Other    string          `json:"other"`
	Accepted bool            `json:"accepted"` // times are compared all the same
}

// or stands between the values of a condition in which a side differs within itself.
const or = " or "

// differences includes the load, and leaves out settings that only one of two engines or products reports.
func (m match) differences(across []grouping.Aspect) []Difference {
	side := m.other.side
	if m.base.side == side { // within one run
		side = m.other.Name()
	}
	all := grouping.Differing(m.base.docs, m.other.docs)
	unlike := slices.ContainsFunc(all, func(d grouping.Difference) bool {
		return d.Aspect == grouping.EngineAspect || d.Name == grouping.ProductCondition
	})
	var out []Difference
	for _, d := range all {
		one := Difference{d.Aspect, d.Name, side, strings.Join(d.Base, or), strings.Join(d.Other, or), false}
		if unlike && (one.Base == grouping.Unset || one.Other == grouping.Unset || d.Name == "image") {
			continue
		}
		mixed := len(d.Base) > 1 || len(d.Other) > 1
		one.Accepted = d.Aspect == grouping.BuildAspect || !mixed && slices.Contains(across, d.Aspect) && one.mayBeSubject()
		out = append(out, one)
	}
	return out
}

// mayBeSubject reports whether times may be compared across the difference. They must not be compared if only one side is
// embedded, or has its transaction log in memory, where no write waits for a disk.
func (d Difference) mayBeSubject() bool {
	if d.Name == grouping.TxnLogCondition {
		return grouping.OnMemoryFileSystem(d.Base) == grouping.OnMemoryFileSystem(d.Other)
	}
	return d.Subject != grouping.EngineAspect || d.Base != results.Embedded && d.Other != results.Embedded
}

func (m match) differentLoads(differences []Difference) error {
	loads := list.Where(differences, func(d Difference) bool { return d.Subject == grouping.LoadAspect })
	if len(loads) == 0 {
		return nil
	}
	texts := list.Map(loads, func(d Difference) string { return fmt.Sprintf("%s %s and %s", d.Name, d.Base, d.Other) })
	return fmt.Errorf("%s: these are different loads: %s; measure both with the same load",
		table.Escaped(m.base.Scenario), table.Escaped(strings.Join(texts, ", ")))
}

func obstacle(differences []Difference) string {
	refused := list.Where(differences, func(d Difference) bool { return !d.Accepted })
	if len(refused) == 0 {
		return ""
	}
	return "measured under different conditions: " + strings.Join(list.Map(refused, func(d Difference) string { return d.Name }), ", ")
}
