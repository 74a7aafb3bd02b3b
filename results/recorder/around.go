package recorder

import (
	"time"

	"github.com/zkbench/zkbench/results"
)

// MaxDots is the largest number of dots of each kind in the excerpt around the first fault. Beyond it, every other dot is left
// out.
const MaxDots = 4000

// margin is how much of the time before the first fault and after its recovery is kept.
const margin = results.TimelineLength

// faultExcerpt holds the surroundings of the first fault. Its end moves forward when the recovery is known.
type faultExcerpt struct {
	excerpt
	operations thinned[results.TimelineDot]
}

// excerptAround begins the excerpt around the first fault with the events of the last second.
func (f *failures) excerptAround(fault time.Duration, r *recent) *faultExcerpt {
	start := max(fault-margin, f.window.start)
	e := &faultExcerpt{excerpt: excerpt{stretch: stretch{start, start + results.MaxExcerpt}}}
	e.dots.bounded, e.reads.bounded, e.operations.bounded = true, true, true
	r.fill(&e.excerpt)
	for _, dot := range f.recent.all() {
		if e.contains(dot.At) {
			e.operations.add(dot)
		}
	}
	f.recent = queue[results.TimelineDot]{}
	return e
}

// draw keeps a completed operation of the window for the excerpt.
func (f *failures) draw(dot results.TimelineDot) {
	switch {
	case !f.window.isOpen():
	case f.around == nil:
		f.recent.dropWhile(func(old results.TimelineDot) bool { return dot.At-old.At > margin })
		f.recent.push(dot)
	case f.around.contains(dot.At):
		f.around.operations.add(dot)
	}
}

// thinned is a list of at most MaxDots items if it is bounded. When it is full, it drops every other item, and takes only half
// as many of the later ones.
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
