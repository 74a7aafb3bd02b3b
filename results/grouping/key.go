// Package grouping decides which documents belong together: repeats of one measurement, and measurements under the same conditions.
//
// It takes one position: numbers are compared only if all conditions on which they depend are known to be equal, or are what is compared.
package grouping

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
)

// Key identifies a variant under one load, with one number of clients and one rate. Documents with equal keys are repeats of each
// other if their conditions are the same, too; see [Repeats].
type Key struct {
	Scenario, Recipe, Kind, Variant string

	Size, Clients int
	Rate          results.Rate // 0 unless the load is open
}

// KeyOf returns the key of the document's group.
func KeyOf(d *results.Document) Key {
	return Key{d.Scenario.Name, d.Recipe, d.Kind, d.Variant, d.Scenario.Size, d.Clients, d.Rate}
}

// Compare orders keys as tables show them: naive variants before optimized ones, and variants of libraries last.
func (k Key) Compare(o Key) int {
	kinds := []string{"naive", "optimized", "library", results.Application}
	return cmp.Or(
		strings.Compare(k.Scenario, o.Scenario),
		cmp.Compare(k.Size, o.Size),
		cmp.Compare(k.Clients, o.Clients),
		cmp.Compare(k.Rate, o.Rate),
		cmp.Compare(slices.Index(kinds, k.Kind), slices.Index(kinds, o.Kind)),
		strings.Compare(k.Variant, o.Variant),
		strings.Compare(k.Recipe, o.Recipe),
	)
}

// Name returns the variant with its recipe, such as "lock/predecessor-watch".
func (k Key) Name() string { return k.Recipe + "/" + k.Variant }

// Title returns the scenario, with its size if that is more than 1, and with the rate of an open load.
func (k Key) Title() string {
	title := k.Scenario
	if k.Size > 1 {
		title += fmt.Sprintf(" (size %d)", k.Size)
	}
	if k.Rate > 0 {
		title += " at " + k.Rate.Of("")
	}
	return title
}

// Compare orders documents as tables show them, with the repeats of a group next to each other.
func Compare(a, b *results.Document) int {
	return cmp.Or(KeyOf(a).Compare(KeyOf(b)), strings.Compare(a.Environment.Engine, b.Environment.Engine), cmp.Compare(a.Repeat, b.Repeat))
}

// Setup returns a text that is equal for documents that were measured under the same load on the same kind of servers and
// machine, so that they may be in one figure.
func Setup(d *results.Document) string { return fmt.Sprintf("%q %q", d.Scenario.Name, Conditions(d)) } // fmt sorts maps

// Repeats returns the documents in groups that differ only in their repeat, in the order of tables.
func Repeats(docs []*results.Document) [][]*results.Document {
	type repeats struct {
		Key
		setup string
	}
	sorted := slices.SortedStableFunc(slices.Values(docs), Compare)
	return list.GroupBy(sorted, func(d *results.Document) repeats { return repeats{KeyOf(d), Setup(d)} })
}

// WithoutUnfinished returns the documents without any group of repeats of which at least one was unfinished: the repeats that
// were finished would flatter the variant.
func WithoutUnfinished(docs []*results.Document) []*results.Document {
	unfinished := map[Key]bool{}
	for _, d := range docs {
		unfinished[KeyOf(d)] = unfinished[KeyOf(d)] || d.Unfinished != nil
	}
	return slices.DeleteFunc(slices.Clone(docs), func(d *results.Document) bool { return unfinished[KeyOf(d)] })
}
