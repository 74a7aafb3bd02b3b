package recorder_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
)

var note = recordertest.Note

// observe records what happened, with a window from 10 ms to 110 ms.
func observe(t *testing.T, version string, r raw) *results.Document {
	t.Helper()
	r.Window = between(10*ms, 110*ms)
	servers := results.Environment{ZooKeeper: version}
	r.Config = recorder.Config{Operation: "release", Waiting: []string{"acquire"}, Named: servers.NamesTransactions()}
	d := &results.Document{
		Environment: servers, Waiting: r.Config.Waiting, Shares: []results.Share{{Phase: "stale", Of: "read"}},
	}
	return r.record(t, d)
}

func TestHerds(t *testing.T) {
	old := func(at time.Duration, client int) recorder.Notification { return note(at, client, -1) }
	for _, tt := range []struct {
		name          string
		notifications []recorder.Notification
		grouping      string
		mean          float64
		most, peak    int
		spread        time.Duration
	}{
		{"none", nil, "zxid", 0, 0, 0, 0},
		{"one each", []recorder.Notification{note(20*ms, 0, 1), note(21*ms, 1, 2)}, "zxid", 1, 1, 2, 0},
		{"one transaction, however slow", []recorder.Notification{note(20*ms, 0, 1), note(21*ms, 2, 2), note(90*ms, 1, 1)}, "zxid", 1.5, 2, 2, 70 * ms},
		{"outside the window", []recorder.Notification{note(9*ms, 0, 1), note(20*ms, 1, 1), note(111*ms, 2, 1)}, "zxid", 1, 1, 1, 0},
		{"two transactions at once", []recorder.Notification{note(20*ms, 0, 1), note(20*ms, 1, 2), note(20*ms, 2, 1)}, "zxid", 1.5, 2, 3, 0},
		{"an old server: silence ends a herd", []recorder.Notification{old(20*ms, 0), old(24*ms, 1), old(30*ms, 2)}, "path and time", 1.5, 2, 2, 4 * ms},
		{"an old server: no client is in a herd twice", []recorder.Notification{old(20*ms, 0), old(21*ms, 1), old(22*ms, 0), old(23*ms, 1)}, "path and time", 2, 2, 4, ms},
		{"a peak is any 10 ms, not a fixed grid", []recorder.Notification{note(19*ms, 0, 1), note(20*ms, 1, 2), note(28*ms, 2, 3), note(30*ms, 3, 4)}, "zxid", 1, 1, 3, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := observe(t, "", raw{Notifications: tt.notifications}).Herd
			spread := longest(t, h.Spread).Round(ms)
			if h.Grouping != tt.grouping || h.Mean() != tt.mean || h.Max() != tt.most || h.Peak10ms != tt.peak || spread != tt.spread {
				t.Errorf("grouping %s, mean %g, max %d, peak %d, spread %s; want %s, %g, %d, %d, %s", h.Grouping, h.Mean(), h.Max(),
					h.Peak10ms, spread, tt.grouping, tt.mean, tt.most, tt.peak, tt.spread)
			}
		})
	}
}

// A notification that is recorded when the window has ended belongs to no window, also if it came in the very moment at which it ended:
// else it would be counted and in no herd.
func TestNotificationAtTheEndOfTheWindow(t *testing.T) {
	r := recorder.New(recorder.Config{Operation: "release", Clients: 1})
	r.OpenWindow(10 * ms)
	r.Notification(note(20*ms, 0, 1))
	r.CloseWindow(110 * ms)
	r.Notification(note(110*ms, 0, 2))
	d := closed(t, r, &results.Document{})
	if len(d.Herd.Sizes) != 1 || d.Herd.Sizes[0].Count != 1 || d.Counts.Notified() != 1 {
		t.Errorf("herds %+v of %d notifications, want one of one", d.Herd.Sizes, d.Counts.Notified())
	}
}

