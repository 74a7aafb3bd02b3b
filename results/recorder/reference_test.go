package recorder_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
)

const (
	ms = time.Millisecond
	s  = time.Second
)

type (
	span    = recordertest.Span
	stretch = recordertest.Stretch
	raw     recordertest.Measurement
)

func between(start, end time.Duration) stretch { return stretch{Start: start, End: end} }

func took(phase string, client int, start, end time.Duration) span {
	return span{Phase: phase, Client: client, Start: start, End: end}
}

func lengthOf(s stretch) time.Duration { return s.End - s.Start }

func overlaps(s, o stretch) bool { return s.Start < o.End && o.Start < s.End }

func contains(s stretch, at time.Duration) bool { return s.Start <= at && at <= s.End }

func (r raw) record(t *testing.T, d *results.Document) *results.Document {
	t.Helper()
	return closed(t, recordertest.Measurement(r).Replay(), d)
}

func closed(t *testing.T, r *recorder.Recorder, d *results.Document) *results.Document {
	t.Helper()
	r.Close(d, recorder.Unserved{})
	return d
}

func longest(t *testing.T, h results.Histogram) time.Duration {
	t.Helper()
	return time.Duration(h.Decode().Max())
}

// The functions below compute the parts of a document from lists of everything, which takes memory but no thought. They
// are what a recorder is compared with.

// histograms sorts the times by phase, and by whether they ended in the window or before it.
func (r raw) histograms() map[string]results.Histogram {
	values := map[string][]time.Duration{}
	book := func(phase string, end, took time.Duration) {
		switch {
		case contains(r.Window, end):
			values[phase] = append(values[phase], took)
		case end < r.Window.Start:
			values["warm-up/"+phase] = append(values["warm-up/"+phase], took)
		}
	}
	for _, s := range r.Spans {
		book(s.Phase, s.End, s.End-s.Start)
	}
	for _, b := range r.unfrozen() {
		book(results.BystanderPhase, b.At, b.Response)
		book(results.BystanderService, b.At, b.Service)
	}
	out := map[string]results.Histogram{}
	for phase, v := range values {
		out[phase] = results.NewHistogram(v)
	}
	return out
}

func (r raw) unfrozen() []results.BystanderRead {
	return slices.DeleteFunc(slices.Clone(r.Reads), func(b results.BystanderRead) bool {
		return r.Frozen != (stretch{}) && contains(r.Frozen, b.At)
	})
}

func (r raw) inWindow() []recorder.Notification {
	out := slices.DeleteFunc(slices.Clone(r.Notifications), func(n recorder.Notification) bool { return !contains(r.Window, n.At) })
	slices.SortStableFunc(out, func(a, b recorder.Notification) int { return cmp.Compare(a.At, b.At) })
	return out
}

// usefulWakes counts the waits that ended in the window after at least one notification, the last of which came in it.
func (r raw) usefulWakes() int64 {
	byClient := map[int][]time.Duration{}
	for _, n := range r.Notifications {
		byClient[n.Client] = append(byClient[n.Client], n.At)
	}
	for _, times := range byClient {
		slices.Sort(times)
	}
	var useful int64
	for _, s := range r.Spans {
		if !slices.Contains(r.Config.Waiting, s.Phase) || !contains(r.Window, s.End) {
			continue
		}
		times := byClient[s.Client]
		i, _ := slices.BinarySearch(times, s.End)
		if i > 0 && times[i-1] > s.Start && contains(r.Window, times[i-1]) {
			useful++
		}
	}
	return useful
}

// unfinished returns the ages of the waits that were going on when the window ended.
func (r raw) unfinished() map[string][]time.Duration {
	out := map[string][]time.Duration{}
	for _, s := range r.Spans {
		if slices.Contains(r.Config.Waiting, s.Phase) && s.Start <= r.Window.End && s.End > r.Window.End {
			out[s.Phase] = append(out[s.Phase], r.Window.End-s.Start)
		}
	}
	return out
}

type herd struct {
	size        int
	first, last time.Duration
	clients     map[int]bool
}

func herds(sorted []recorder.Notification, old bool) (out []*herd, grouping string, ungrouped int64) {
	known := func(n recorder.Notification) bool { return n.Zxid > 0 }
	guess := len(sorted) > 0 && old && !slices.ContainsFunc(sorted, known)
	byZxid, byPath := map[int64]*herd{}, map[string]*herd{}
	for _, n := range sorted {
		one := byZxid[n.Zxid]
		switch {
		case guess:
			one = byPath[n.Path]
			if one != nil && (n.At-one.last > 5*ms || one.clients[n.Client]) {
				one = nil
			}
		case !known(n):
			ungrouped++
			continue
		}
		if one == nil {
			one = &herd{first: n.At, clients: map[int]bool{}}
			byZxid[n.Zxid], byPath[n.Path] = one, one
			out = append(out, one)
		}
		one.size++
		one.last = n.At
		one.clients[n.Client] = true
	}
	if guess {
		return out, results.GroupedByPathAndTime, 0
	}
	return out, results.GroupedByZxid, ungrouped
}

