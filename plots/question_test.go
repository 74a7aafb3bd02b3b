package plots_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/plots"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
)

// A metric in which nothing differs is not drawn, and listed with its value.
func TestWhatDoesNotDifferIsNotDrawn(t *testing.T) {
	docs := run(t)
	for _, d := range docs {
		d.Metrics[metric.WritesPerOp] = results.Metric{Value: 2, Unit: "per op"}
		d.Metrics[metric.RequestsPerOp] = results.Metric{Value: 2, Unit: "per op"}
		if d.Kind == "naive" {
			d.Metrics[metric.RequestsPerOp] = results.Metric{Value: 3, Unit: "per op"}
		}
	}
	_, notDrawn := plots.Figures(docs)
	if len(notDrawn) != 1 || !slices.Contains(notDrawn[0].Same, "writes/op 2.00") {
		t.Errorf("not drawn: %v; want writes/op 2.00 among them", notDrawn)
	}
	costs := figure(t, docs, "costs").Inline()
	if strings.Contains(costs, ">writes per operation<") || !strings.Contains(costs, ">requests per operation<") {
		t.Error("the costs have writes, which do not differ, or lack requests, which do")
	}
}

// A scenario that asks about a metric has a panel for it.
func TestFiguresFollowTheQuestion(t *testing.T) {
	asked := map[string]string{
		metric.ItemsLost: "outcomes", "stale/read": "outcomes", metric.Unavailable: "latencies", metric.BytesPeak: "costs", "notice-max-ns": "latencies",
		metric.RequestsPerSecond: "throughput", metric.Finished: "outcomes", metric.FencedPerOp: "outcomes", "background-reads/s": "throughput", "background-read-p50-ns": "latencies", "background-read-p50-slowdown": "latencies",
	}
	for metric, name := range asked {
		drawn := func(is bool) (text string) {
			docs := run(t)
			for i, d := range docs {
				d.Scenario.Asks = []string{metric}
				if delete(d.Metrics, metric); is {
					d.Metrics[metric] = results.Metric{Value: float64(i+1) * 1e6}
				}
			}
			all, _ := plots.Figures(docs)
			i := slices.IndexFunc(all, func(f plots.Figure) bool { return f.Name == "lock-contention-container-"+name })
			if i >= 0 {
				text = all[i].Inline()
			}
			return text
		}
		if with := drawn(true); with == "" || with == drawn(false) {
			t.Errorf("%s is not in the figure %s", metric, name)
		}
	}
}

// A bound far above every measurement is not drawn as if it were expected.
func TestFarBoundsAreNotDrawn(t *testing.T) {
	for _, tt := range []struct {
		factor float64 // of the bound to the measurement
		drawn  bool
	}{{1, true}, {1.4, true}, {2, false}, {50, false}} {
		docs := run(t)
		for _, d := range docs {
			cost := d.Metrics[metric.NotificationsPerOp].Value
			d.Expected.Costs = map[string]results.Cost{metric.NotificationsPerOp: {Formula: "N", Value: tt.factor * cost}}
		}
		costs := figure(t, docs, "costs").Inline()
		if drawn := strings.Contains(costs, "stroke-dasharray"); drawn != tt.drawn || strings.Contains(costs, ">formula") != tt.drawn {
			t.Errorf("a bound of %g times the measurement is drawn: %v, want %v", tt.factor, drawn, tt.drawn)
		}
	}
}

// The legend has no formula if the only metric with a formula near to it is not drawn, as nothing differs in it.
func TestNoLegendWithoutAFormula(t *testing.T) {
	docs := run(t)
	for _, d := range docs {
		d.Metrics[metric.RequestsPerOp] = results.Metric{Value: 2}
		d.Expected.Costs = map[string]results.Cost{metric.RequestsPerOp: {Formula: "2", Value: 2}}
	}
	if strings.Contains(figure(t, docs, "costs").Inline(), ">formula") {
		t.Error("the legend explains a line that is not drawn")
	}
}

// Variants stand in one timeline only if they make the same promise, or if the scenario's overview pairs them.
func TestTimelinesPairEqualPromises(t *testing.T) {
	docs := func(overview string) []*results.Document {
		var out []*results.Document
		for _, v := range []struct{ name, kind, forgoes string }{
			{"children-watch", "naive", metric.ItemsLost}, {"znode", "naive", ""}, {"aardvark", "optimized", ""}, {"predecessor-watch", "optimized", metric.ItemsLost},
		} {
			d := measured(t, v.name, v.kind, 4, 1)
			if d.Scenario.Overview = overview; v.forgoes != "" {
				d.Forgoes = []string{v.forgoes}
			}
			out = append(out, d)
		}
		return out
	}
	for _, tt := range []struct {
		overview string
		want     map[string]string // the upper variant, and the lower one
	}{
		{"", map[string]string{"children-watch": "predecessor-watch", "znode": "aardvark"}},
		{"predecessor-watch against znode by ops/s", map[string]string{"znode": "predecessor-watch", "children-watch": "predecessor-watch"}},
	} {
		for upper, lower := range tt.want {
			text := figure(t, docs(tt.overview), "timeline-n4-"+upper).Inline()
			for _, other := range []string{"aardvark", "predecessor-watch"} {
				if strings.Contains(text, other+" (") != (other == lower) {
					t.Errorf("overview %q: the timeline of %s, with %s: want only %s", tt.overview, upper, other, lower)
				}
			}
		}
	}
	apart := docs("")[:2]
	apart = append(apart, docs("")[2])
	_, names := draw(t, apart, "svg")
	if slices.Contains(names, "lock-contention-container-timeline-n4-children-watch.svg") {
		t.Error("a variant stands beside one that promises more")
	}
}

