package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// writeBounds writes, for each recipe, its bound, the best of its optimized variants, and all of client libraries.
func writeBounds(w io.Writer, docs []*results.Document, _ string) error {
	t := table.New(append(table.Left("recipe", "variant"),
		table.Right("clients", "req/op", "failed/op", "notif/op", "herd max", "×floor")...)...)
	for _, r := range catalog.Recipes() {
		rows := summary.Of(list.Where(docs, func(d *results.Document) bool { return d.Recipe == r.Name }))
		if len(rows) == 0 {
			return fmt.Errorf("recipe %s is not in the run", r.Name)
		}
		first := rows[0].Repeats[0]
		at := func(f variants.Formula) float64 { return f.AtSize(first.Clients, first.Scenario.Size) }
		count := func(name string, value float64) string { return metric.Named(name).Format(value) }
		multiple := table.Missing
		if floorOf(r) != "" {
			multiple = count(metric.FloorMultiple(r.Bound.Phase), 1)
		}
		t.Row(r.Name, "the bound", first.Clients, count(metric.RequestsPerOp, at(r.Bound.Writes)+at(r.Bound.Reads)),
			count(metric.FailedWritesPerOp, 0), count(metric.NotificationsPerOp, at(r.Bound.Notifications)), table.Missing, multiple)
		for _, row := range bestAndLibraries(rows, r) {
			show := func(name string) string {
				if metric.Named(name).OfFloor() && row.Repeats[0].Environment.Engine == results.Embedded {
					return table.Missing // its times are not those of an ensemble
				}
				return report.Show(row, name)
			}
			t.Row("", strings.TrimSpace("`"+row.Variant+"` "+row.Mark), row.Clients, show(metric.RequestsPerOp), show(metric.FailedWritesPerOp),
				show(metric.NotificationsPerOp), show(metric.HerdMax), show(metric.FloorMultiple(r.Bound.Phase)))
		}
	}
	_, err := fmt.Fprintln(w, t.Markdown())
	return err
}

// bestAndLibraries returns the optimized variant with the fewest requests for each operation and, among those for which tables show
// as many, the fastest; then the libraries' variants.
func bestAndLibraries(rows []summary.Row, r variants.Recipe) []summary.Row {
	of := func(kind variants.Kind) []summary.Row {
		return list.Where(rows, func(row summary.Row) bool { return row.Repeats[0].Kind == string(kind) })
	}
	value := func(row summary.Row, name string) float64 {
		if v, measured := row.Metrics[name]; measured {
			return v.Value
		}
		return math.Inf(1)
	}
	optimized, libraries := of(variants.Optimized), of(variants.Library)
	if len(optimized) == 0 {
		return libraries
	}
	best := slices.MinFunc(optimized, func(a, b summary.Row) int {
		requests := 0
		if report.Show(a, metric.RequestsPerOp) != report.Show(b, metric.RequestsPerOp) {
			requests = cmp.Compare(value(a, metric.RequestsPerOp), value(b, metric.RequestsPerOp))
		}
		floor := metric.FloorMultiple(r.Bound.Phase)
		return cmp.Or(requests, cmp.Compare(value(a, floor), value(b, floor)))
	})
	return append([]summary.Row{best}, libraries...)
}

func floorOf(r variants.Recipe) variants.Floor {
	return r.Phases[slices.IndexFunc(r.Phases, func(p variants.Phase) bool { return p.Name == r.Bound.Phase })].Floor
}

// writeReasons writes the bound of each recipe as formulas, and why it holds.
func writeReasons(w io.Writer, _ []*results.Document, _ string) error {
	t := table.New(table.Left("recipe", "phase", "writes", "reads", "notifications", "because")...)
	for _, r := range catalog.Recipes() {
		t.Row(r.Name, r.Bound.Phase, string(r.Bound.Writes), string(r.Bound.Reads), string(r.Bound.Notifications), r.Bound.Why)
	}
	_, err := fmt.Fprintln(w, t.Markdown())
	return err
}

// The stored run has all variants of the group bounds, and none of them costs less than its recipe's bound.
func TestBoundsHoldInTheStoredRun(t *testing.T) {
	docs := readStored(t, scenarios.BoundsName)
	for _, s := range scenarios.Bounds(catalog.Recipes()) {
		r := *s.RecipeAmong(catalog.Recipes())
		for _, v := range s.Selected(r) {
			own := list.Where(docs, func(d *results.Document) bool { return d.Recipe == r.Name && d.Variant == v.Name })
			if len(own) == 0 {
				t.Errorf("%s/%s is not in the stored run: `make results PAGE=bounds`", r.Name, v.Name)
			}
			for _, d := range own {
				if wrong := belowBound(r.Bound, d); wrong != "" {
					t.Error(wrong)
				}
				twice := *d
				if twice.Window.Operations *= 100; d.Window.Operations > 0 && belowBound(r.Bound, &twice) == "" {
					t.Errorf("%s/%s: a hundredth of its requests is not found to be too few", r.Name, v.Name)
				}
			}
		}
	}
}

// belowBound describes a measurement with fewer writes or requests than the bound. It returns an empty text for any other. Of the requests of
// a group, such as all readers of an update, only the writes are compared: readers that fall behind read once for several updates.
func belowBound(b variants.Bound, d *results.Document) string {
	const rounding = 1e-9
	operations := float64(d.Window.Operations)
	writes, reads := b.Writes.AtSize(d.Clients, d.Scenario.Size)*operations, b.Reads.AtSize(d.Clients, d.Scenario.Size)*operations
	requests := writes + reads
	if reads > operations {
		requests = writes
	}
	if float64(d.Counts.Writes)+rounding >= writes && float64(d.Counts.TotalRequests())+rounding >= requests {
		return ""
	}
	return fmt.Sprintf("%s/%s: %d operations of %d clients took %d writes and %d requests, and the bound is %g and %g", d.Recipe, d.Variant,
		d.Window.Operations, d.Clients, d.Counts.Writes, d.Counts.TotalRequests(), writes, requests)
}