// A server that names transactions does not when it sends a notification again. Only that one is in no herd.
func TestNotificationsWithoutCause(t *testing.T) {
	known := []recorder.Notification{note(20*ms, 0, 1), note(21*ms, 1, 1)}
	again := []recorder.Notification{note(22*ms, 2, -1)}
	for _, tt := range []struct {
		name, version string
		notifications []recorder.Notification
		grouping      string
		most          int
		ungrouped     int64
		warns         string
	}{
		{"one of three", "3.9.3", slices.Concat(known, again), "zxid", 2, 1, "1 notifications are in no herd"},
		{"one of three, of unknown servers", "", slices.Concat(known, again), "zxid", 2, 1, "1 notifications are in no herd"},
		{"the only one", "3.9.3", again, "zxid", 0, 1, "1 notifications are in no herd"},
		{"the only one, of a later release", "10.0.1", again, "zxid", 0, 1, "1 notifications are in no herd"},
		{"the only one, of an older release", "3.8.0", again, "path and time", 1, 0, "ZooKeeper 3.8.0 do not name"},
		{"the only one, of unknown servers", "", again, "path and time", 1, 0, "an unknown version do not name"},
		{"a cause that was named in the warm-up does not count", "", []recorder.Notification{note(5*ms, 0, 1), again[0]}, "path and time", 1, 0, "an unknown version do not name"},
		{"none, of old servers", "3.8.0", nil, "zxid", 0, 0, ""},
		{"all known", "3.9.3", known, "zxid", 2, 0, ""},
	} {
		d := observe(t, tt.version, raw{Notifications: tt.notifications})
		if h := d.Herd; h.Grouping != tt.grouping || h.Max() != tt.most || h.Ungrouped != tt.ungrouped {
			t.Errorf("%s: %+v, want %s, %d, %d", tt.name, h, tt.grouping, tt.most, tt.ungrouped)
		}
		isAboutHerds := func(w string) bool { return strings.Contains(w, "the transaction that caused") }
		warnings := slices.DeleteFunc(d.Warnings, func(w string) bool { return !isAboutHerds(w) })
		if said := strings.Join(warnings, "; "); !strings.Contains(said, tt.warns) || (tt.warns == "") != (said == "") {
			t.Errorf("%s: warns of herds %q, want %q", tt.name, said, tt.warns)
		}
	}
}

// A herd is complete when all sessions have passed its transaction, or after a minute of silence: what claims to be of
// the same transaction after that is another herd.
func TestHerdsAreCompletedInTime(t *testing.T) {
	for _, tt := range []struct {
		name   string
		passed map[time.Duration]int64
		second time.Duration
		most   int
	}{
		{"not passed", nil, 21 * s, 2},
		{"an earlier one passed", map[time.Duration]int64{20 * s: 6}, 21 * s, 2},
		{"passed", map[time.Duration]int64{20 * s: 7}, 21 * s, 1},
		{"a later one passed", map[time.Duration]int64{20 * s: 8}, 21 * s, 1},
		{"silent for a minute", nil, 85 * s, 1},
	} {
		r := raw{Window: between(0, 100*s), Passed: tt.passed, Config: recorder.Config{Named: true, Operation: "release"}}
		r.Notifications = []recorder.Notification{note(10*s, 0, 7), note(tt.second, 1, 7)}
		r.Spans = []span{took("release", 0, 83*s, 84*s)} // the clock moves on
		if got := r.record(t, &results.Document{}).Herd.Max(); got != tt.most {
			t.Errorf("%s: a herd of %d, want %d", tt.name, got, tt.most)
		}
	}
}

