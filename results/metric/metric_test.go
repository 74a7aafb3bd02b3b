package metric_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
)

// Every metric of a document is one that a recipe with its phases can have.
func TestMetricNames(t *testing.T) {
	d := recordertest.Whole()
	names := metric.Names(d.Phases, []results.Share{{Phase: "stale", Of: "read"}}, nil)
	for name := range d.Metrics {
		if !slices.Contains(names, name) && metric.Named(name).Operation == "" {
			t.Errorf("%s is missing in %q", name, names)
		}
	}
	for _, want := range []string{"ops/s", "stale/read", "acquire-p99-ns", "bystander-service-max-ns", "heap-bytes/watch", "acquire-p50/floor", "floor-write-p50-ns"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %q", want, names)
		}
	}
}

// The name of a metric decides how it is shown, claimed, compared and drawn.
func TestMetricNamed(t *testing.T) {
	type m = metric.Descriptor
	for _, tt := range []struct {
		want  m      // its kind, direction, part, phase, percentile and marks
		shown string // of 1.5e6
		axis  string
	}{
		{m{Name: "acquire-p99-ns", Kind: metric.KindTime, Phase: "acquire", Percentile: 99}, "1.50 ms", "acquire, p99, ms"},
		{m{Name: "acquire-max-ns", Kind: metric.KindTime, Extreme: true, Phase: "acquire", Percentile: 100}, "1.50 ms", "acquire, max, ms"},
		{m{Name: "response-p50-ns", Kind: metric.KindTime, Part: metric.OpenLoad, Phase: "response", Percentile: 50}, "1.50 ms", "response, p50, ms"},
		{m{Name: "floor-write-p50-ns", Kind: metric.KindTime, Worse: metric.NeitherIsWorse, Ensemble: true, Phase: "floor-write", Percentile: 50}, "1.50 ms", "floor write, p50, ms"},
		{m{Name: "handoff-p50/floor", Kind: metric.KindMultiple, Phase: "handoff", Percentile: 50}, "1500000×", "handoff, p50, multiples of its floor"},
		{m{Name: "stale/read", Kind: metric.KindShare}, "1.5e+08%", "stale, % of read"},
		{m{Name: "requests/op", Exact: true, Formula: true}, "1500000", "requests per operation"},
		{m{Name: "getChildren2-requests/op", Exact: true, Operation: "getChildren2"}, "1500000", "getChildren2 requests per operation"},
		{m{Name: "addWatch-watches/op", Exact: true, Operation: "addWatch"}, "1500000", "addWatch watches per operation"},
		{m{Name: "-requests/op"}, "1500000", "-requests/op"},
		{m{Name: "late-failed-requests/op"}, "1500000", "late-failed-requests/op"},
		{m{Name: "time/op"}, "1500000", "time/op"}, // of no family
		{m{Name: "ops/s", Kind: metric.KindRate, Worse: metric.LessIsWorse}, "1500000", "operations per second"},
		{m{Name: "finished", Kind: metric.KindShare, Worse: metric.LessIsWorse, Part: metric.LimitedLoad}, "1.5e+08%", "finished, %"},
		{m{Name: "blocked-ns", Kind: metric.KindTime, Extreme: true, Part: metric.FaultyLoad, Loss: "blocked-ns"}, "1.50 ms", "blocked, ms"},
		{m{Name: "herd-spread-p99-ns", Kind: metric.KindTime, Worse: metric.NeitherIsWorse, Phase: "herd-spread", Percentile: 99}, "1.50 ms", "herd spread, p99, ms"},
		{
			m{Name: "background-read-p99-slowdown", Kind: metric.KindMultiple, Part: metric.BackgroundPart, Percentile: 99}, "1500000×",
			"background read p99 slowdown",
		},
		{
			m{Name: "background-alone-reads/s", Kind: metric.KindRate, Worse: metric.NeitherIsWorse, Part: metric.BackgroundPart, Ensemble: true}, "1500000",
			"background alone reads per second",
		},
		{m{Name: "background-backlog-max", Kind: metric.KindBacklog, Extreme: true, Part: metric.BackgroundPart}, "1500000", "background backlog max"},
	} {
		t.Run(tt.want.Name, func(t *testing.T) {
			got := metric.Named(tt.want.Name)
			facts := m{ // without its functions, which cannot be compared
				Name: got.Name, Kind: got.Kind, Worse: got.Worse, Part: got.Part, Exact: got.Exact, Formula: got.Formula, Extreme: got.Extreme, Ensemble: got.Ensemble,
				Operation: got.Operation,
				Loss:      got.Loss, Phase: got.Phase, Percentile: got.Percentile,
			}
			if !reflect.DeepEqual(facts, tt.want) {
				t.Errorf("%+v, want %+v", facts, tt.want)
			}
			if shown := got.Format(1.5e6); shown != tt.shown {
				t.Errorf("shown as %s, want %s", shown, tt.shown)
			}
			if label, _ := got.Axis(); label != tt.axis {
				t.Errorf("drawn as %q, want %q", label, tt.axis)
			}
		})
	}
}

