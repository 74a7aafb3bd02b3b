package recorder_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
	"github.com/zkbench/zkbench/results/store"
)

// load makes random measurements.
type load struct {
	*rand.Rand
	raw
	pauses  []stretch // in which nothing completes
	version string    // of ZooKeeper; empty if unknown
}

func (l *load) within(length time.Duration) time.Duration {
	return time.Duration(l.Int64N(int64(length)))
}

// exp returns an exponentially distributed time.
func (l *load) exp(mean time.Duration) time.Duration {
	return time.Duration(l.ExpFloat64() * float64(mean))
}

// resume returns the first moment at or after a time that is not in a pause.
func (l *load) resume(at time.Duration) time.Duration {
	for _, p := range l.pauses {
		if contains(p, at) {
			at = p.End + l.within(ms)
		}
	}
	return at
}

// newLoad makes a measurement of up to about ten seconds.
func newLoad(seed uint64) *load {
	l := &load{Rand: rand.New(rand.NewPCG(seed, 0))}
	length := 2*s + l.within(8*s)
	l.Window = between(l.within(s), s+l.within(length-s))
	l.Config = recorder.Config{
		Phase: "acquire", Operation: "release", Waiting: []string{"acquire", "await"}, Collective: l.IntN(5) == 0,
		Clients: 1 + l.IntN(20),
	}
	l.version = []string{"3.9.3", "3.8.0", ""}[l.IntN(3)]
	l.Config.Named = l.version == "3.9.3"
	if l.IntN(2) == 0 {
		l.Config.WindowLength = lengthOf(l.Window) + l.within(100*ms) - 50*ms
	}
	for range l.IntN(3) {
		at := l.within(length)
		l.pauses = append(l.pauses, between(at, at+l.within(3*s)))
	}
	slices.SortFunc(l.pauses, func(a, b stretch) int { return int(a.Start - b.Start) })
	if l.IntN(4) == 0 {
		at := l.Window.Start + l.within(lengthOf(l.Window))
		l.Frozen = between(at, at+l.within(s))
	}
	for id := range l.Config.Clients {
		l.client(id, length)
	}
	l.herds(length)
	for server := range 3 {
		l.bystander(server, length)
	}
	l.send(length)
	if l.Config.Faulty = l.IntN(3) > 0; l.Config.Faulty {
		l.fail()
	}
	return l
}

// fail adds faults to the window, some of which hit every client, and some of which are never undone.
func (l *load) fail() {
	inWindow := func() time.Duration { return l.Window.Start + l.within(lengthOf(l.Window)) }
	for range l.IntN(6) {
		f := recordertest.Fault{Kind: "expire", Target: "any", Start: inWindow()}
		f.Victims = l.Perm(l.Config.Clients)[:l.IntN(l.Config.Clients+1)]
		if l.IntN(2) == 0 {
			f.End = f.Start + l.within(3*s)
		}
		l.Faults = append(l.Faults, f)
	}
	slices.SortFunc(l.Faults, func(a, b recordertest.Fault) int { return cmp.Compare(a.Start, b.Start) })
	for range l.IntN(20) {
		l.Failed, l.Rejoined = append(l.Failed, l.within(l.Window.End+s)), append(l.Rejoined, inWindow())
	}
}

// send makes traffic in bursts, with samples about every 100 ms and at the edges of the window.
func (l *load) send(until time.Duration) {
	times := []time.Duration{0, l.Window.Start, l.Window.End}
	for at := l.exp(100 * ms); at < until; at += l.within(200*ms) + l.exp(20*ms) {
		times = append(times, at)
	}
	slices.Sort(times)
	l.Traffic = traffic{}
	var so recorder.Traffic
	for _, at := range times {
		if l.IntN(3) == 0 {
			so.Requests += l.Int64N(1000)
			so.BytesIn += l.Int64N(1_000_000)
		}
		l.Traffic[at] = so
	}
}

func (l *load) client(id int, until time.Duration) {
	wait, hold := l.within(200*ms)+ms, l.within(100*ms)+ms
	for at := l.exp(wait); at < until; {
		acquired := l.resume(at + l.exp(wait))
		release := acquired + l.exp(hold)
		done := l.resume(release + l.exp(ms))
		l.Spans = append(l.Spans, took("acquire", id, at, acquired), took("hold", id, acquired, release), took("release", id, release, done))
		at = done + l.exp(ms)
	}
}

