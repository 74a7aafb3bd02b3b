package recorder

import (
	"cmp"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
)

const (
	// windowSlack is by how much the window's length may differ from the plan so that its exact middle is still kept.
	windowSlack = 500 * time.Millisecond
	// firstStep is the distance from the window's start to the second excerpt, unless the window has its planned length. Each further
	// excerpt begins at stepFactor times the distance of the one before it.
	firstStep  = results.TimelineLength / 4
	stepFactor = 1.25
)

type excerpt struct {
	stretch
	dots  thinned[results.TimelineDot]
	reads thinned[results.BystanderRead]
}

func (e *excerpt) notification(dot results.TimelineDot) {
	if e.contains(dot.At) {
		e.dots.add(dot)
	}
}

func (e *excerpt) read(b results.BystanderRead) {
	if e.contains(b.At) {
		e.reads.add(b)
	}
}

func (e *excerpt) timeline(of stretch) results.Timeline {
	part := stretch{max(of.start, e.start), min(of.end, e.end)}
	reads := within(part, e.reads.items, func(b *results.BystanderRead) *time.Duration { return &b.At })
	slices.SortStableFunc(reads, func(a, b results.BystanderRead) int { return cmp.Compare(a.At, b.At) })
	return results.Timeline{Start: part.start, End: part.end, Notifications: within(part, e.dots.items, dotAt), Bystander: reads}
}

// within returns the items of a stretch, with their moments counted from its start.
func within[T any](s stretch, items []T, at func(*T) *time.Duration) []T {
	out := []T{}
	for _, item := range items {
		if moment := at(&item); s.contains(*moment) {
			*moment -= s.start
			out = append(out, item)
		}
	}
	return out
}

func dotAt(dot *results.TimelineDot) *time.Duration { return &dot.At }

type recent struct {
	dots  queue[results.TimelineDot]
	reads queue[results.BystanderRead]
}

func (r *recent) notification(dot results.TimelineDot) {
	r.dots.push(dot, func(old results.TimelineDot) bool { return dot.At-old.At > results.TimelineLength })
}

func (r *recent) read(b results.BystanderRead) {
	now := b.At + b.Response
	r.reads.push(b, func(old results.BystanderRead) bool { return now-old.At-old.Response > results.TimelineLength })
}

// excerptAround returns an excerpt of one second that begins half a second before a moment, filled up to now. If that is over
// a second ago, the excerpt begins one second ago, because nothing older is kept. This happens to a herd that becomes the
// largest over half a second after its first notification.
func (r *recent) excerptAround(moment, now time.Duration) excerpt {
	start := max(moment-results.TimelineLength/2, now-results.TimelineLength)
	e := excerpt{stretch: stretch{start, start + results.TimelineLength}}
	r.fill(&e)
	return e
}

func (r *recent) fill(e *excerpt) {
	for _, dot := range r.dots.all() {
		e.notification(dot)
	}
	for _, b := range r.reads.all() {
		e.read(b)
	}
}

// middle keeps the excerpts that may prove to be nearest to the middle of the window.
//
// If the window's length is known, one excerpt is planned. As any window may be cut short, others begin at geometric distances from its
// start. An excerpt is dropped once the middle of the next one lies before the middle of the window so far, which only moves forward.
type middle struct {
	start    time.Duration // of the window
	planned  *excerpt      // nil if the length is unknown
	next     time.Duration // distance of the next excerpt
	excerpts []*excerpt    // the others
}

func (m *middle) open(at, length time.Duration) {
	m.start = at
	if length > 0 {
		reach := (results.TimelineLength + windowSlack) / 2
		m.planned = &excerpt{stretch: stretch{at + length/2 - reach, at + length/2 + reach}}
	}
	m.excerpts = []*excerpt{{stretch: stretch{at, at + results.TimelineLength}}}
	m.next = firstStep
}

func (m *middle) advance(now time.Duration) {
	for m.start+m.next <= now {
		begin := m.start + m.next
		m.excerpts = append(m.excerpts, &excerpt{stretch: stretch{begin, begin + results.TimelineLength}})
		m.next = time.Duration(stepFactor * float64(m.next))
	}
	for len(m.excerpts) > 1 && m.excerpts[1].center() <= (m.start+now)/2 {
		m.excerpts = slices.Delete(m.excerpts, 0, 1)
	}
}

// timeline returns the second in the middle of the window if the planned excerpt has it, else the part of the excerpt whose
// middle is nearest to the window's middle. A window of up to a second is kept whole.
func (m *middle) timeline(w stretch) results.Timeline {
	exact := w.center() - results.TimelineLength/2
	nearest, kept := m.planned, m.excerpts
	if nearest != nil {
		kept = append([]*excerpt{nearest}, kept...)
	}
	if nearest == nil || exact < nearest.start || nearest.end < exact+results.TimelineLength {
		nearest = slices.MinFunc(kept, func(a, b *excerpt) int {
			return cmp.Compare((a.center() - w.center()).Abs(), (b.center() - w.center()).Abs())
		})
	}
	start := min(max(exact, nearest.start), nearest.end-results.TimelineLength)
	return nearest.timeline(stretch{max(start, w.start), min(start+results.TimelineLength, w.end)})
}

func (r *Recorder) eachExcerpt(record func(*excerpt)) {
	if a := r.failures.around; a != nil {
		record(&a.excerpt)
	}
	if e := r.timeline.planned; e != nil {
		record(e)
	}
	for _, e := range r.timeline.excerpts {
		record(e)
	}
	for _, h := range r.herds {
		record(&h.around)
	}
}

// MaxDots is the largest number of dots of each kind in the excerpt around the first fault. Beyond it, every other dot is left out.
const MaxDots = 4000

// margin is how much of the time before the first fault and after its recovery is kept.
const margin = results.TimelineLength

// faultExcerpt holds the surroundings of the first fault. Its end moves forward when the recovery is known.
type faultExcerpt struct {
	excerpt
	operations thinned[results.TimelineDot]
}

// excerptAround begins the excerpt around the first fault with the events of the last second.
func (f *failures) excerptAround(fault time.Duration, r *recent) {
	start := max(fault-margin, f.window.start)
	e := &faultExcerpt{excerpt: excerpt{stretch: stretch{start, start + results.MaxExcerpt}}}
	e.dots.bounded, e.reads.bounded, e.operations.bounded = true, true, true
	r.fill(&e.excerpt)
	f.around = e
	for _, dot := range f.recent.all() {
		f.draw(dot)
	}
	f.recent = queue[results.TimelineDot]{}
}

func (f *failures) draw(dot results.TimelineDot) {
	switch {
	case !f.window.isOpen():
	case f.around == nil:
		f.recent.push(dot, func(old results.TimelineDot) bool { return dot.At-old.At > margin })
	case f.around.contains(dot.At):
		f.around.operations.add(dot)
	}
}

// thinned is a list of at most MaxDots items if it is bounded. When it is full, it drops every other item, and half of the later ones.
type thinned[T any] struct {
	bounded bool
	items   []T
	seen    int
	halve   int // how often items were dropped
}

func (t *thinned[T]) add(item T) {
	t.seen++
	if (t.seen-1)%(1<<t.halve) != 0 {
		return
	}
	if t.bounded && len(t.items) == MaxDots {
		for i := range MaxDots / 2 {
			t.items[i] = t.items[2*i]
		}
		t.items = t.items[:MaxDots/2]
		t.halve++
	}
	t.items = append(t.items, item)
}
