package recorder

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/zkbench/zkbench/results"
)

// A stall is longer than stallFloor, than stallFactor times the usual length, and than rhythmFactor times the load's own
// rhythm.
const (
	stallFloor   = 500 * time.Millisecond
	stallFactor  = 10 // times the p99 of the operations, or the usual time between two completions
	rhythmFactor = 2  // times the time that a client takes from one completion to its next
)

// maxCandidates is the largest number of candidates that are kept. The shortest make room for longer ones.
const maxCandidates = 4096

// bands is the number of classes of gaps by their length: 0 for gaps that are never similar to a stall, and four for each
// factor of two between half of stallFloor and an hour.
const bands = 57

// band returns the class of a gap.
func band(length time.Duration) int {
	const shortest = stallFloor / 2
	if length <= shortest {
		return 0
	}
	return min(1+int(4*math.Log2(float64(length)/float64(shortest))), bands-1)
}

// stalls finds the stretches of the window in which no operation was completed although the load did not ask for a break.
//
// A candidate is a gap between two completions, or between one and the window's edge, that is longer than 500 ms. It is
// compared with the rest: with operations that overlap no similar gap, which is one of about half the candidate's length
// or more. The warm-up belongs to the rest. Otherwise a stall would hide itself: 50 clients that wait 5 s for a paused
// server are 50 of 2,000 samples, and 5 s is the p99. A candidate is a stall if one of two conditions holds:
//
//  1. It is longer than 10 times the p99 of the rest's operations, and than twice the p99 of the time that a client of
//     the rest takes from one completion to its next. The latter contains holds, think times and polls, which are the
//     load's own breaks and no stalls. If each such time overlaps a similar gap, the gaps are the rhythm.
//  2. It is longer than 10 times the gap in which the middle moment of the shorter gaps lies, and similar gaps fill less
//     than two thirds of the window. This finds stalls of loads whose clients wait long for their turn. It does not apply
//     to rounds that all clients complete together: there is a break after each burst. Nor does it apply to loads in
//     stages: a quiet stage is no stall.
//
// In an open load, nothing is to be completed before something arrives: a candidate begins when its first arrival was due, if
// that is later than the completion before it.
//
// Note: operations and cycles are not kept, but counted by the band of the longest gap that they overlap. So in
// condition 1 a gap is similar if it is in the band of half the candidate's length or in a higher one: it may be up to
// 16 % shorter than half. Condition 2 needs the lengths of gaps only, which are kept to three digits.
type stalls struct {
	arriving   bool // operations arrive: the load is open
	uneven     bool // gaps of very different lengths are usual: clients complete rounds together, or the load has stages
	window     stretch
	opened     bool          // and not yet closed
	last       time.Duration // the latest completion in the window, or its start
	meanwhile  serverReads   // under way since last
	lengths    *hdrhistogram.Histogram
	ended      [bands]time.Duration // when the last gap of each band ended; at 0, that of all higher bands
	operations byBand
	cycles     byBand // from one completion of a client to its next
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

func newStalls(arriving, uneven bool) stalls {
	s := stalls{arriving: arriving, uneven: uneven, lengths: lengths(3), fault: never}
	for i := range s.ended {
		s.ended[i] = never
	}
	return s
}

// lengths returns an empty distribution with that many digits.
func lengths(digits int) *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(time.Microsecond), int64(time.Hour), digits)
}

// open begins the window.
func (s *stalls) open(at time.Duration) {
	s.window.start, s.last, s.opened = at, at, true
}

// close ends the window, and the gap that is open.
func (s *stalls) close(at time.Duration) {
	s.endGap(at)
	s.window.end, s.opened = at, false
}

// operation records an operation of a client, and when the client completed the one before it.
func (s *stalls) operation(o stretch, before time.Duration) {
	s.endGap(o.end)
	s.operations.add(s.longestGap(o.start), o.length())
	if before != never {
		s.cycles.add(s.longestGap(before), o.end-before)
	}
}

// endGap ends the current gap, unless it is empty, and begins the next.
func (s *stalls) endGap(at time.Duration) {
	gap := stretch{s.last, at}
	if !s.opened || gap.length() <= 0 {
		return
	}
	_ = s.lengths.RecordValue(int64(min(gap.length(), time.Hour)))
	if b := band(gap.length()); b > 0 {
		s.ended[0], s.ended[b] = at, at
	}
	if gap.length() > stallFloor {
		s.keep(candidate{gap, slices.Clone(s.meanwhile), gap.end, s.fault})
	}
	s.last, s.meanwhile = at, s.meanwhile[:0]
}

// longestGap returns the band of the longest gap that ended after a moment; 0 if there was none of a higher band.
func (s *stalls) longestGap(moment time.Duration) int {
	if s.ended[0] <= moment {
		return 0
	}
	b := bands - 1
	for s.ended[b] <= moment {
		b--
	}
	return b
}

func (s *stalls) keep(c candidate) {
	s.candidates = append(s.candidates, c)
	if len(s.candidates) <= maxCandidates {
		return
	}
	shortest := 0
	for i, c := range s.candidates {
		if c.length() < s.candidates[shortest].length() {
			shortest = i
		}
	}
	s.candidates = slices.Delete(s.candidates, shortest, shortest+1)
}