func TestSpuriousWakes(t *testing.T) {
	wait := func(client int, start, end time.Duration) span { return took("acquire", client, start, end) }
	for _, tt := range []struct {
		name          string
		notifications []recorder.Notification
		waits         []span
		want          int64
	}{
		{"woken once, and went on", []recorder.Notification{note(20*ms, 0, 1)}, []span{wait(0, 15*ms, 25*ms)}, 0},
		{"woken three times for one turn", []recorder.Notification{note(20*ms, 0, 1), note(21*ms, 0, 2), note(22*ms, 0, 3)}, []span{wait(0, 15*ms, 25*ms)}, 2},
		{"never got a turn", []recorder.Notification{note(20*ms, 0, 1)}, nil, 1},
		{"another client's turn", []recorder.Notification{note(20*ms, 0, 1)}, []span{wait(1, 15*ms, 25*ms)}, 1},
		{"notified of one's own release", []recorder.Notification{note(30*ms, 0, 1)}, []span{wait(0, 15*ms, 25*ms)}, 1},
		{"notified at the very end, and before", []recorder.Notification{note(20*ms, 0, 1), note(25*ms, 0, 2)}, []span{wait(0, 15*ms, 25*ms)}, 1},
		{"notified at the very end alone", []recorder.Notification{note(25*ms, 0, 2)}, []span{wait(0, 15*ms, 25*ms)}, 1},
		{"woken before the window, turn in it", []recorder.Notification{note(9*ms, 0, 1)}, []span{wait(0, 5*ms, 12*ms)}, 0},
	} {
		d := observe(t, "", raw{Notifications: tt.notifications, Spans: tt.waits})
		if d.Counts.SpuriousWakes != tt.want {
			t.Errorf("%s: %d spurious wake-ups, want %d", tt.name, d.Counts.SpuriousWakes, tt.want)
		}
	}
}

func TestLatenciesBelongToTheWindowTheyEndIn(t *testing.T) {
	of := func(start, end time.Duration) span { return took("acquire", 0, start, end) }
	d := observe(t, "", raw{Spans: []span{of(0, 5*ms), of(5*ms, 15*ms), of(20*ms, 40*ms), of(100*ms, 120*ms)}})
	if n := d.Histograms["acquire"].Samples; n != 2 {
		t.Errorf("%d samples in the window, want 2", n)
	}
	if n := d.Histograms["warm-up/acquire"].Samples; n != 1 {
		t.Errorf("%d samples before it, want 1", n)
	}
	if got := d.Metrics["acquire-max-ns"].Value; got < 20e6 || got > 20.1e6 {
		t.Errorf("acquire-max-ns = %g, want 20 ms", got)
	}
	if _, there := d.Metrics["handoff-p50-ns"]; there {
		t.Error("a phase without samples has a percentile")
	}
}

// A share relates what ended in the window to what ended in the window, and is zero only where there was something to
// count.
func TestShares(t *testing.T) {
	of := func(phase string, end time.Duration) span { return took(phase, 0, end-ms, end) }
	for _, tt := range []struct {
		name  string
		spans []span
		want  float64 // negative: there is no such metric
	}{
		{"nothing was read", nil, -1},
		{"nothing was read in the window", []span{of("read", 2*ms), of("stale", 2*ms)}, -1},
		{"none was stale", []span{of("read", 20*ms), of("read", 30*ms)}, 0},
		{"stale before the window", []span{of("stale", 2*ms), of("read", 20*ms)}, 0},
		{"one of four", []span{of("read", 20*ms), of("stale", 20*ms), of("read", 30*ms), of("read", 31*ms), of("read", 32*ms)}, 0.25},
		{"all", []span{of("read", 20*ms), of("stale", 20*ms)}, 1},
	} {
		m, there := observe(t, "", raw{Spans: tt.spans}).Metrics["stale/read"]
		if there != (tt.want >= 0) || there && (m.Value != tt.want || m.Unit != "per read") {
			t.Errorf("%s: stale/read = %+v (measured: %t), want %g", tt.name, m, there, tt.want)
		}
	}
}

func TestNothingIsClampedSilently(t *testing.T) {
	d := observe(t, "", raw{Spans: []span{took("acquire", 0, -2*time.Hour, 20*ms)}})
	reason := "1 acquire latencies were over an hour"
	if d.Histograms["acquire"].Dropped != 1 || !slices.Contains(d.Invalid, reason) {
		t.Errorf("dropped %d, invalid %q; want 1 and %q", d.Histograms["acquire"].Dropped, d.Invalid, reason)
	}
}