// herds makes transactions notify some of the clients each. Several transactions may be on their way at once.
func (l *load) herds(until time.Duration) {
	names := l.Config.Named || l.version == "" && l.IntN(2) == 0
	last := map[int64]time.Duration{}
	zxid := int64(0)
	for at := l.exp(20 * ms); at < until; at += l.exp(20 * ms) {
		zxid++
		spread := l.exp(10 * ms)
		path := fmt.Sprintf("/lock/%d", l.IntN(3))
		for _, id := range l.Perm(l.Config.Clients)[:1+l.IntN(l.Config.Clients)] {
			n := recorder.Notification{At: at + l.within(spread+1), Client: id, Zxid: -1, Type: []string{"NodeDeleted", "NodeChildrenChanged"}[l.IntN(2)], Path: path}
			if names && l.IntN(50) > 0 {
				n.Zxid = zxid
			}
			l.Notifications = append(l.Notifications, n)
			last[zxid] = max(last[zxid], n.At)
		}
	}
	l.Passed = map[time.Duration]int64{}
	for arrived, passed := time.Duration(0), int64(1); passed <= zxid; passed++ {
		if arrived = max(arrived, last[passed]); l.IntN(3) == 0 {
			l.Passed[arrived] = passed
		}
	}
}

// bystander reads at a rate, some of the time late.
func (l *load) bystander(server int, until time.Duration) {
	for at := time.Duration(0); at < until; at += 10 * ms {
		service := l.resume(at) - at + l.exp(ms) + 1
		l.Reads = append(l.Reads, results.BystanderRead{At: at, Service: service, Response: service + l.exp(ms), Server: server})
	}
}

// The results of a recorder while a measurement runs equal those computed from lists of everything afterwards.
func TestRecorderAgreesWithLists(t *testing.T) {
	seeds := []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
	for range 20 {
		seeds = append(seeds, rand.Uint64())
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			l := newLoad(seed)
			d := l.record(t, l.document())
			equal(t, "what contradicts itself", store.CheckInvariants(d), error(nil))
			l.compareCounts(t, d)
			l.compareStalls(t, d)
			l.compareWaits(t, d)
			l.compareTimelines(t, d)
			l.compareSeries(t, d)
			l.compareFailure(t, d)
		})
	}
}

func (l *load) counts() results.Counts {
	times := slices.DeleteFunc(slices.Collect(maps.Keys(l.Traffic)), func(at time.Duration) bool { return !contains(l.Window, at) })
	first, last := l.Traffic[slices.Min(times)], l.Traffic[slices.Max(times)]
	requests := last.Requests - first.Requests
	return results.Counts{Requests: map[string]int64{"getData": requests}, BytesIn: last.BytesIn - first.BytesIn}
}

// document returns the document of a measurement before it begins.
func (l *load) document() *results.Document {
	d := &results.Document{
		Schema: results.Schema, Run: "r", Started: time.Unix(1, 0), Recipe: "lock", Variant: "a", Kind: "naive", Clients: l.Config.Clients, Repeat: 1,
		Scenario:    results.Scenario{Name: "lock", Mode: "closed", Size: 1, Clients: []int{l.Config.Clients}, Repeats: 1, BystanderRate: 100},
		Environment: results.Environment{Engine: "embedded", Servers: []string{"a:1"}, ZooKeeper: l.version, SessionTimeout: s},
		Phases:      []string{"acquire", "hold", "release", "await"}, Operation: l.Config.Operation, Batch: 1, Waiting: l.Config.Waiting,
		Oracle: results.Oracle{Why: "no server", ClientNotifications: int64(len(l.Notifications))}, Counts: l.counts(),
	}
	times := slices.Sorted(maps.Keys(l.Traffic))
	d.Oracle.AllRequests = l.Traffic[times[len(times)-1]].Requests - l.Traffic[times[0]].Requests
	d.Oracle.AllNotifications = d.Oracle.ClientNotifications
	d.Scenario.Duration = lengthOf(l.Window)
	if l.Config.WindowLength > 0 {
		d.Scenario.Duration = min(l.Config.WindowLength, lengthOf(l.Window))
	}
	if l.Config.Faulty {
		d.Scenario.Faults = []results.FaultLoad{{Kind: "expire", Whom: "any"}}
	}
	return d
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %+v, want %+v", what, got, want)
	}
}

func (l *load) compareCounts(t *testing.T, d *results.Document) {
	t.Helper()
	histograms := l.histograms()
	equal(t, "histograms", d.Histograms, histograms)
	equal(t, "operations", d.Window.Operations, histograms["release"].Samples)
	sorted := l.inWindow()
	types := map[string]int64{}
	for _, n := range sorted {
		types[n.Type]++
	}
	equal(t, "notifications by type", d.Counts.Notifications, types)
	equal(t, "notified", d.Counts.Notified(), int64(len(sorted)))
	equal(t, "spurious wake-ups", d.Counts.SpuriousWakes, int64(len(sorted))-l.usefulWakes())
	equal(t, "herds", d.Herd, l.herd(t, !l.Config.Named))
}

