package plots_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/plots"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

const ms = time.Millisecond

// measured returns the result of a run with a few invented events.
func measured(t *testing.T, variant, kind string, clients, repeat int) *results.Document {
	t.Helper()
	d := &results.Document{
		Schema: results.Schema, Recipe: "lock", Variant: variant, Kind: kind, Phases: []string{"handoff", "acquire", "release", "hold"}, Operation: "operation", Waiting: []string{"acquire"}, Clients: clients, Repeat: repeat,
		Scenario:    results.Scenario{Name: "lock-contention"},
		Environment: results.Environment{Engine: "container", ZooKeeper: "3.9.3", Servers: []string{"a", "b", "c"}},
		Expected:    results.Expected{Costs: map[string]results.Cost{metric.NotificationsPerOp: {Formula: "N", Value: float64(clients)}}},
	}
	m := recordertest.Measurement{Window: recordertest.Stretch{End: 300 * ms}}
	operations, slower := 45-repeat, 1
	if kind == "naive" {
		operations, slower = 30-repeat, 1+clients
	}
	for range operations {
		m.Spans = append(m.Spans, recordertest.Span{Phase: d.Operation, End: 300 * ms})
	}
	for i := range 25 {
		at := time.Duration(10*i+5) * ms
		m.Spans = append(m.Spans,
			recordertest.Span{Phase: "acquire", Client: i % clients, Start: at, End: at + time.Duration(slower*(i+1))*ms},
			recordertest.Span{Phase: "handoff", Client: i % clients, Start: at, End: at + time.Duration(slower*(i%7+1))*ms/2})
		m.Reads = append(m.Reads, results.BystanderRead{At: at, Service: ms, Response: time.Duration(i%5+1) * ms})
		herd := 1
		if kind == "naive" {
			herd = clients
		}
		for member := range herd {
			m.Notifications = append(m.Notifications, recorder.Notification{
				At: at + time.Duration(member)*ms/10, Client: (i + member) % clients, Zxid: int64(i + 1), Type: "NodeDeleted",
			})
		}
	}
	m.Complete(d)
	return d
}

// withSeries is a result of 20 s with 2 s of warm-up, one bin for each tenth of a second, a herd that grows with each bin,
// and a stall of a second at its middle.
func withSeries(t *testing.T, variant, kind string) *results.Document {
	t.Helper()
	const bins, warmUp = 225, 20
	d := measured(t, variant, kind, 4, 1)
	d.Window.Start, d.Window.End = 2*time.Second, 22*time.Second
	d.Series = &results.Series{Bin: results.FirstBin}
	rate, herd := 60, 1
	if kind == "naive" {
		rate, herd = 20, 4
	}
	for i := range bins {
		operations := rate + i%7
		if i >= 120 && i < 130 {
			operations = 0
		}
		d.Series.Operations = append(d.Series.Operations, int64(operations))
		d.Series.Requests = append(d.Series.Requests, int64(3*operations))
		d.Series.Notifications = append(d.Series.Notifications, int64(herd*operations))
		d.Series.LargestHerd = append(d.Series.LargestHerd, herd+i*(herd-1)/100)
		d.Series.SlowestRead = append(d.Series.SlowestRead, time.Duration(herd*(i%11+1))*ms)
		d.Series.Samples = append(d.Series.Samples, int64(operations))
		d.Series.Time = append(d.Series.Time, time.Duration(operations*herd)*ms*time.Duration(100+i)/100)
		d.Series.Memory = append(d.Series.Memory, 100<<20)
	}
	d.Stalls = []results.Stall{{Start: 10 * time.Second, Length: time.Second}}
	return d
}