// Inline figures use only colors of the style sheet, escape texts, and show the value at each median.
func TestInline(t *testing.T) {
	docs := []*results.Document{withFailure(t, `<script>alert("1")</script>`, "naive"), withFailure(t, "predecessor-watch", "optimized")}
	for _, d := range docs {
		d.Scenario.Name = `a & "b" ]]> <i>`
	}
	figures, _ := plots.Figures(append(docs, run(t)...))
	style, spots := plots.InlineStyle(), 0
	for _, f := range figures {
		text := f.Inline()
		for _, class := range regexp.MustCompile(`class="([sf][0-9a-f]+)"`).FindAllStringSubmatch(text, -1) {
			if !strings.Contains(style, "."+class[1]+"{") {
				t.Errorf("%s: the style sheet has no class %s", f.Name, class[1])
			}
		}
		for _, element := range regexp.MustCompile(`<(?:path|text)[^>]*>`).FindAllString(text, -1) {
			if !strings.Contains(element, " class=") { // it would be black, on dark pages too
				t.Errorf("%s: no class in %s", f.Name, element)
			}
		}
		if strings.Contains(text, "<script") || strings.Contains(text, "<i>") || strings.Contains(text, `"b"`) {
			t.Errorf("%s has a name as markup", f.Name)
		}
		if err := wellFormed(text); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		spots += strings.Count(text, `<circle `)
	}
	if spots < 40 {
		t.Errorf("%d values can be pointed at in %d figures", spots, len(figures))
	}
}

// Runs are compared in two figures of each scenario: values and ratios. Rows that compare refuses are not drawn.
func TestCompared(t *testing.T) {
	var sides []compare.Side
	for i, name := range []string{"old", "new"} {
		side := compare.Side{Name: name}
		for _, clients := range []int{1, 4, 20} {
			for repeat := 1; repeat <= 7; repeat++ {
				for v, kind := range []string{"naive", "optimized"} {
					d := measured(t, []string{"children-watch", "predecessor-watch"}[v], kind, clients, repeat)
					d.Run, d.Started = name, time.Date(2026, 1, 2, 12, 2*repeat+(i+repeat)%2, 0, 0, time.UTC).Add(time.Duration(60*clients+20*v)*time.Minute)
					d.Herd.Grouping = results.GroupedByZxid
					d.Metrics["handoff-p50-ns"] = results.Metric{Value: float64(clients*(v+1)) * 1e6 * (1 + 0.5*float64(i*v)) * (1 + 0.01*float64(repeat%3))}
					side.Docs = append(side.Docs, d)
				}
			}
		}
		sides = append(sides, side)
	}
	c := must.Get(compare.Runs(sides, compare.Options{Metrics: []string{"handoff-p50-ns", metric.NotificationsPerOp}}))(t)
	docs := slices.Concat(sides[0].Docs, sides[1].Docs)
	figures, notDrawn := plots.Compared(c, docs)
	dir, names := write(t, figures, "svg")
	if want := []string{"lock-contention-compared-1-values.svg", "lock-contention-compared-1-ratios.svg"}; !slices.Equal(names, want) || len(notDrawn) > 0 {
		t.Fatalf("drew %v and not %v, want %v", names, notDrawn, want)
	}
	compareFiles(t, dir, "compared", names...)

	for _, d := range sides[1].Docs {
		d.Environment.ZooKeeper = "3.8.4"
	}
	c = must.Get(compare.Runs(sides, compare.Options{Metrics: []string{"handoff-p50-ns"}}))(t)
	if figures, notDrawn = plots.Compared(c, docs); len(figures) > 0 || len(notDrawn) != 1 || !strings.Contains(notDrawn[0].String(), "no handoff-p50-ns: measured under different conditions: ZooKeeper") {
		t.Errorf("%d figures of two versions of ZooKeeper, not drawn: %v", len(figures), notDrawn)
	}
}

