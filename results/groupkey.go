package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// GroupKey identifies a variant under one load, with one number of clients and one rate. Documents with equal keys are repeats of each
// other if their conditions are the same, too; see [GroupRepeats].
type GroupKey struct {
	Scenario, Recipe, Kind, Variant string

	Size, Clients, Rate int // Rate is 0 unless the load is open
}

// Key returns the key of the document's group.
func (d *Document) Key() GroupKey {
	return GroupKey{d.Scenario.Name, d.Recipe, d.Kind, d.Variant, d.Scenario.Size, d.Clients, d.Rate}
}

// kinds are the kinds of variants in the order of tables.
func kinds() []string { return []string{"naive", "optimized", "library", Application} }

// Application is the kind of a program that zkbench has only observed.
const Application = "application"

// Compare orders keys as tables show them: naive variants stand before optimized ones, and those of libraries come last.
func (k GroupKey) Compare(o GroupKey) int {
	return cmp.Or(
		strings.Compare(k.Scenario, o.Scenario),
		cmp.Compare(k.Size, o.Size),
		cmp.Compare(k.Clients, o.Clients),
		cmp.Compare(k.Rate, o.Rate),
		cmp.Compare(slices.Index(kinds(), k.Kind), slices.Index(kinds(), o.Kind)),
		strings.Compare(k.Variant, o.Variant),
		strings.Compare(k.Recipe, o.Recipe),
	)
}

// WithoutVariant returns the key that all variants of a recipe share under the same load and number of clients.
func (k GroupKey) WithoutVariant() GroupKey {
	k.Kind, k.Variant = "", ""
	return k
}

// Name returns the variant with its recipe, such as "lock/predecessor-watch".
func (k GroupKey) Name() string { return k.Recipe + "/" + k.Variant }

// Title returns the scenario, with its size if that is more than 1, and with the rate of an open load.
func (k GroupKey) Title() string {
	title := k.Scenario
	if k.Size > 1 {
		title += fmt.Sprintf(" (size %d)", k.Size)
	}
	if k.Rate > 0 {
		title += fmt.Sprintf(" at %d/s", k.Rate)
	}
	return title
}

// compareDocuments orders documents as tables show them, with the repeats of a group side by side.
func compareDocuments(a, b *Document) int {
	return cmp.Or(a.Key().Compare(b.Key()), strings.Compare(a.Environment.Engine, b.Environment.Engine), cmp.Compare(a.Repeat, b.Repeat))
}

// Setup is a text that is equal for documents that were measured under the same load on the same kind of servers and machine, so that they
// may stand in one figure.
func (d *Document) Setup() string { return fmt.Sprintf("%q %q", d.Scenario.Name, d.Conditions()) } // fmt sorts maps

// SameConditions reports whether two documents have the same setup.
func (d *Document) SameConditions(o *Document) bool { return d.Setup() == o.Setup() }

// GroupRepeats returns the documents in groups that differ only in their repeat, in the order of tables.
func GroupRepeats(docs []*Document) [][]*Document {
	type repeats struct {
		GroupKey
		setup string
	}
	sorted := slices.SortedStableFunc(slices.Values(docs), compareDocuments)
	return GroupBy(sorted, func(d *Document) repeats { return repeats{d.Key(), d.Setup()} })
}
