package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/results"
)

// group holds all repeats of one variant under one load, on one side.
type group struct {
	key  results.GroupKey // without the kind, which may differ between two builds
	side string
	docs []*results.Document
}

// match is two groups that can be compared.
type match struct{ base, other group }

// grouped returns a side's documents in groups, in the order in which they first come.
func grouped(side Side) []group {
	var groups []group
	for _, d := range side.Docs {
		key := d.Key()
		key.Kind = ""
		i := slices.IndexFunc(groups, func(g group) bool { return g.key == key })
		if i < 0 {
			i, groups = len(groups), append(groups, group{key: key, side: side.Name})
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

// leaveOut notes the groups without a partner.
func (c *Comparison) leaveOut(groups, partners []group, same func(a, b group) bool) {
	alone := slices.DeleteFunc(slices.Clone(groups), func(g group) bool {
		return slices.ContainsFunc(partners, func(p group) bool { return same(g, p) })
	})
	if len(alone) > 0 {
		c.LeftOut = append(c.LeftOut, fmt.Sprintf("only in %s: %s", alone[0].side, inventory(alone)))
	}
}

// inventory lists groups: "lock-drain with 10, 50 clients: lock/children-watch, lock/znode".
func inventory(groups []group) string {
	type variant struct{ title, name string }
	var order []variant
	clients := map[variant][]string{}
	for _, g := range groups {
		v := variant{g.key.Title(), g.key.Name()}
		if clients[v] == nil {
			order = append(order, v)
		}
		clients[v] = append(clients[v], strconv.Itoa(g.key.Clients))
	}
	var heads []string // scenarios with their numbers of clients
	variants := map[string][]string{}
	for _, v := range order {
		noun := "clients"
		if n := clients[v]; n[len(n)-1] == "1" {
			noun = "client"
		}
		head := fmt.Sprintf("%s with %s %s", v.title, strings.Join(clients[v], ", "), noun)
		if variants[head] == nil {
			heads = append(heads, head)
		}
		variants[head] = append(variants[head], v.name)
	}
	for i, head := range heads {
		heads[i] = head + ": " + strings.Join(variants[head], ", ")
	}
	return strings.Join(heads, "; ")
}

// values returns the median and the extremes of a metric, over the documents that have it.
func (g group) values(metric string) (results.Aggregated, bool) {
	a, ok := results.Aggregate(g.docs)[metric]
	return a, ok
}

// has returns the number of documents that have a metric.
func (g group) has(metric string) int {
	return len(results.Where(g.docs, func(d *results.Document) bool { _, ok := d.Metrics[metric]; return ok }))
}

// unsound reports whether the numbers must not be compared. Those that an unfinished measurement has may be.
func (g group) unsound() bool {
	return !slices.Contains([]string{"", results.UnfinishedMark}, results.Mark(g.docs))
}

// partial reports whether one of the measurements was interrupted.
func (g group) partial() bool {
	return slices.ContainsFunc(g.docs, func(d *results.Document) bool { return d.Partial })
}

// sameMeasurement returns an error if a document is on both sides.
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