// Waits that outlast the window are in no percentile. Old ones are counted as starving.
func TestStarvation(t *testing.T) {
	wait := func(client int, start, end time.Duration) span { return took("acquire", client, start, end) }
	var fair, unfair []span
	for i := range 50 {
		at := time.Duration(i) * ms
		fair = append(fair, wait(i, at, at+50*ms), wait(i, at+61*ms, at+111*ms)) // each waits 50 ms, half of them beyond the end
		unfair = append(unfair, wait(0, at+11*ms, at+12*ms), wait(i+1, 10*ms, 200*ms))
	}
	for _, tt := range []struct {
		name       string
		spans      []span
		unfinished int
		oldest     time.Duration
		starves    bool
	}{
		{"fair", fair, 50, 49 * ms, false},
		{"one client has it all", unfair, 50, 100 * ms, true},
		{"begun after the window", []span{wait(0, 111*ms, 120*ms)}, 0, 0, false},
	} {
		d := observe(t, "", raw{Spans: tt.spans})
		w := d.Window
		if w.UnfinishedWaits != tt.unfinished || w.OldestWait != tt.oldest || d.Starves() != tt.starves {
			t.Errorf("%s: %+v; want %d unfinished, the oldest %s, starving %v", tt.name, w, tt.unfinished, tt.oldest, tt.starves)
		}
	}
}

// The slowest read of each server is that of the window, and counts from when it was sent: what zkbench itself was late
// is not the server's fault. The reports that were passed in are left alone.
func TestSlowestReadIsOfTheWindow(t *testing.T) {
	r := raw{Window: between(1*s, 2*s), Reads: []results.BystanderRead{
		{Server: 1, At: 500 * ms, Service: 300 * ms, Response: 300 * ms},
		{Server: 1, At: 1500 * ms, Service: 2 * ms, Response: 200 * ms},
		{Server: 2, At: 1900 * ms, Service: 700 * ms, Response: 701 * ms}, // is back after the window
		{Server: 2, At: 2100 * ms, Service: 900 * ms, Response: 901 * ms},
	}}
	servers := []results.ServerReport{{Server: 1}, {Server: 2}, {Server: 3}}
	d := r.record(t, &results.Document{Servers: servers})
	for i, want := range []time.Duration{2 * ms, 700 * ms, 0} {
		got := d.Servers[i].SlowestRead
		if (got == nil) != (want == 0) || got != nil && *got != want {
			t.Errorf("server %d: %v, want %s", i+1, got, want)
		}
		if servers[i].SlowestRead != nil {
			t.Errorf("server %d: the caller's report has changed", i+1)
		}
	}
}

// Reads that are due while zkbench stops the servers are in no part of the document.
func TestFrozenReadsAreLeftOut(t *testing.T) {
	r := raw{Frozen: between(40*ms, 60*ms)}
	for _, at := range []time.Duration{39 * ms, 40 * ms, 50 * ms, 60 * ms, 61 * ms} {
		r.Reads = append(r.Reads, results.BystanderRead{At: at, Service: 5 * ms, Response: 5 * ms})
	}
	d := observe(t, "", r)
	if n, shown := d.Histograms["bystander"].Samples, len(d.Timeline.Bystander); n != 2 || shown != 2 {
		t.Errorf("%d reads, %d in the timeline; want those before and after the freeze", n, shown)
	}
}

// A document lists the first violations and counts all of them, also if the load fails.
func TestViolations(t *testing.T) {
	for _, failed := range []bool{false, true} {
		rec := recorder.New(recorder.Config{})
		rec.OpenWindow(0)
		for i := range recorder.MaxViolations + 7 {
			rec.Violation(results.Violation{At: time.Duration(i), Text: fmt.Sprint(i)})
		}
		d := &results.Document{}
		if failed {
			rec.CloseFailed(d)
		} else {
			rec.CloseWindow(s)
			closed(t, rec, d)
		}
		if len(d.Violations) != recorder.MaxViolations || d.Violations[99].Text != "99" || d.MoreViolations != 7 {
			t.Errorf("failed %t: %d violations and %d more", failed, len(d.Violations), d.MoreViolations)
		}
		if failed && (d.Histograms != nil || d.Metrics != nil || d.Series != nil) {
			t.Errorf("a failed load left more than its violations: %+v", d)
		}
	}
}