// The time series of measurements of more than 10 s are drawn, but for those in lockstep.
func TestSeries(t *testing.T) {
	naive, optimized := withSeries(t, "children-watch", "naive"), withSeries(t, "predecessor-watch", "optimized")
	dir, _ := draw(t, []*results.Document{naive, optimized}, "svg")
	const name = "lock-contention-container-series-n4.svg"
	compareFiles(t, dir, "series", name)

	cold := withSeries(t, "children-watch", "naive")
	cold.Window.Start, cold.Window.End = 0, 20*time.Second
	shades := func(d *results.Document) int {
		return strings.Count(figure(t, []*results.Document{d}, "series-n4").Inline(), `class="feeeeee"`)
	}
	if with, without := shades(naive), shades(cold); without*2 != with {
		t.Errorf("%d stretches outside the window are shaded with a warm-up, and %d without one: want half as many", with, without)
	}

	stalls := func(d *results.Document) bool {
		return strings.Contains(figure(t, []*results.Document{d}, "series-n4").Inline(), "bars below: stalls")
	}
	calm := withSeries(t, "children-watch", "naive")
	calm.Stalls = nil
	if !stalls(naive) || stalls(calm) {
		t.Error("the caption must explain the bars of stalls only if there are any")
	}

	short, lockstep := withSeries(t, "children-watch", "naive"), withSeries(t, "predecessor-watch", "optimized")
	short.Series.Operations = short.Series.Operations[:100]
	lockstep.Scenario.Mode = results.LockstepMode
	if _, names := draw(t, []*results.Document{short, lockstep}, "svg"); slices.Contains(names, name) {
		t.Error("a measurement of 10 s or one in lockstep was drawn over time")
	}
}

// withFailure is a result of 20 s with a leader that is killed for 3 s and a holder that stops dead. A naive variant takes
// longer to recover.
func withFailure(t *testing.T, variant, kind string) *results.Document {
	t.Helper()
	const clients = 20
	d := withSeries(t, variant, kind)
	outage := 1200 * ms
	if kind == "naive" {
		outage = 2900 * ms
	}
	d.Clients, d.Scenario.Faults = clients, []results.FaultLoad{{Kind: "kill", Whom: "leader", At: 8 * time.Second, For: 3 * time.Second}, {Kind: "stop", Whom: "holder", At: 14 * time.Second}}
	m := recordertest.Measurement{Config: recorder.Config{Faulty: true}, Window: recordertest.Stretch{Start: d.Window.Start, End: d.Window.End}}
	m.Faults = []recordertest.Fault{
		{Kind: "kill", Target: "zoo2", Start: 10 * time.Second, End: 13 * time.Second},
		{Kind: "stop", Target: "holder", Victims: []int{3}, Start: 16 * time.Second},
	}
	for i := range 2000 {
		at := d.Window.Start + time.Duration(10*i)*ms
		if at < 10*time.Second || at > 10*time.Second+outage {
			m.Spans = append(m.Spans, recordertest.Span{Phase: d.Operation, Client: 7 * i % clients, Start: at, End: at})
			m.Notifications = append(m.Notifications, recorder.Notification{At: at, Client: 7 * i % clients, Zxid: int64(i + 1), Type: "NodeDeleted"})
		}
		read := results.BystanderRead{At: at, Service: ms, Response: time.Duration(i%5+1) * ms}
		if at >= 10*time.Second && at <= 10*time.Second+outage {
			read.Response = 10*time.Second + outage - at + ms
		}
		if i%2 == 0 {
			m.Reads = append(m.Reads, read)
		}
	}
	series := d.Series
	m.Complete(d)
	d.Series, d.Stalls = series, nil
	return d
}

// Faults are marked over time, and the time around the first one has its own figure.
func TestFailures(t *testing.T) {
	naive, optimized := withFailure(t, "children-watch", "naive"), withFailure(t, "predecessor-watch", "optimized")
	dir, _ := draw(t, []*results.Document{naive, optimized}, "svg")
	compareFiles(t, dir, "failure", "lock-contention-container-failure-n20-children-watch.svg", "lock-contention-container-series-n20.svg")
	_, names := draw(t, []*results.Document{optimized}, "svg")
	if !slices.Contains(names, "lock-contention-container-failure-n20-predecessor-watch.svg") {
		t.Errorf("without a naive variant: %v", names)
	}
	recovery := func() bool {
		around := figure(t, []*results.Document{optimized}, "failure-n20-predecessor-watch").Inline()
		return strings.Contains(around, `stroke-dasharray="3,3"`)
	}
	if !recovery() {
		t.Error("the recovery is not marked")
	}
	if optimized.Failure.Faults[0].Recovery = time.Minute; recovery() {
		t.Error("a recovery after what was recorded is marked")
	}
}

