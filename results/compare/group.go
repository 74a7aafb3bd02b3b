package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// cell is where measurements can be compared at all.
type cell struct {
	scenario, recipe string
	size, clients    int
}

// group is all repeats of one variant in one cell, on one side.
type group struct {
	cell
	side, variant string
	docs          []*results.Document
}

// match is two groups of one cell.
type match struct{ base, other group }

// grouped sorts a side's documents into groups, in the order in which they first come.
func grouped(side Side) []group {
	var groups []group
	for _, d := range side.Docs {
		g := group{cell: cell{d.Scenario.Name, d.Recipe, max(d.Scenario.Size, 1), d.Clients}, side: side.Name, variant: d.Variant}
		i := slices.IndexFunc(groups, func(o group) bool { return o.cell == g.cell && o.variant == g.variant })
		if i < 0 {
			i, groups = len(groups), append(groups, g)
		}
		groups[i].docs = append(groups[i].docs, d)
	}
	return groups
}

// matchUp returns each other group with its base, in the order of the base.
func matchUp(base, others []group, same func(a, b group) bool) []match {
	var out []match
	for _, b := range base {
		for _, o := range others {
			if same(b, o) {
				out = append(out, match{b, o})
			}
		}
	}
	return out
}

// leaveOut notes the groups that have no partner.
func (c *Comparison) leaveOut(groups, partners []group, same func(a, b group) bool) {
	alone := slices.DeleteFunc(slices.Clone(groups), func(g group) bool {
		return slices.ContainsFunc(partners, func(p group) bool { return same(g, p) })
	})
	if len(alone) > 0 {
		c.LeftOut = append(c.LeftOut, fmt.Sprintf("only in %s: %s", alone[0].side, inventory(alone)))
	}
}

// listed is variants that were measured with the same numbers of clients.
type listed struct {
	place    string
	variants []string
	clients  []int
}

// inventory says what there is: "lock-drain with 10, 50 clients: lock/children-watch, lock/znode".
func inventory(groups []group) string {
	var each, merged []listed // per variant, then per numbers of clients
	for _, g := range groups {
		i := slices.IndexFunc(each, func(l listed) bool { return l.place == g.title() && l.variants[0] == g.name() })
		if i < 0 {
			i, each = len(each), append(each, listed{place: g.title(), variants: []string{g.name()}})
		}
		each[i].clients = append(each[i].clients, g.clients)
	}
	for _, l := range each {
		i := slices.IndexFunc(merged, func(o listed) bool { return o.place == l.place && slices.Equal(o.clients, l.clients) })
		if i < 0 {
			merged = append(merged, l)
			continue
		}
		merged[i].variants = append(merged[i].variants, l.variants...)
	}
	var out []string
	for _, l := range merged {
		clients := strings.Trim(strings.ReplaceAll(fmt.Sprint(l.clients), " ", ", "), "[]")
		noun := results.Plural(l.clients[len(l.clients)-1], "client")
		out = append(out, fmt.Sprintf("%s with %s %s: %s", l.place, clients, noun, strings.Join(l.variants, ", ")))
	}
	return strings.Join(out, "; ")
}

// name is the variant as it is written everywhere.
func (g group) name() string { return g.recipe + "/" + g.variant }

// title names the scenario, and the size where there is one.
func (c cell) title() string {
	if c.size <= 1 {
		return c.scenario
	}
	return fmt.Sprintf("%s (size %d)", c.scenario, c.size)
}

// values returns a metric of each document that has it, as medians and extremes.
func (g group) values(metric string) (results.Aggregated, bool) {
	a, ok := results.Aggregate(g.docs)[metric]
	return a, ok
}

// has counts the documents that have a metric.
func (g group) has(metric string) int {
	n := 0
	for _, d := range g.docs {
		if _, ok := d.Metrics[metric]; ok {
			n++
		}
	}
	return n
}

// all tells whether something holds for every document.
func (g group) all(is func(*results.Document) bool) bool {
	return !slices.ContainsFunc(g.docs, func(d *results.Document) bool { return !is(d) })
}

// mark says if the numbers must not be used.
func (g group) mark() string {
	kept := g.all(func(d *results.Document) bool { return len(d.Violations) == 0 })
	valid := g.all(func(d *results.Document) bool { return len(d.Invalid) == 0 })
	return results.Mark(!kept, !valid)
}

// sameMeasurement finds a document that stands on both sides.
func (m match) sameMeasurement() error {
	for _, a := range m.base.docs {
		for _, b := range m.other.docs {
			if a.Run == b.Run && a.Filename() == b.Filename() && a.Started.Equal(b.Started) {
				return fmt.Errorf("%s of run %s stands on both sides: name two different runs", a.Filename(), a.Run)
			}
		}
	}
	return nil
}
