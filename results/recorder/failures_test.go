package recorder_test

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
)

// failure computes a document's failure from lists of everything, without the surroundings of the first fault.
func (r raw) failure() *results.Failure {
	if !r.Config.Faulty {
		return nil
	}
	out := &results.Failure{Faults: []results.Fault{}, Losses: map[string]int64{}}
	var recoveries []time.Duration
	for _, f := range r.Faults {
		one := results.Fault{At: f.Start, Kind: f.Kind, Target: f.Target, Victims: append([]int{}, slices.Sorted(slices.Values(f.Victims))...), Recovery: -1}
		if f.End > 0 {
			one.Length = f.End - f.Start
		}
		if at, ok := r.recovery(f); ok {
			one.Recovery = at - f.Start
			recoveries = append(recoveries, one.Recovery)
		} else {
			out.Unrecovered++
			out.LongestUnrecovered = max(out.LongestUnrecovered, r.end()-f.Start)
		}
		out.Faults = append(out.Faults, one)
	}
	out.Recovery = results.NewHistogram(recoveries)
	for _, gap := range r.gaps() {
		if gap.Start >= r.Window.Start {
			out.Unavailable = max(out.Unavailable, lengthOf(gap))
		}
	}
	in := func(times []time.Duration) (n int64) {
		for _, at := range times {
			if contains(r.Window, at) {
				n++
			}
		}
		return n
	}
	out.FailedOperations, out.Rejoins = in(r.Failed), in(r.Rejoined)
	return out
}

// recovery returns when the first operation ended that shows that others can proceed after a fault.
func (r raw) recovery(f recordertest.Fault) (at time.Duration, ok bool) {
	for _, s := range r.Spans {
		all, waits := len(f.Victims) == r.Config.Clients, slices.Contains(r.Config.Waiting, r.Config.Operation)
		counts := (all || !slices.Contains(f.Victims, s.Client)) && (s.Start >= f.Start || waits && !all)
		if s.Phase == r.Config.Operation && s.End >= f.Start && counts && (!ok || s.End < at) {
			at, ok = s.End, true
		}
	}
	return at, ok
}

func (r raw) end() time.Duration {
	end := r.Window.End
	for _, s := range r.Spans {
		end = max(end, s.End)
	}
	for _, n := range r.Notifications {
		end = max(end, n.At)
	}
	for _, b := range r.Reads {
		end = max(end, b.At+b.Response)
	}
	for _, f := range r.Faults {
		end = max(end, f.Start, f.End)
	}
	return max(end, slices.Max(append(slices.Concat(r.Failed, r.Rejoined), 0)))
}

// afterFault reports whether a fault was in effect during a stretch, or up to a second before it.
func (r raw) afterFault(gap stretch) bool {
	return slices.ContainsFunc(r.Faults, func(f recordertest.Fault) bool {
		return overlaps(gap, between(f.Start, max(f.Start, f.End)+s+1))
	})
}

// compareFailure compares the failure with the lists, and its excerpt with the events around the first fault.
func (l *load) compareFailure(t *testing.T, d *results.Document) {
	t.Helper()
	want := l.failure()
	if want == nil || d.Failure == nil {
		equal(t, "failure", d.Failure, want)
		return
	}
	around := d.Failure.Around
	d.Failure.Around = nil
	l.comparePeaks(t, d.Failure, want)
	equal(t, "failure", *d.Failure, *want)
	if len(l.Faults) == 0 {
		equal(t, "around no fault", around, (*results.FaultExcerpt)(nil))
		return
	}
	from := max(l.Faults[0].Start-s, l.Window.Start)
	to := min(from+10*s, l.Window.End)
	if first := want.Faults[0]; first.Recovered() {
		to = min(to, first.At+first.Recovery+s)
	}
	cut := l.cut(from, to)
	sortTimeline(&around.Timeline)
	if len(cut.Notifications) > recorder.MaxDots || len(cut.Bystander) > recorder.MaxDots { // thinned, see TestExcerptIsThinned
		return
	}
	equal(t, "around the first fault", around.Timeline, cut)
	var operations []results.TimelineDot
	for _, s := range l.Spans {
		if s.Phase == l.Config.Operation && from <= s.End && s.End <= to {
			operations = append(operations, results.TimelineDot{At: s.End - from, Client: s.Client})
		}
	}
	slices.SortFunc(operations, func(a, b results.TimelineDot) int { return cmp.Compare(a.At, b.At) })
	equal(t, "operations around the first fault", around.Operations, append([]results.TimelineDot{}, operations...))
}

// traffic is the traffic up to a time.
type traffic = map[time.Duration]recorder.Traffic

// peaks returns the traffic of the busiest seconds of the window: of all those that begin or end with a sample. It takes
// traffic as even between two samples.
func (r raw) peaks() (most recorder.Traffic) {
	times := slices.DeleteFunc(slices.Sorted(maps.Keys(r.Traffic)), func(at time.Duration) bool { return !contains(r.Window, at) })
	upTo := func(at time.Duration) (requests, bytes float64) {
		for i, next := range times {
			if i == len(times)-1 || at <= next {
				last := times[max(i-1, 0)]
				share := 1.0
				if i > 0 {
					share = min(max(float64(at-last)/float64(next-last), 0), 1)
				}
				a, b := r.Traffic[last], r.Traffic[next]
				return float64(a.Requests) + share*float64(b.Requests-a.Requests), float64(a.BytesIn) + share*float64(b.BytesIn-a.BytesIn)
			}
		}
		return 0, 0
	}
	for _, at := range times {
		for _, start := range []time.Duration{at - s, at} {
			requests, bytes := upTo(start)
			moreRequests, moreBytes := upTo(start + s)
			most.Requests, most.BytesIn = max(most.Requests, int64(moreRequests-requests)), max(most.BytesIn, int64(moreBytes-bytes))
		}
	}
	return most
}