func TestRestOfTheDocumentIsKept(t *testing.T) {
	r := raw{Window: between(0, s), Config: recorder.Config{Operation: "release"}, Spans: []span{took("release", 0, 0, ms)}}
	d := r.record(t, &results.Document{
		Clients: 1, Scenario: results.Scenario{Operations: 1},
		Counts:   results.Counts{Requests: map[string]int64{"create": 3}, Writes: 3},
		Heap:     &results.Heap{Watches: 5},
		Floor:    &results.Floor{Why: "no"},
		Health:   results.Health{Reconnects: 2},
		Oracle:   results.Oracle{Checked: true, ClientWrites: 3, ServerTransactions: 4},
		Expected: results.Expected{Costs: map[string]results.Cost{metric.WritesPerOp: {Formula: "2", Value: 2}}},
	})
	if d.Heap.Watches != 5 || d.Floor.Why != "no" || d.Health.Reconnects != 2 || !d.CountsExactly() {
		t.Errorf("%+v", d)
	}
	if d.Metrics[metric.WritesPerOp].Value != 3 || doubts.EqualsFormulas(d) || len(d.Invalid) < 2 {
		t.Errorf("writes %v, equal %t, invalid %q: want three for each operation, a formula and servers that disagree", d.Metrics[metric.WritesPerOp], doubts.EqualsFormulas(d), d.Invalid)
	}
}

func TestSpansDoNotAllocate(t *testing.T) {
	rec := recorder.New(recorder.Config{Operation: "release", Waiting: []string{"acquire"}, Clients: 10})
	rec.OpenWindow(0)
	at := time.Duration(0)
	span := func() {
		at += 10 * ms
		rec.Span("acquire", 3, at-5*ms, at)
		rec.Span("release", 3, at-ms, at)
	}
	span()
	if n := testing.AllocsPerRun(100_000, span); n != 0 {
		t.Errorf("%g allocations for two spans", n)
	}
}

func BenchmarkSpan(b *testing.B) {
	rec := recorder.New(recorder.Config{Operation: "release", Waiting: []string{"acquire"}, Clients: 10})
	rec.OpenWindow(0)
	b.ReportAllocs()
	for i := range b.N {
		at := time.Duration(i) * 100 * time.Microsecond
		rec.Span("release", i%10, at-ms, at)
	}
}

func BenchmarkNotification(b *testing.B) {
	rec := recorder.New(recorder.Config{Named: true, Clients: 10})
	rec.OpenWindow(0)
	b.ReportAllocs()
	for i := range b.N {
		zxid := int64(i/10 + 1)
		rec.Notification(note(time.Duration(i)*10*time.Microsecond, i%10, zxid))
		if i%10_000 == 0 {
			rec.Passed(zxid - 1)
		}
	}
}

// The timeline of a window that is cut short is from its middle, and that of a window of about the planned length from exactly there.
func TestTimelineOfAWindowCutShort(t *testing.T) {
	const length = 100 * s
	for _, took := range []time.Duration{7 * s, 14 * s, 49 * s, 91 * s, length, length + 460*ms} {
		r := raw{Window: between(s, s+took), Config: recorder.Config{WindowLength: length}}
		for at := s; at <= r.Window.End; at += 20 * ms {
			r.Notifications = append(r.Notifications, note(at, 0, int64(at)))
		}
		d := r.record(t, &results.Document{})
		off, accepted := (d.Timeline.Start+d.Timeline.End)/2-(s+took/2), max(125*ms, took/8)
		if took >= length {
			accepted = 0
		}
		if off.Abs() > accepted || len(d.Timeline.Notifications) < 50 {
			t.Errorf("after %s: %d notifications from %s to %s", took, len(d.Timeline.Notifications), d.Timeline.Start, d.Timeline.End)
		}
	}
}
