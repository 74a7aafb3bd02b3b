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
	results.GroupKey // without the kind, which may differ between two builds

	side string
	docs []*results.Document
}

// match is two groups that can be compared.
type match struct{ base, other group }

// grouped returns a side's documents in groups, in the order in which they first come.
func grouped(side Side) []group {
	key := func(d *results.Document) results.GroupKey {
		k := d.Key()
		k.Kind = ""
		return k
	}
	return results.Map(results.GroupBy(side.Docs, key), func(docs []*results.Document) group { return group{key(docs[0]), side.Name, docs} })
}

// matchUp returns each other group with the base of the same key, in the order of the base, and notes the groups without a partner.
func (c *Comparison) matchUp(base, others []group, key func(group) results.GroupKey) []match {
	partners := func(g group, in []group) []group {
		return results.Where(in, func(o group) bool { return key(o) == key(g) })
	}
	for _, side := range [][2][]group{{base, others}, {others, base}} {
		alone := results.Where(side[0], func(g group) bool { return len(partners(g, side[1])) == 0 })
		if len(alone) > 0 {
			c.LeftOut = append(c.LeftOut, fmt.Sprintf("only in %s: %s", alone[0].side, inventory(alone)))
		}
	}
	var out []match
	for _, b := range base {
		out = append(out, results.Map(partners(b, others), func(o group) match { return match{b, o} })...)
	}
	return out
}

// inventory lists groups: "lock-drain with 10, 50 clients: lock/children-watch, lock/znode".
func inventory(groups []group) string {
	variants := results.GroupBy(groups, func(g group) [2]string { return [2]string{g.Title(), g.Name()} })
	head := func(loads []group) string {
		clients := results.Map(loads, func(g group) string { return strconv.Itoa(g.Clients) })
		return fmt.Sprintf("%s with %s %s", loads[0].Title(), strings.Join(clients, ", "), results.Plural(loads[len(loads)-1].Clients, "client"))
	}
	return strings.Join(results.Map(results.GroupBy(variants, head), func(same [][]group) string {
		names := results.Map(same, func(loads []group) string { return loads[0].Name() })
		return head(same[0]) + ": " + strings.Join(names, ", ")
	}), "; ")
}

// documents returns the documents of both groups.
func (m match) documents() []*results.Document { return slices.Concat(m.base.docs, m.other.docs) }

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