// comparePeaks compares the busiest seconds, which are rounded, and makes them equal if they are.
func (l *load) comparePeaks(t *testing.T, got, want *results.Failure) {
	t.Helper()
	most := l.peaks()
	near := func(a, b int64) bool { return a-b <= 1 && b-a <= 1 }
	if !near(got.PeakRequests, most.Requests) || !near(got.PeakBytesIn, most.BytesIn) {
		t.Errorf("peaks: %d requests and %d bytes, want %+v", got.PeakRequests, got.PeakBytesIn, most)
	}
	want.PeakRequests, want.PeakBytesIn = got.PeakRequests, got.PeakBytesIn
}

// The comparison with lists notices a recorder that takes a victim's own operation for a recovery.
func TestVictimsMatter(t *testing.T) {
	for seed := range uint64(20) {
		l := newLoad(seed)
		faults := slices.Clone(l.Faults)
		for i := range l.Faults {
			l.Faults[i].Victims = nil
		}
		broken := l.record(t, l.document()).Failure
		if l.Faults = faults; broken != nil && !reflect.DeepEqual(broken.Recovery, l.failure().Recovery) {
			return
		}
	}
	t.Error("no measurement distinguishes the operations of victims from those of others")
}

// faulty is a measurement of three clients, with a window from 1 s to 11 s.
func faulty(faults ...recordertest.Fault) raw {
	return raw{
		Config: recorder.Config{Operation: "release", Clients: 3, Faulty: true, Losses: []string{metric.Orphans}, WindowLength: 10 * s},
		Window: between(s, 11*s), Faults: faults,
	}
}

// Faults outside of the window do not count. Losses are those of the whole load.
func TestFaultsOutsideOfTheWindow(t *testing.T) {
	r := recorder.New(recorder.Config{Faulty: true, Losses: []string{metric.ItemsLost, metric.Blocked}})
	before := r.FaultBegan(0, "expire", "any", nil)
	r.Damage(metric.ItemsLost, 2)
	r.OpenWindow(s)
	r.FaultEnded(before, s)
	r.CloseWindow(2 * s)
	after := r.FaultBegan(3*s, "expire", "any", nil)
	r.FaultEnded(after, 4*s)
	for _, f := range []func(time.Duration){r.MissedFault, r.FailedOperation, r.Rejoined} {
		f(3 * s)
	}
	r.Damage(metric.ItemsLost, 1)
	r.Damage(metric.Blocked, 5)
	r.Damage(metric.Blocked, 3)
	d := closed(t, r, &results.Document{})
	equal(t, "failure", *d.Failure, results.Failure{
		Faults: []results.Fault{}, Unavailable: s, Losses: map[string]int64{metric.ItemsLost: 3, metric.Blocked: 5},
		Missed: 1, // of a fault that was due in the window
	})
}

// A document lists the first faults and counts the others. Each is still known when it ends.
func TestManyFaults(t *testing.T) {
	const many = recorder.MaxFaults + 50
	r := recorder.New(recorder.Config{Operation: "release", Clients: 2, Faulty: true})
	r.OpenWindow(0)
	for i := range many {
		at := time.Duration(i+1) * s
		id := r.FaultBegan(at, "expire", "any", []int{0})
		r.Span("release", 1, at, at+ms)
		r.FaultEnded(id, at+2*ms)
	}
	r.FaultEnded(0, many*s)
	r.CloseWindow((many + 1) * s)
	d := closed(t, r, &results.Document{})
	f := d.Failure
	if len(f.Faults) != recorder.MaxFaults || f.MoreFaults != 50 || f.Recovery.Samples != many || f.Unrecovered != 0 {
		t.Errorf("%d faults, %d more, %d recoveries, %d without", len(f.Faults), f.MoreFaults, f.Recovery.Samples, f.Unrecovered)
	}
	for i, fault := range f.Faults {
		if fault.Length != 2*ms || fault.Recovery != ms {
			t.Fatalf("fault %d: %+v", i, fault)
		}
	}
}

// If there are too many events to show, every second, every fourth and so on is kept, starting with the first one.
func TestExcerptIsThinned(t *testing.T) {
	for _, n := range []int{recorder.MaxDots, recorder.MaxDots + 1, 5 * recorder.MaxDots} {
		r := faulty(recordertest.Fault{Kind: "expire", Target: "any", Start: 2 * s})
		for i := range n {
			r.Notifications = append(r.Notifications, recorder.Notification{At: 2*s + time.Duration(i)*time.Microsecond, Zxid: 1, Type: "NodeDeleted"})
		}
		dots := r.record(t, &results.Document{}).Failure.Around.Timeline.Notifications
		step := dots[1].At - dots[0].At
		for i, dot := range dots {
			if dot.At != s+time.Duration(i)*step {
				t.Fatalf("of %d: dot %d at %s, in steps of %s", n, i, dot.At, step)
			}
		}
		if most := recorder.MaxDots; len(dots) > most || 2*len(dots) < most || len(dots)*int(step/time.Microsecond) < n {
			t.Errorf("of %d: %d dots in steps of %s", n, len(dots), step)
		}
	}
}
