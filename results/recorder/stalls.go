package recorder

import (
	"cmp"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/zkbench/zkbench/results"
)

const (
	stallFloor  = 500 * time.Millisecond // a stall is longer
	stallFactor = 10                     // and longer than 10 times the p99 of the shorter gaps
	// maxCandidates is the largest number of candidates that are kept. The shortest make room for longer ones.
	maxCandidates = 1000
)

// stalls finds the stretches of the window in which no operation was completed although the load did not ask for a break.
//
// A candidate is a gap between two completions, or between one and the window's edge, that is longer than 500 ms. It is a stall if it is
// longer than 10 times the p99 of the rest, which are the gaps of window and warm-up that are shorter than half of it. Longer gaps are left
// out so that stalls do not hide each other: two pauses of 5 s among 150 gaps are more than 1 % of them, so that the p99 would be 5 s. If
// the gaps that are left out fill two thirds of the time, they are the load's rhythm, such as holds or think times, and not stalls. Where
// quiet stretches are usual, a stall is the only gap that is not shorter than a tenth of it.
//
// In an open load, no operation can complete before one arrives: a candidate begins when its first arrival was due, if that is
// later than the completion before it.
type stalls struct {
	arriving   bool // operations arrive: the load is open
	uneven     bool // quiet stretches are usual: clients complete rounds together, or the load has stages
	window     *window
	begun      time.Duration // the first completion, or the window's start; never before it
	last       time.Duration // the latest completion, or the window's start
	meanwhile  serverReads   // under way since last
	gaps       *hdrhistogram.Histogram
	candidates []candidate
	fault      time.Duration // when a fault last began or ended; never without one
}

// candidate is a gap that is long enough to be a stall.
type candidate struct {
	stretch
	reads serverReads
	due   time.Duration // since when an arrival of an open load was due in it; its end if none was
	fault time.Duration // when a fault last began or ended before its end; its end if one was in effect
}

func (s *stalls) endGap(at time.Duration) {
	if s.begun == never {
		s.begun, s.last = at, at
	}
	gap := stretch{s.last, at}
	if gap.length() <= 0 {
		return
	}
	_ = s.gaps.RecordValue(int64(min(gap.length(), time.Hour)))
	if s.window.isOpen() && gap.length() > stallFloor {
		s.keep(candidate{gap, slices.Clone(s.meanwhile), gap.end, s.fault})
	}
	s.last, s.meanwhile = at, s.meanwhile[:0]
}

func (s *stalls) keep(c candidate) {
	s.candidates = append(s.candidates, c)
	if len(s.candidates) <= maxCandidates {
		return
	}
	shortest := slices.MinFunc(s.candidates, func(a, b candidate) int { return cmp.Compare(a.length(), b.length()) })
	s.candidates = slices.DeleteFunc(s.candidates, func(c candidate) bool { return c.stretch == shortest.stretch })
}

// read records a bystander's read with all gaps during which it was under way.
func (s *stalls) read(b results.BystanderRead) {
	back := b.At + b.Response
	sent := back - b.Service
	if s.window.isOpen() && back > s.last {
		s.meanwhile.add(b)
	}
	for i := len(s.candidates) - 1; i >= 0 && s.candidates[i].end > sent; i-- {
		s.candidates[i].reads.add(b)
	}
}

// served records an arrival of an open load with all gaps in which it was due.
func (s *stalls) served(due, done time.Duration) {
	for i := len(s.candidates) - 1; i >= 0 && s.candidates[i].end > due; i-- {
		if c := &s.candidates[i]; done >= c.end {
			c.due = min(c.due, max(c.start, due))
		}
	}
}

func (s *stalls) faultEnded(began, at time.Duration) {
	s.fault = at
	for i := len(s.candidates) - 1; i >= 0 && s.candidates[i].end > began; i-- {
		s.candidates[i].fault = s.candidates[i].end
	}
}

// found returns the stalls, without gaps that overlap a stretch in which zkbench stopped the servers.
func (s *stalls) found(frozen []stretch, sessionTimeout time.Duration) []results.Stall {
	out := []results.Stall{}
	gaps := s.gaps.Distribution()
	for _, c := range s.candidates {
		if s.arriving {
			c.start = c.due
		}
		if c.length() > stallFloor && !slices.ContainsFunc(frozen, c.overlaps) && s.standOut(c.length(), gaps) {
			out = append(out, results.Stall{
				Start: c.start - s.window.start, Length: c.length(), SlowestReads: c.reads.sorted(),
				AfterFault: c.fault != never && c.start-c.fault <= sessionTimeout,
			})
		}
	}
	return out
}

// standOut reports whether gaps of a length are much longer than the rest of all gaps.
func (s *stalls) standOut(length time.Duration, gaps []hdrhistogram.Bar) bool {
	var rest, similar int64
	var filled time.Duration
	for _, g := range gaps {
		if 2*g.To < int64(length) {
			rest += g.Count
		} else {
			similar += g.Count
			filled += time.Duration(g.Count * g.To)
		}
	}
	rank := rank99(rest)
	if s.uneven {
		rank = rest
	}
	if rest == 0 || 3*filled >= 2*(s.window.end-s.begun) || s.uneven && similar > 1 {
		return false
	}
	for _, g := range gaps {
		if rank -= g.Count; rank <= 0 {
			return length > stallFactor*time.Duration(g.To)
		}
	}
	return false
}

// serverReads is the slowest read of each server, by the time at which it was sent.
type serverReads []results.ServerRead

func (s *serverReads) add(b results.BystanderRead) {
	i := slices.IndexFunc(*s, func(one results.ServerRead) bool { return one.Server == b.Server })
	if i < 0 {
		i, *s = len(*s), append(*s, results.ServerRead{Server: b.Server})
	}
	(*s)[i].Longest = max((*s)[i].Longest, b.Service)
}

func (s serverReads) sorted() []results.ServerRead {
	out := append([]results.ServerRead{}, s...)
	slices.SortFunc(out, func(a, b results.ServerRead) int { return cmp.Compare(a.Server, b.Server) })
	return out
}