// compareStalls checks that the stalls are found with their reads. A recorder knows the lengths of gaps to three digits: where a tenth
// of a percent decides, it may find others.
func (l *load) compareStalls(t *testing.T, d *results.Document) {
	t.Helper()
	want := l.stalls(judgement{0.5, 10})
	for _, by := range []judgement{{0.499, 9.99}, {0.499, 10.01}, {0.501, 9.99}, {0.501, 10.01}} {
		if !reflect.DeepEqual(l.stalls(by), want) {
			return
		}
	}
	equal(t, "stalls", d.Stalls, want)
}

func (l *load) compareWaits(t *testing.T, d *results.Document) {
	t.Helper()
	var count, starving int
	var oldest time.Duration
	for phase, ages := range l.unfinished() {
		for _, age := range ages {
			count++
			oldest = max(oldest, age)
			if age > time.Duration(d.Metrics[phase+"-p99-ns"].Value) {
				starving++
			}
		}
	}
	got := []any{d.Window.UnfinishedWaits, d.Window.StarvingWaits, d.Window.OldestWait}
	equal(t, "unfinished, starving, oldest", got, []any{count, starving, oldest})
}

// compareTimelines checks that a timeline holds everything of its stretch, and that this is the stretch it should be.
func (l *load) compareTimelines(t *testing.T, d *results.Document) {
	t.Helper()
	sortTimeline(&d.Timeline)
	equal(t, "timeline", d.Timeline, l.cut(d.Timeline.Start, d.Timeline.End))
	center, length := (l.Window.Start+l.Window.End)/2, d.Timeline.End-d.Timeline.Start
	off := ((d.Timeline.Start+d.Timeline.End)/2 - center).Abs()
	if length != min(s, lengthOf(l.Window)) || l.Config.WindowLength > 0 && off > 1 || off > max(125*ms, lengthOf(l.Window)/16) {
		t.Errorf("timeline from %s to %s, of a window from %s to %s", d.Timeline.Start, d.Timeline.End, l.Window.Start, l.Window.End)
	}
	if (d.AroundHerd == nil) != (len(d.Herd.Sizes) == 0) {
		t.Fatalf("around the largest of herds %v: %v", d.Herd.Sizes, d.AroundHerd)
	}
	if d.AroundHerd != nil {
		if want := l.aroundHerd(); d.AroundHerd.Start != want.Start || d.AroundHerd.End != want.End {
			t.Errorf("around the largest herd: from %s to %s, want %s to %s", d.AroundHerd.Start, d.AroundHerd.End, want.Start, want.End)
		}
		sortTimeline(d.AroundHerd)
		equal(t, "around the largest herd", *d.AroundHerd, l.cut(d.AroundHerd.Start, d.AroundHerd.End))
	}
}

// aroundHerd returns the second around the first notification of the herd that is the first to reach the largest size.
func (l *load) aroundHerd() stretch {
	found, _, _ := herds(l.inWindow(), !l.Config.Named)
	largest := slices.MinFunc(found, func(a, b *herd) int {
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.last, b.last))
	})
	return between(max(largest.first-500*ms, l.Window.Start), min(largest.first+500*ms, l.Window.End))
}

func (l *load) compareSeries(t *testing.T, d *results.Document) {
	t.Helper()
	var operations, notifications int64
	for i := range d.Series.Operations {
		operations += d.Series.Operations[i]
		notifications += d.Series.Notifications[i]
	}
	var released, acquired int64
	var waited, waitedInBins time.Duration
	for _, s := range l.Spans {
		switch s.Phase {
		case "release":
			released++
		case "acquire":
			acquired++
			waited += s.End - s.Start
		}
	}
	for i, n := range d.Series.Samples {
		acquired -= n
		waitedInBins += d.Series.Time[i]
	}
	equal(t, "acquires and their time that are not in the series", []any{acquired, waited - waitedInBins}, []any{int64(0), time.Duration(0)})
	equal(t, "operations and notifications of the series", []int64{operations, notifications}, []int64{released, int64(len(l.Notifications))})
	if largest := slices.Max(d.Series.LargestHerd); largest < d.Herd.Max() {
		t.Errorf("the largest herd is %d, and in the series %d", d.Herd.Max(), largest)
	}
}
