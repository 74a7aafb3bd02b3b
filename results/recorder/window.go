package recorder

import (
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
)

// ahead is the time of an edge of the window that is not reached yet.
const ahead = time.Duration(math.MaxInt64)

type stretch struct{ start, end time.Duration }

func (s stretch) length() time.Duration { return s.end - s.start }

func (s stretch) center() time.Duration { return (s.start + s.end) / 2 }

func (s stretch) contains(at time.Duration) bool { return s.start <= at && at <= s.end }

func (s stretch) overlaps(o stretch) bool { return s.start < o.end && o.start < s.end }

type window struct {
	stretch
	operations int64
	stages     []stage // in the order of time; none unless the load has them
}

func (w *window) open(at time.Duration) {
	w.start = at
	for i := range len(w.stages) - 1 { // the last one ends with the window
		at += w.stages[i].planned
		w.stages[i].end = at
	}
}

func (w *window) isOpen() bool { return w.start < ahead && w.end == ahead }

func (w *window) precedes(at time.Duration) bool { return at < w.start }

type stage struct {
	planned time.Duration // how long it lasts
	end     time.Duration // once the window is open; ahead for the last one
	bin
	latency results.LiveHistogram
}

// record lets f record an event in the stage in which a moment lies, if the load has stages and the moment is in the window.
func (w *window) record(at time.Duration, f func(*stage)) {
	if len(w.stages) == 0 || !w.contains(at) {
		return
	}
	i := slices.IndexFunc(w.stages, func(s stage) bool { return at <= s.end })
	f(&w.stages[i])
}

func (r *Recorder) fillStages(d *results.Document) {
	d.Stages = nil
	start := r.window.start
	for i, s := range r.window.stages {
		if i > 0 && start >= r.window.end {
			break
		}
		end := min(s.end, r.window.end)
		d.Stages = append(d.Stages, results.Stage{
			Start: start, End: end, Operations: s.operations, Notifications: s.notifications,
			LargestHerd: s.largest[r.grouping().grouping], BacklogMax: s.waiting, Latency: s.latency.Encode(),
		})
		start = end
	}
}

type wait struct {
	phase string
	age   time.Duration // when the window ended
}

// queue is a first-in, first-out list. It stops allocating once it has reached its largest length.
type queue[T any] struct {
	items []T
	head  int
}

// push appends an item, after it has dropped the oldest ones as long as they are stale.
func (q *queue[T]) push(item T, stale func(old T) bool) {
	for q.head < len(q.items) && stale(q.items[q.head]) {
		q.head++
	}
	if q.head > 0 && len(q.items) == cap(q.items) && 2*q.head >= len(q.items) {
		q.items = q.items[:copy(q.items, q.items[q.head:])]
		q.head = 0
	}
	q.items = append(q.items, item)
}

// all returns the items, the oldest first. The slice is valid until the next call.
func (q *queue[T]) all() []T { return q.items[q.head:] }