// A fault in the part of a timeline that is drawn is marked there.
func TestTimelineWithFaults(t *testing.T) {
	docs := []*results.Document{measured(t, "children-watch", "naive", 4, 1), measured(t, "predecessor-watch", "optimized", 4, 1)}
	for _, d := range docs {
		d.Scenario.Faults = []results.FaultLoad{{Kind: "expire", Whom: "any", At: 100 * time.Millisecond}}
		d.Failure = &results.Failure{Faults: []results.Fault{{At: 100 * ms, Kind: "expire", Target: "any", Recovery: -1}}}
	}
	dir, _ := draw(t, docs, "svg")
	compareFiles(t, dir, "failure", "lock-contention-container-timeline-n4-children-watch.svg")
}

func run(t *testing.T) []*results.Document {
	t.Helper()
	var docs []*results.Document
	for _, clients := range []int{1, 4} {
		for repeat := 1; repeat <= 2; repeat++ {
			docs = append(docs,
				measured(t, "children-watch", "naive", clients, repeat),
				measured(t, "predecessor-watch", "optimized", clients, repeat))
		}
	}
	return docs
}

func draw(t *testing.T, docs []*results.Document, formats ...string) (dir string, names []string) {
	t.Helper()
	drawn, _ := plots.Figures(docs)
	return write(t, drawn, formats...)
}

func write(t *testing.T, figures []plots.Figure, formats ...string) (dir string, names []string) {
	t.Helper()
	dir = t.TempDir()
	files := must.Get(plots.WriteAll(figures, dir, formats))(t)
	for _, f := range files {
		names = append(names, filepath.Base(f))
	}
	return dir, names
}

func compareFiles(t *testing.T, dir, golds string, names ...string) {
	t.Helper()
	for _, name := range names {
		golden.Compare(t, filepath.Join("testdata", golds, name), must.Get(os.ReadFile(filepath.Join(dir, name)))(t))
	}
}

// Every figure equals its golden file.
func TestFigures(t *testing.T) {
	dir, names := draw(t, run(t), "svg")
	want := must.Get(filepath.Glob("testdata/*.svg"))(t)
	if !golden.Updating() && len(names) != len(want) {
		t.Errorf("%d figures, want %d: %v", len(names), len(want), names)
	}
	compareFiles(t, dir, "", names...)
}

func TestFormats(t *testing.T) {
	dir, names := draw(t, run(t), plots.Formats()...)
	drawn := 0
	for _, name := range names {
		if filepath.Ext(name) != ".png" {
			continue
		}
		drawn++
		file := must.Get(os.Open(filepath.Join(dir, name)))(t)
		config, err := png.DecodeConfig(file)
		file.Close()
		if err != nil || config.Width < 800 || config.Height < 400 {
			t.Errorf("%s is %dx%d (%v): too small to read", name, config.Width, config.Height, err)
		}
	}
	if drawn*2 != len(names) {
		t.Errorf("%d PNGs among %d files", drawn, len(names))
	}
	if _, err := plots.WriteAll([]plots.Figure{figure(t, run(t), "throughput")}, t.TempDir(), []string{"bmp"}); err == nil {
		t.Error("an unknown format was accepted")
	}
}

func figure(t *testing.T, docs []*results.Document, name string) plots.Figure {
	t.Helper()
	figures, _ := plots.Figures(docs)
	i := slices.IndexFunc(figures, func(f plots.Figure) bool { return f.Name == "lock-contention-container-"+name })
	if i < 0 {
		t.Fatalf("no figure %s among %d", name, len(figures))
	}
	return figures[i]
}

// A figure that would mislead is not drawn: one number of clients makes no curve, and an uncontended lock has no herd.
func TestLittleData(t *testing.T) {
	for _, tt := range []struct {
		name string
		docs []*results.Document
		want []string
	}{
		{"nothing", nil, nil},
		{"no measurement in it", []*results.Document{{Variant: "a", Clients: 1}}, nil},
		{"one client", []*results.Document{measured(t, "predecessor-watch", "optimized", 1, 1)}, []string{"lock-contention-container-percentiles-n1.svg"}},
	} {
		if _, got := draw(t, tt.docs, "svg"); !slices.Equal(got, tt.want) {
			t.Errorf("%s: drew %v, want %v", tt.name, got, tt.want)
		}
	}
}