// Each metric is described, and has its line in the documentation.
func TestMetricsAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	phases, shares := []string{"acquire"}, []results.Share{{Phase: "stale", Of: "read"}}
	names := metric.Names(phases, shares, []string{metric.ItemsLost, metric.ItemsDoubled, metric.OutOfStep, metric.Orphans, metric.Blocked, metric.TornReads, "fenced"})
	for _, name := range names {
		m := metric.Named(name)
		if m.Name != name || m.Help == "" || !strings.HasSuffix(m.Help, ".") || m.Unit == "" || m.Title == "" {
			t.Errorf("%s is described by %+v", name, m)
		}
		family := m.Part == metric.BackgroundPart || m.Phase != "" || m.Kind == metric.KindShare
		if !family && !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/metrics.md does not say what %s is", name)
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(names)))) != len(names) {
		t.Error("a metric is listed twice")
	}
}

// The documentation maps each head of a column to the name of its metric.
func TestHeadsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	heads, row := map[string]string{}, regexp.MustCompile("(?m)^\\| `([^`]+)`[^|]* \\| `([^`]+)`[^|]* \\| [^|]* \\| [^|]* \\|$")
	for _, row := range row.FindAllStringSubmatch(string(page), -1) {
		heads[row[2]] = row[1]
		if got := metric.Named(row[2]).Head; got != row[1] {
			t.Errorf("docs/metrics.md has the head %q for %s, tables have %q", row[1], row[2], got)
		}
	}
	for _, name := range append(metric.OfFaults(), metric.WithFormula()...) {
		if heads[name] == "" && name != metric.WritesPerOp { // no table has it
			t.Errorf("docs/metrics.md has no head of a column for %s", name)
		}
	}
}

// Names of times may lack their unit, and no other name gets one.
func TestWithUnit(t *testing.T) {
	for name, want := range map[string]string{
		"acquire-p99": "acquire-p99-ns", "acquire-max": "acquire-max-ns", "blocked": "blocked-ns", "acquire-p99-ns": "acquire-p99-ns",
		"herd-p99": "herd-p99", "backlog-max": "backlog-max", "background-read-p99": "background-read-p99-ns", "background-backlog-max": "background-backlog-max", "violations": "violations", "requests/op": "requests/op", "handoff-p50/floor": "handoff-p50/floor",
	} {
		if got := metric.WithUnit(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// Requests and watches are counted by operation. A repeat without an operation has none of it, which the median of the repeats includes.
func TestOperations(t *testing.T) {
	repeat := func(counts results.Counts) *results.Document {
		d := recordertest.Described()
		d.Counts, d.Window.Operations = counts, 2
		d.Metrics = metric.Compute(d)
		return d
	}
	watching := repeat(results.Counts{Requests: map[string]int64{"exists": 3, "create": 2}, Watches: map[string]int64{"exists": 1}})
	plain := repeat(results.Counts{Requests: map[string]int64{"create": 2}})
	for name, want := range map[string]struct{ alone, median float64 }{
		"exists-requests/op": {1.5, 0}, "create-requests/op": {1, 1}, "exists-watches/op": {0.5, 0},
	} {
		median := metric.Aggregate([]*results.Document{plain, watching, plain})[name]
		if got := watching.Metrics[name]; got != (results.Metric{Value: want.alone, Unit: "per op"}) || median.Value != want.median || median.Max != want.alone {
			t.Errorf("%s is %v, and in three repeats %v; want %v", name, got, median, want)
		}
	}
	if _, there := watching.Metrics["create-watches/op"]; there {
		t.Error("watches of an operation that sets none")
	}
}

// Only an average over a window may exceed a bound by the operations at its edges.
func TestExceeds(t *testing.T) {
	for _, tt := range []struct {
		metric       string
		value        float64
		batch, asked int
		want         bool
		apart        time.Duration // of a window of ten seconds
	}{
		{metric.RequestsPerOp, 1, 1, 0, false, 0},
		{metric.RequestsPerOp, 1.2, 1, 0, false, 0}, // of 10 clients, 20 operations may be cut
		{metric.RequestsPerOp, 1.21, 1, 0, true, 0},
		{metric.RequestsPerOp, 1.6, 3, 0, false, 0}, // three to a step
		{metric.RequestsPerOp, 1.61, 3, 0, true, 0},
		{metric.RequestsPerOp, 1.01, 1, 10, true, 0},                      // none is
		{metric.RequestsPerOp, 1.25, 1, 0, false, 500 * time.Millisecond}, // five more, which some workers counted longer than others
		{metric.RequestsPerOp, 1.26, 1, 0, true, 500 * time.Millisecond},
		{metric.HerdMax, 2, 1, 0, true, 0},
		{metric.HerdMax, 1, 1, 0, false, 0},
	} {
		d := &results.Document{Clients: 10, Batch: tt.batch, Metrics: map[string]results.Metric{tt.metric: {Value: tt.value}}}
		d.Window = results.Window{Operations: 100, End: 10 * time.Second, Apart: tt.apart}
		d.Scenario.Operations = tt.asked
		if got := metric.Exceeds(d, tt.metric, 1); got != tt.want {
			t.Errorf("%+v: %t", tt, got)
		}
	}
}
