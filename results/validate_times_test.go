package results_test

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
)

// closedRun returns a document of a closed load with a window of that length, a notification every 100 ms, each of a
// transaction of its own, and a timeline from its middle.
func closedRun(t *testing.T, length time.Duration) *results.Document {
	t.Helper()
	d := described()
	d.Scenario.Mode, d.Scenario.Duration = results.ClosedMode, length
	m := releases(time.Second, time.Second+length)
	for _, s := range m.Spans {
		m.Notifications = append(m.Notifications, note(s.End, 0, int64(s.End)))
	}
	d.Oracle.ClientNotifications, d.Oracle.ServerNotifications = int64(len(m.Notifications)), int64(len(m.Notifications))
	m.Complete(t, d)
	return d
}

// releases returns a measurement in which one client completes an operation every 100 ms of a window.
func releases(start, end time.Duration) recordertest.Measurement {
	m := recordertest.Measurement{Config: recorder.Config{WindowLength: end - start}, Window: recordertest.Stretch{Start: start, End: end}}
	for at := start; at <= end; at += 100 * ms {
		m.Spans = append(m.Spans, recordertest.Span{Phase: "release", Start: at, End: at})
	}
	return m
}

func check(t *testing.T, name string, d *results.Document, want string) {
	t.Helper()
	if err := d.Validate(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
}

func TestValidateTimeline(t *testing.T) {
	for _, tt := range []struct {
		name   string
		length time.Duration
		change func(d *results.Document)
		want   string
	}{
		{"the middle", 5 * time.Second, func(*results.Document) {}, ""},
		{"beside the middle", 5 * time.Second, func(d *results.Document) { d.Timeline.Start += ms; d.Timeline.End += ms }, "the middle of the window"},
		{"beside the middle of a window of unknown length", 5 * time.Second, func(d *results.Document) {
			d.Scenario.Duration, d.Scenario.Operations = 0, 51
			d.Timeline.Start += ms
			d.Timeline.End += ms
		}, ""},
		{"beyond a window of unknown length", 5 * time.Second, func(d *results.Document) {
			d.Scenario.Duration, d.Scenario.Operations = 0, 51
			d.Timeline.Start += 3 * time.Second
			d.Timeline.End += 3 * time.Second
		}, "not a second within the window"},
		{"longer than a second", 5 * time.Second, func(d *results.Document) {
			d.Scenario.Duration, d.Scenario.Operations = 0, 51
			d.Timeline.End += ms
		}, "not a second within the window"},
		{"half of a short window", time.Second, func(d *results.Document) {
			d.Scenario.Duration, d.Scenario.Operations = 0, 11
			d.Timeline.Start += 500 * ms
		}, "the middle of the window"},
		{"a window that became far longer than asked", 5 * time.Second, func(d *results.Document) {
			d.Scenario.Duration = 3 * time.Second
			d.Timeline.Start += ms
			d.Timeline.End += ms
		}, ""},
		{"an unknown client", 5 * time.Second, func(d *results.Document) { d.Timeline.Notifications[0].Client = 10 }, "timeline.notifications[0] is of client 10"},
	} {
		d := closedRun(t, tt.length)
		tt.change(d)
		check(t, tt.name, d, tt.want)
	}
}

func TestValidateAroundHerd(t *testing.T) {
	around := func(dots int) *results.Timeline {
		return &results.Timeline{Start: time.Second, End: 2 * time.Second, Notifications: make([]results.TimelineDot, dots), Bystander: []results.BystanderRead{}}
	}
	for _, tt := range []struct {
		name   string
		around *results.Timeline
		herds  bool
		want   string
	}{
		{"one notification of the largest herd", around(1), true, ""},
		{"none", around(0), true, "around_herd.notifications has 0, and the largest herd 1"},
		{"longer than a second", &results.Timeline{End: time.Second + 1, Notifications: make([]results.TimelineDot, 1)}, true, "should be within a second"},
		{"backwards", &results.Timeline{Start: 2, End: 1, Notifications: []results.TimelineDot{{}}}, true, "should be within a second"},
		{"after its end", &results.Timeline{End: ms, Notifications: []results.TimelineDot{{At: 2 * ms}}}, true, "around_herd.notifications[0]"},
		{"without a herd", around(1), false, "herd.sizes has no herd"},
		{"none, and none to show", nil, false, ""},
		{"missing", nil, true, "around_herd is missing"},
	} {
		d := whole(t)
		if !tt.herds {
			d = closedRun(t, time.Second)
			releases(d.Window.Start, d.Window.End).Complete(t, d)
		}
		d.AroundHerd = tt.around
		if err := d.Validate(); (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A herd that takes longer to arrive than the stretch reaches is not all in it.
func TestValidateAroundLongHerd(t *testing.T) {
	d := closedRun(t, 5*time.Second)
	m := releases(d.Window.Start, d.Window.End)
	m.Notifications = []results.Notification{note(2*time.Second, 0, 1), note(4*time.Second, 1, 1)}
	m.Complete(t, d)
	d.AroundHerd = &results.Timeline{Start: 1500 * ms, End: 2500 * ms, Notifications: make([]results.TimelineDot, 1), Bystander: []results.BystanderRead{}}
	check(t, "one of two", d, "")
}

func TestValidateSeries(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(s *results.Series)
		want   string
	}{
		{"whole", func(*results.Series) {}, ""},
		{"more than in the window", func(s *results.Series) { s.Operations[0], s.Notifications[1], s.LargestHerd[1] = 99, 99, 99 }, ""},
		{"an operation that is missing", func(s *results.Series) { s.Operations[0]-- }, "series.operations has 9, of 10 window.operations"},
		{"a notification that is missing", func(s *results.Series) { s.Notifications[0]-- }, "series.notifications has 9, of 10 counts.notified"},
		{"a herd that is missing", func(s *results.Series) { s.LargestHerd[0] = 0 }, "series.largest_herd has at most 0, and herd.sizes 1"},
		{"lists of different lengths", func(s *results.Series) { s.SlowestRead = s.SlowestRead[1:] }, "series.slowest_read_ns has 1 bins, and series.operations 2"},
		{"no durations", func(s *results.Series) { s.Samples = nil }, "series.samples has 0 bins, and series.operations 2"},
		{"no memory", func(s *results.Series) { s.Memory = nil }, "series.memory_bytes has 0 bins, and series.operations 2"},
		{"a duration that is missing", func(s *results.Series) { s.Samples[0]-- }, "series.samples has 9, of 10 in histograms."},
		{"time without durations", func(s *results.Series) { s.Time[1] = ms }, "series.time_ns[1] is 1ms, of no samples"},
		{"no bins", func(s *results.Series) { *s = results.Series{Bin: results.FirstBin} }, "series.operations has 0 bins"},
		{"a bin of no width", func(s *results.Series) { s.Bin = 0 }, "series.bin_ns is 0s"},
		{"a bin that was never doubled", func(s *results.Series) { s.Bin = 300 * ms }, "series.bin_ns is 300ms, which is not"},
		{"bins that were doubled too early", func(s *results.Series) { s.Bin = 200 * ms }, "there are only 2 bins"},
		{"too many bins", func(s *results.Series) { s.Operations = make([]int64, results.MaxBins+1) }, "series.operations has 601 bins"},
	} {
		d := whole(t)
		d.Phases = []string{"release", "acquire"}
		d.Series = &results.Series{
			Bin: results.FirstBin, Operations: []int64{10, 0}, Requests: []int64{14, 0}, Notifications: []int64{10, 0}, LargestHerd: []int{1, 0}, SlowestRead: make([]time.Duration, 2),
			Samples: []int64{10, 0}, Time: []time.Duration{20 * ms, 0}, Memory: []int64{0, 1 << 20},
		}
		tt.change(d.Series)
		check(t, tt.name, d, tt.want)
	}
}

// The document of a rehearsal in which the recipe broke its promise may lack the series and the surroundings of the largest herd.
func TestSeriesIsRequired(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(d *results.Document)
		want   string
	}{
		{"a measurement", func(*results.Document) {}, "around_herd is missing, and the largest herd has 1 notifications; series is missing"},
		{"a rehearsal", func(d *results.Document) {
			d.Repeat, d.Violations = 0, []results.Violation{{Text: "two holders"}}
			d.Metrics[results.Violations] = results.Metric{Value: 1, Unit: "violations"}
		}, ""},
	} {
		d := whole(t)
		d.Series, d.AroundHerd = nil, nil
		tt.change(d)
		check(t, tt.name, d, tt.want)
	}
}

func TestUnlistedViolationsCount(t *testing.T) {
	d := whole(t)
	d.Violations = make([]results.Violation, results.MaxViolations)
	for i := range d.Violations {
		d.Violations[i].Text = "two holders"
	}
	d.MoreViolations = 5
	var err error
	if d.Metrics, err = d.ComputeMetrics(); err != nil || d.Metrics[results.Violations].Value != results.MaxViolations+5 || d.Breaches() != results.MaxViolations+5 {
		t.Fatalf("%v, %v", d.Metrics[results.Violations], err)
	}
	check(t, "all listed that can be", d, "")
	d.Violations = d.Violations[1:]
	check(t, "fewer listed than could be", d, "more_violations is 5, and violations lists 99")
}
