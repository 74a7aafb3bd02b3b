package recorder

import (
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
)

// MaxBins is the largest number of bins of a [results.Series]. If more are needed, the width of all bins is doubled.
const MaxBins = 600

// grouping is one of the two ways to find herds. It may be known only at the end which one the document uses.
type grouping int

const (
	exact   grouping = iota // by zxid
	guessed                 // by path and time
	groupings
)

type bin struct {
	operations, requests, notifications int64
	largest                             [groupings]int
	slowest                             time.Duration
	waiting                             int64 // arrivals that no client has begun
	samples                             int64 // of the first phase
	time                                time.Duration
	memory                              int64
}

func (b *bin) merge(o bin) {
	b.operations += o.operations
	b.requests += o.requests
	b.notifications += o.notifications
	for g := range b.largest {
		b.largest[g] = max(b.largest[g], o.largest[g])
	}
	b.slowest = max(b.slowest, o.slowest)
	b.waiting = max(b.waiting, o.waiting)
	b.samples += o.samples
	b.time += o.time
	b.memory = max(b.memory, o.memory)
}

// series counts events over time. It begins with the first event. When there would be too many bins, it doubles their width.
type series struct {
	start, width time.Duration
	used         int // bins
	bins         [MaxBins]bin
	open         bool          // the load is open, so that there is a backlog
	reported     time.Duration // when its backlog was reported last
}

// at extends the series to a moment and returns its bin.
func (s *series) at(t time.Duration) *bin { return &s.bins[s.index(t)] }

// index extends the series to a moment and returns the index of its bin. A moment before the first event belongs to the first bin.
func (s *series) index(t time.Duration) int {
	if s.used == 0 {
		s.start, s.width = t, results.FirstBin
	}
	i := max(0, t-s.start) / s.width
	for ; i >= MaxBins; i = (t - s.start) / s.width {
		s.double()
	}
	s.used = max(s.used, int(i)+1)
	return int(i)
}

func (s *series) double() {
	for i := range s.bins {
		one := s.bins[i]
		s.bins[i] = bin{}
		s.bins[i/2].merge(one)
	}
	s.used = (s.used + 1) / 2
	s.width *= 2
}

// backlog records the most arrivals that waited for a client since the previous report. A late report counts for all bins without one.
func (s *series) backlog(at time.Duration, most int64) {
	last := s.index(at)
	first := last
	if s.open {
		first = min(s.index(s.reported)+1, last)
	}
	for i := first; i <= last; i++ {
		s.bins[i].waiting = max(s.bins[i].waiting, most)
	}
	s.open, s.reported = true, at
}

func (s *series) document(g grouping) *results.Series {
	bins := s.bins[:s.used]
	out := &results.Series{
		Start: s.start, Bin: s.width,
		Operations:    list.Map(bins, func(b bin) int64 { return b.operations }),
		Requests:      list.Map(bins, func(b bin) int64 { return b.requests }),
		Notifications: list.Map(bins, func(b bin) int64 { return b.notifications }),
		LargestHerd:   list.Map(bins, func(b bin) int { return b.largest[g] }),
		SlowestRead:   list.Map(bins, func(b bin) time.Duration { return b.slowest }),
		Samples:       list.Map(bins, func(b bin) int64 { return b.samples }),
		Time:          list.Map(bins, func(b bin) time.Duration { return b.time }),
		Memory:        list.Map(bins, func(b bin) int64 { return b.memory }),
	}
	if s.open {
		out.Backlog = list.Map(bins, func(b bin) int64 { return b.waiting })
	}
	return out
}