// read records a bystander's read with all gaps during which it was under way.
func (s *stalls) read(b results.BystanderRead) {
	back := b.At + b.Response
	sent := back - b.Service
	if s.opened && back > s.last {
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

// faultEnded records that a fault which began at a moment has ended.
func (s *stalls) faultEnded(began, at time.Duration) {
	s.fault = at
	for i := len(s.candidates) - 1; i >= 0 && s.candidates[i].end > began; i-- {
		s.candidates[i].fault = s.candidates[i].end
	}
}

// after reports whether a fault was in effect during the candidate, or up to a time before it.
func (c candidate) after(atMost time.Duration) bool {
	return c.fault != never && c.start-c.fault <= atMost
}

// found returns the stalls. A gap that overlaps a stretch in which zkbench stopped the servers is none.
func (s *stalls) found(frozen []stretch, sessionTimeout time.Duration) []results.Stall {
	out := []results.Stall{}
	gaps := distribution(s.lengths)
	operations, cycles := s.operations.p99s(), s.cycles.p99s()
	for _, c := range s.candidates {
		if s.arriving {
			c.start = c.due
		}
		if c.length() <= stallFloor {
			continue
		}
		b := band(c.length() / 2)
		slow := c.exceeds(stallFactor, operations[b]) && c.exceeds(rhythmFactor, cycles[b])
		if !slices.ContainsFunc(frozen, c.overlaps) && (slow || s.interrupts(c, gaps)) {
			out = append(out, results.Stall{Start: c.start - s.window.start, Length: c.length(), SlowestReads: c.reads.sorted(), AfterFault: c.after(sessionTimeout)})
		}
	}
	return out
}

// exceeds reports whether a candidate is longer than a multiple of a time. Nothing exceeds an unknown time.
func (c candidate) exceeds(factor, t time.Duration) bool { return t >= 0 && c.length() > factor*t }

// interrupts reports whether a candidate stands out from the other gaps: condition 2.
func (s *stalls) interrupts(c candidate, gaps []hdrhistogram.Bar) bool {
	var similar, rest time.Duration
	shorter := 0
	for _, g := range gaps {
		if 2*g.To >= int64(c.length()) {
			similar += filled(g)
		} else {
			rest += filled(g)
			shorter++
		}
	}
	usual, ok := middleOf(gaps[:shorter], rest)
	return ok && !s.uneven && 3*similar < 2*s.window.length() && c.exceeds(stallFactor, usual)
}

// middleOf returns the length of the gap in which the middle moment lies, if all are put in a row by length; false
// without any.
func middleOf(gaps []hdrhistogram.Bar, total time.Duration) (time.Duration, bool) {
	var passed time.Duration
	for _, g := range gaps {
		if passed += filled(g); 2*passed >= total {
			return time.Duration(g.To), true
		}
	}
	return 0, false
}

// filled returns the time that the gaps of a bar take together.
func filled(g hdrhistogram.Bar) time.Duration { return time.Duration(g.Count * g.To) }

// distribution returns the bars of a histogram that are not empty.
func distribution(h *hdrhistogram.Histogram) []hdrhistogram.Bar {
	return slices.DeleteFunc(h.Distribution(), func(b hdrhistogram.Bar) bool { return b.Count == 0 })
}

// byBand holds a distribution of lengths for each band. A stretch is recorded in the band of the longest gap that it
// overlaps. Two digits are enough for comparisons by a factor, and keep the distributions small.
type byBand [bands]*hdrhistogram.Histogram

func (b *byBand) add(band int, length time.Duration) {
	if b[band] == nil {
		b[band] = lengths(2)
	}
	_ = b[band].RecordValue(int64(min(length, time.Hour)))
}

// p99s returns, for each band, the p99 of the stretches that overlap only gaps of lower bands; -1 without any.
func (b *byBand) p99s() [bands]time.Duration {
	var out [bands]time.Duration
	rest := lengths(2)
	for i, h := range b {
		out[i] = p99(rest)
		if h != nil {
			rest.Merge(h)
		}
	}
	return out
}

// p99 returns the smallest length that at least 99 % do not exceed; -1 without any.
func p99(h *hdrhistogram.Histogram) time.Duration {
	n := h.TotalCount()
	if n == 0 {
		return -1
	}
	rank := (99*n + 99) / 100
	return time.Duration(h.ValueAtPercentile(100 * float64(rank) / float64(n)))
}

// serverReads is the slowest read of each server, from when it was sent.
type serverReads []results.ServerRead

func (s *serverReads) add(b results.BystanderRead) {
	for i := range *s {
		if one := &(*s)[i]; one.Server == b.Server {
			one.Longest = max(one.Longest, b.Service)
			return
		}
	}
	*s = append(*s, results.ServerRead{Server: b.Server, Longest: b.Service})
}

// sorted returns the reads by server.
func (s serverReads) sorted() []results.ServerRead {
	out := append([]results.ServerRead{}, s...)
	slices.SortFunc(out, func(a, b results.ServerRead) int { return cmp.Compare(a.Server, b.Server) })
	return out
}
