package results

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A stall is longer than stallFloor and than stallFactor times what is usual, and not part of the load's own rhythm.
const (
	stallFloor   = 500 * time.Millisecond
	stallFactor  = 10 // times the p99 of the operations, or the usual time between two completions
	rhythmFactor = 2  // times the time that a client takes from one completion to its next
)

// Stall is a stretch of the window in which no operation was completed although the load did not ask for a break; see
// [Document.Stalls].
type Stall struct {
	Start  time.Duration `json:"start_ns"` // since the window's begin
	Length time.Duration `json:"length_ns"`
	// SlowestReads has each server's slowest bystander read that was under way in the stretch. It names a server that
	// stood still, even one whose counters nothing can read.
	SlowestReads []ServerRead `json:"slowest_reads"`
}

// ServerRead is the slowest bystander read of one server, from when it was sent.
type ServerRead struct {
	Server  int           `json:"server"`
	Longest time.Duration `json:"longest_ns"`
}

// Stretch is a span of time on the measurement's clock.
type Stretch struct{ Start, End time.Duration }

func (s Stretch) length() time.Duration { return s.End - s.Start }

func (s Stretch) overlaps(o Stretch) bool { return s.Start < o.End && o.Start < s.End }

// findStalls returns the stalls in the window, in the order of their begin.
//
// A candidate is a gap between two completions, or between one and the window's edge, that is longer than 500 ms.
// It is compared with the rest: with what overlaps no gap of at least half its length, warm-up included. Otherwise a
// stall would hide itself: 50 clients that wait 5 s for a paused server are 50 of 2,000 samples, and 5 s is the p99.
// A candidate is a stall if one of two conditions holds:
//
//  1. It is longer than 10 times the p99 of the rest's operations, and than twice the p99 of the time that a client of
//     the rest takes from one completion to its next. The latter contains holds, think times and polls, which are the
//     load's own breaks and no stalls. If each such time overlaps a long gap, the gaps are the rhythm.
//  2. It is longer than 10 times the gap in which the middle moment of the rest lies, and gaps of at least half its
//     length fill less than two thirds of the window. This finds stalls of loads whose clients wait long for their turn.
//     It does not apply to rounds that all clients complete together: there is a break after each burst.
func findStalls(raw Raw) []Stall {
	stalls := []Stall{}
	o := newOperations(raw)
	for _, gap := range o.gaps {
		if gap.length() > stallFloor && !gap.overlaps(raw.Frozen) && o.interrupted(gap) {
			stalls = append(stalls, Stall{
				Start: gap.Start - raw.Window.Start, Length: gap.length(), SlowestReads: slowestReads(raw.Bystander, gap),
			})
		}
	}
	return stalls
}

// operations is when operations were under way, and when none was completed.
type operations struct {
	window     Stretch
	collective bool
	all        []Stretch // up to the end of the window, from begin to end
	cycles     []Stretch // of each client, from one completion to its next
	gaps       []Stretch // between completions in the window, and its edges, in order
}

func newOperations(raw Raw) operations {
	o := operations{window: Stretch{raw.Window.Start, raw.Window.End}, collective: raw.Collective}
	for _, s := range raw.Samples {
		if s.Phase == raw.Operation && s.End <= raw.Window.End {
			o.all = append(o.all, Stretch{s.Start, s.End})
		}
	}
	o.cycles = cycles(raw)
	slices.SortFunc(o.all, func(a, b Stretch) int { return cmp.Compare(a.End, b.End) })
	last := o.window.Start
	for _, one := range append(slices.Clone(o.all), Stretch{End: o.window.End}) {
		if one.End > last {
			o.gaps = append(o.gaps, Stretch{last, one.End})
			last = one.End
		}
	}
	return o
}

// cycles returns for each client the stretches from one completion to its next, up to the end of the window.
func cycles(raw Raw) []Stretch {
	ends := map[int][]time.Duration{}
	for _, s := range raw.Samples {
		if s.Phase == raw.Operation && s.End <= raw.Window.End {
			ends[s.Client] = append(ends[s.Client], s.End)
		}
	}
	var out []Stretch
	for _, times := range ends {
		slices.Sort(times)
		for i := 1; i < len(times); i++ {
			out = append(out, Stretch{times[i-1], times[i]})
		}
	}
	return out
}