func (r raw) herd(t *testing.T, old bool) results.Herd {
	t.Helper()
	sorted := r.inWindow()
	found, grouping, ungrouped := herds(sorted, old)
	out := results.Herd{Grouping: grouping, Ungrouped: ungrouped, Sizes: []results.SizeCount{}, Peak10ms: peak(sorted)}
	counts := map[int]int64{}
	var spreads []time.Duration
	for _, h := range found {
		counts[h.size]++
		spreads = append(spreads, h.last-h.first)
	}
	for size, count := range counts {
		out.Sizes = append(out.Sizes, results.SizeCount{Size: size, Count: count})
	}
	slices.SortFunc(out.Sizes, func(a, b results.SizeCount) int { return cmp.Compare(a.Size, b.Size) })
	out.Spread = results.NewHistogram(spreads)
	return out
}

func peak(sorted []recorder.Notification) int {
	most, start := 0, 0
	for end, n := range sorted {
		for n.At-sorted[start].At >= 10*ms {
			start++
		}
		most = max(most, end-start+1)
	}
	return most
}

// cut returns the events in a stretch of the window.
func (r raw) cut(from, to time.Duration) results.Timeline {
	t := results.Timeline{Start: from, End: to, Notifications: []results.TimelineDot{}, Bystander: []results.BystanderRead{}}
	for _, n := range r.inWindow() {
		if from <= n.At && n.At <= to {
			t.Notifications = append(t.Notifications, results.TimelineDot{At: n.At - from, Client: n.Client})
		}
	}
	for _, b := range r.unfrozen() {
		if from <= b.At && b.At <= to && contains(r.Window, b.At) {
			b.At -= from
			t.Bystander = append(t.Bystander, b)
		}
	}
	sortTimeline(&t)
	return t
}

// sortTimeline puts simultaneous dots and reads in an order that does not depend on how they were found.
func sortTimeline(t *results.Timeline) {
	slices.SortFunc(t.Notifications, func(a, b results.TimelineDot) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Client, b.Client))
	})
	slices.SortFunc(t.Bystander, func(a, b results.BystanderRead) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Response, b.Response), cmp.Compare(a.Service, b.Service), cmp.Compare(a.Server, b.Server))
	})
}

// judgement has the parameters by which a reference decides which gaps are stalls.
type judgement struct {
	similar float64 // another gap of at least this share of a candidate's length is similar to it, and left out
	factor  float64 // of the length that a candidate must exceed
}

// stalls finds the stalls among all gaps.
func (r raw) stalls(by judgement) []results.Stall {
	out := []results.Stall{}
	gaps := r.gaps()
	for _, gap := range gaps {
		inWindow := r.Window.Start <= gap.Start && lengthOf(gap) > 500*ms && (r.Frozen == stretch{} || !overlaps(gap, r.Frozen))
		if inWindow && r.standsOut(lengthOf(gap), gaps, by) {
			stall := results.Stall{Start: gap.Start - r.Window.Start, Length: lengthOf(gap)}
			stall.SlowestReads, stall.AfterFault = r.slowestReads(gap), r.afterFault(gap)
			out = append(out, stall)
		}
	}
	return out
}

// gaps returns the times between two completions in warm-up and window, or between one and the window's edges.
func (r raw) gaps() (gaps []stretch) {
	ends := []time.Duration{r.Window.Start, r.Window.End}
	for _, s := range r.Spans {
		if s.Phase == r.Config.Operation && s.End <= r.Window.End {
			ends = append(ends, s.End)
		}
	}
	slices.Sort(ends)
	for i, end := range ends[1:] {
		if end > ends[i] {
			gaps = append(gaps, between(ends[i], end))
		}
	}
	return gaps
}

func (r raw) standsOut(length time.Duration, gaps []stretch, by judgement) bool {
	var rest []time.Duration
	var filled time.Duration
	for _, g := range gaps {
		if float64(lengthOf(g)) < by.similar*float64(length) {
			rest = append(rest, lengthOf(g))
		} else {
			filled += lengthOf(g)
		}
	}
	slices.Sort(rest)
	of := (99*len(rest) + 99) / 100
	if r.Config.Collective {
		of = len(rest)
	}
	if of == 0 || 3*filled >= 2*(r.Window.End-gaps[0].Start) || r.Config.Collective && len(gaps) > len(rest)+1 {
		return false
	}
	return float64(length) > by.factor*float64(rest[of-1])
}

// slowestReads returns the slowest read of each server among those under way in a stretch.
func (r raw) slowestReads(in stretch) []results.ServerRead {
	slowest := map[int]time.Duration{}
	for _, b := range r.unfrozen() {
		back := b.At + b.Response
		if overlaps(between(back-b.Service, back), in) {
			slowest[b.Server] = max(slowest[b.Server], b.Service)
		}
	}
	out := []results.ServerRead{}
	for server, longest := range slowest {
		out = append(out, results.ServerRead{Server: server, Longest: longest})
	}
	slices.SortFunc(out, func(a, b results.ServerRead) int { return cmp.Compare(a.Server, b.Server) })
	return out
}