// All phases that a recipe declares are drawn, unless they were not timed or zkbench set their length.
func TestPhasesOfEveryRecipe(t *testing.T) {
	for _, recipe := range catalog.Recipes() {
		for _, mode := range []results.Mode{results.ClosedMode, results.LockstepMode} {
			d := measured(t, "v", "naive", 1, 1)
			d.Scenario.Mode, d.Expected.Costs = mode, nil
			d.Scenario.Name, d.Recipe = "s", recipe.Name
			d.Phases = recipe.PhasesWhere(func(variants.Phase) bool { return true })
			d.UntimedPhases = recipe.PhasesWhere(func(p variants.Phase) bool { return p.UntimedInLockstep })
			m := recordertest.Measurement{Window: recordertest.Stretch{End: 300 * ms}}
			m.Spans = []recordertest.Span{{Phase: d.Operation, End: 300 * ms}}
			var want, not []string
			for i, phase := range d.Phases {
				if i == 1 { // was not timed
					not = append(not, phase)
					continue
				}
				for at := range 5 {
					m.Spans = append(m.Spans, recordertest.Span{Phase: phase, Start: time.Duration(at) * ms, End: time.Duration(2*at+1) * ms})
				}
				if phase != "hold" && (!d.Lockstep() || !slices.Contains(d.UntimedPhases, phase)) {
					want = append(want, phase)
				} else {
					not = append(not, phase)
				}
			}
			m.Complete(d)
			figures, _ := plots.Figures([]*results.Document{d})
			text := strings.Join(list.Map(figures, plots.Figure.Inline), "")
			drawn := func(phase string) bool {
				return strings.Contains(text, ">"+phase+", ms<") || strings.Contains(text, ">"+phase+", ms (log scale)<")
			}
			if slices.ContainsFunc(want, func(p string) bool { return !drawn(p) }) || slices.ContainsFunc(not, drawn) {
				t.Errorf("%s, %s: want %v and not %v in %d figures", recipe.Name, mode, want, not, len(figures))
			}
		}
	}
}

// A figure never has results of different engines.
func TestEnginesAreKeptApart(t *testing.T) {
	a, b := measured(t, "predecessor-watch", "optimized", 1, 1), measured(t, "predecessor-watch", "optimized", 1, 1)
	b.Environment.Engine = "process"
	_, names := draw(t, []*results.Document{a, b}, "svg")
	for _, engine := range []string{"container", "process"} {
		if !slices.Contains(names, fmt.Sprintf("lock-contention-%s-percentiles-n1.svg", engine)) {
			t.Errorf("no figure of its own for %s: %v", engine, names)
		}
	}
}

// The knee of an open load, with a cross for each rate beyond the capacity.
func TestKnee(t *testing.T) {
	var docs []*results.Document
	for i, rate := range []results.Rate{50, 100, 200, 400} {
		for repeat := range 3 {
			for _, v := range []struct {
				name, kind string
				knee       results.Rate
			}{{"children-watch", "naive", 150}, {"znode", "naive", 350}, {"predecessor-watch", "optimized", 1000}} {
				d := measured(t, v.name, v.kind, 4, repeat+1)
				d.Rate, d.Scenario.Mode, d.Scenario.Arrivals = rate, results.OpenMode, "poisson"
				d.Open = &results.Open{LastEmpty: d.Window.End}
				d.Metrics["response-p99-ns"] = results.Metric{Value: 3e6 * float64(1+repeat) / (1 - float64(min(rate, v.knee-1))/float64(v.knee))}
				if rate > v.knee {
					d.Open.LastEmpty = 0
					delete(d.Metrics, "response-p99-ns")
				}
				docs = append(docs, d)
			}
		}
		_, names := draw(t, docs, "svg")
		if knee := slices.Contains(names, "lock-contention-container-knee.svg"); knee != (i >= 2) {
			t.Errorf("with %d rates, a knee is drawn: %t", i+1, knee)
		}
	}
	dir, names := draw(t, docs, "svg")
	if len(names) != 1 {
		t.Fatalf("drew %v, want the knee alone", names)
	}
	compareFiles(t, dir, "knee", names...)
	if text := figure(t, docs, "knee").Inline(); !strings.Contains(text, "<title>predecessor-watch, 50/s: ") {
		t.Error("the knee does not say the rate of a point")
	} else if !strings.Contains(text, "<title>znode, 400/s: beyond the capacity</title>") || strings.Count(text, ">znode</text>") != 1 {
		t.Error("a rate beyond the capacity has no mark, or a variant is in the legend twice")
	}
}

func wellFormed(text string) error {
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