// interrupted reports whether a gap is a stall; see findStalls.
func (o operations) interrupted(gap Stretch) bool {
	var similar, rest []Stretch
	var filled time.Duration
	for _, g := range o.gaps {
		if 2*g.length() >= gap.length() {
			similar = append(similar, g)
			filled += g.length()
		} else {
			rest = append(rest, g)
		}
	}
	usual, ok := middle(rest)
	if ok && !o.collective && 3*filled < 2*o.window.length() && gap.length() > stallFactor*usual {
		return true
	}
	p99, measured := longestBut1Percent(apart(o.all, similar))
	rhythm, known := longestBut1Percent(apart(o.cycles, similar))
	return measured && known && gap.length() > stallFactor*p99 && gap.length() > rhythmFactor*rhythm
}

// apart returns the stretches that overlap none of the gaps, which are sorted and do not overlap each other.
func apart(stretches, gaps []Stretch) []Stretch {
	return slices.DeleteFunc(slices.Clone(stretches), func(s Stretch) bool {
		i, _ := slices.BinarySearchFunc(gaps, s.Start, func(g Stretch, at time.Duration) int { return cmp.Compare(g.End, at+1) })
		return i < len(gaps) && s.overlaps(gaps[i])
	})
}

// longestBut1Percent returns the p99 of the stretches' lengths; false without any.
func longestBut1Percent(stretches []Stretch) (time.Duration, bool) {
	if len(stretches) == 0 {
		return 0, false
	}
	slices.SortFunc(stretches, byLength)
	return stretches[(99*len(stretches)+99)/100-1].length(), true
}

// middle returns the length of the stretch in which the middle moment of all lies, if they are put in a row by length;
// false without any.
func middle(stretches []Stretch) (time.Duration, bool) {
	slices.SortFunc(stretches, byLength)
	var total, passed time.Duration
	for _, s := range stretches {
		total += s.length()
	}
	for _, s := range stretches {
		if passed += s.length(); 2*passed >= total {
			return s.length(), true
		}
	}
	return 0, false
}

func byLength(a, b Stretch) int { return cmp.Compare(a.length(), b.length()) }

// slowestReads returns the slowest read of each server among those under way in the stretch, by server.
func slowestReads(reads []BystanderRead, in Stretch) []ServerRead {
	slowest := map[int]time.Duration{}
	for _, r := range reads {
		back := r.At + r.Response
		if (Stretch{back - r.Service, back}).overlaps(in) {
			slowest[r.Server] = max(slowest[r.Server], r.Service)
		}
	}
	out := []ServerRead{}
	for server, longest := range slowest {
		out = append(out, ServerRead{server, longest})
	}
	slices.SortFunc(out, func(a, b ServerRead) int { return cmp.Compare(a.Server, b.Server) })
	return out
}

// stalled returns a sentence on the longest stall and on how many others there were; none without a stall.
func (d *Document) stalled() []finding {
	if len(d.Stalls) == 0 {
		return nil
	}
	longest := slices.MaxFunc(d.Stalls, func(a, b Stall) int { return cmp.Compare(a.Length, b.Length) })
	text := fmt.Sprintf("no operation completed for %s, from %s into the window", show(longest.Length), show(longest.Start))
	if meanwhile := d.meanwhile(longest); meanwhile != "" {
		text += " (" + meanwhile + ")"
	}
	if others := len(d.Stalls) - 1; others > 0 {
		var total time.Duration
		for _, s := range d.Stalls {
			total += s.Length
		}
		text += fmt.Sprintf(", nor in %d other %s: %s in all", others, Plural(others, "stall"), show(total))
	}
	return []finding{{text, longest.Length}}
}

// meanwhile names the servers on which reads were slow during a stall, the slowest first, or says that there was none.
func (d *Document) meanwhile(s Stall) string {
	if len(s.SlowestReads) == 0 {
		return ""
	}
	reads := slices.SortedStableFunc(slices.Values(s.SlowestReads), func(a, b ServerRead) int { return cmp.Compare(b.Longest, a.Longest) })
	slowest := reads[0].Longest
	if slowest < slowRead {
		return fmt.Sprintf("meanwhile no read took longer than %s on any server", show(slowest))
	}
	var slow []string
	for _, r := range reads {
		if 2*r.Longest >= slowest {
			slow = append(slow, fmt.Sprintf("%s on %s", show(r.Longest), d.serverName(r.Server)))
		}
	}
	return "meanwhile reads took up to " + strings.Join(slow, ", ")
}

// show rounds a time to what is worth reading in a sentence.
func show(t time.Duration) string {
	switch {
	case t >= time.Second:
		return t.Round(10 * time.Millisecond).String()
	case t >= 10*time.Millisecond:
		return t.Round(time.Millisecond).String()
	default:
		return t.Round(10 * time.Microsecond).String()
	}
}