// Two pairs of variants have a timeline, the overview's among them, and the others are named.
func TestTwoPairsHaveTimelines(t *testing.T) {
	docs := []*results.Document{measured(t, "predecessor-watch", "optimized", 4, 1)}
	for _, name := range []string{"a", "b", "c", "d"} {
		docs = append(docs, measured(t, name, "naive", 4, 1))
	}
	for _, d := range docs {
		d.Scenario.Overview = "predecessor-watch against d by ops/s"
	}
	figures, notDrawn := plots.Figures(docs)
	var drawn []string
	for _, f := range figures {
		if _, upper, is := strings.Cut(f.Name, "timeline-n4-"); is {
			drawn = append(drawn, upper)
		}
	}
	if want := []string{"d", "a"}; !slices.Equal(drawn, want) {
		t.Errorf("timelines of %v were drawn, want %v", drawn, want)
	}
	for _, want := range []string{"no timeline of b and predecessor-watch: 2 pairs are drawn", "no timeline of c and predecessor-watch"} {
		if !slices.ContainsFunc(notDrawn, func(n plots.NotDrawn) bool { return strings.Contains(n.String(), want) }) {
			t.Errorf("%v does not say %q", notDrawn, want)
		}
	}
}

// A metric that was measured with a single number of clients has no curve, and the reader is told.
func TestNoCurveOfOnePlace(t *testing.T) {
	few, many := measured(t, "children-watch", "naive", 1, 1), measured(t, "children-watch", "naive", 4, 1)
	delete(few.Metrics, "handoff-p50-ns")
	docs := []*results.Document{few, many, measured(t, "predecessor-watch", "optimized", 4, 1)}
	if text := figure(t, docs, "latencies").Inline(); strings.Contains(text, ">handoff, p50") || !strings.Contains(text, ">acquire, p50") {
		t.Error("the figure must have a panel of acquire, and none of handoff")
	}
	_, notDrawn := plots.Figures(docs)
	if text := fmt.Sprint(notDrawn); !strings.Contains(text, "no curve of handoff-p50-ns, which was measured only with 4 clients") {
		t.Errorf("the missing curve is not explained: %s", text)
	}
}

// A variant has the same color in all scenarios of a report, also where other variants of its recipe are missing.
func TestOneColorOfAVariant(t *testing.T) {
	all := []*results.Document{measured(t, "children-watch", "naive", 4, 1), measured(t, "ephemeral", "naive", 4, 1), measured(t, "znode", "naive", 4, 1)}
	alone := measured(t, "znode", "naive", 4, 1)
	alone.Scenario.Name = "lock-other"
	alone.Metrics["handoff-p50-ns"] = results.Metric{Value: 1}
	sets := plots.Sets(append(all, alone, measured(t, "children-watch", "naive", 4, 2)))
	const third = `class="se69f00"` // of the naive colors
	for _, s := range sets {
		for _, f := range s.Figures {
			if strings.Contains(f.Name, "percentiles") && !strings.Contains(f.Inline(), third) {
				t.Errorf("%s does not draw znode in the color of the third naive variant", f.Name)
			}
		}
	}
	if len(sets) != 2 {
		t.Errorf("%d sets, want 2", len(sets))
	}
}

// The pairs of all scenarios stand in one figure: ratios where six pairs of measurements show one, and otherwise both values.
func TestPairs(t *testing.T) {
	var docs []*results.Document
	for i, name := range []string{"one", "two", "three", "four"} {
		for repeat := range 6 {
			for j, d := range []*results.Document{
				measured(t, "children-watch", "naive", 4+i, 1+repeat), measured(t, "predecessor-watch", "optimized", 4+i, 1+repeat),
			} {
				d.Started = time.Unix(int64(3600*i+600*repeat+300*j), 0)
				d.Scenario.Name, d.Scenario.Overview = name, "predecessor-watch against children-watch by handoff-p50-ns"
				if i == 3 {
					d.Scenario.Overview = "predecessor-watch against children-watch by items-lost"
					d.Metrics[metric.ItemsLost] = results.Metric{Value: float64(len(d.Kind) - 5)}
				}
				docs = append(docs, d)
			}
		}
	}
	dir, names := draw(t, docs, "svg")
	if !slices.Contains(names, "overview.svg") {
		t.Fatalf("drew %v, want the overview among them", names)
	}
	compareFiles(t, dir, "compared", "overview.svg")
	if _, names = draw(t, docs[:24], "svg"); slices.Contains(names, "overview.svg") {
		t.Error("an overview of two scenarios was drawn")
	}
}

// An observed application has its own timeline and herd sizes. No variant is drawn beside it.
func TestApplicationAlone(t *testing.T) {
	app := measured(t, "app", "naive", 4, 1)
	app.Kind = results.Application
	_, names := draw(t, []*results.Document{app}, "svg")
	for _, want := range []string{"lock-contention-container-timeline-n4-app.svg", "lock-contention-container-herd-sizes-n4.svg"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is not drawn, but %v", want, names)
		}
	}
	alone := measured(t, "app", "naive", 4, 1)
	_, names = draw(t, []*results.Document{alone}, "svg")
	if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "timeline") }) {
		t.Errorf("a naive variant without an optimized one has a timeline: %v", names)
	}
}
