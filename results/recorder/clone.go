package recorder

import (
	"maps"
	"slices"

	"github.com/zkbench/zkbench/results"
)

// Clone returns a recorder with a copy of everything recorded so far, for a document of a window that is still open. Events that
// either of the two receives afterwards do not affect the other one. The copy takes as much memory as the recorder, which does
// not depend on the length of the measurement, and some milliseconds.
func (r *Recorder) Clone() *Recorder {
	c := *r
	c.frozen = slices.Clone(r.frozen)
	c.window.stages = cloneStages(r.window.stages)
	c.warmUp, c.measured = cloneHistograms(r.warmUp), cloneHistograms(r.measured)
	c.clients, c.unfinished = slices.Clone(r.clients), slices.Clone(r.unfinished)
	c.notified = maps.Clone(r.notified)
	c.herds = nil
	for _, h := range r.herds {
		c.herds = append(c.herds, h.clone(&c.window, &c.series))
	}
	c.peak.last = r.peak.last.clone()
	c.reads = slices.Clone(r.reads)
	c.stalls = r.stalls.clone()
	c.recent = recent{dots: r.recent.dots.clone(), reads: r.recent.reads.clone()}
	c.timeline = r.timeline.clone()
	c.failures = r.failures.clone(&c.window)
	c.open.lateness = r.open.lateness.Clone()
	c.violations = slices.Clone(r.violations)
	c.seconds = seconds{} // of no use in a copy
	return &c
}

func cloneHistograms(all map[string]*results.LiveHistogram) map[string]*results.LiveHistogram {
	out := map[string]*results.LiveHistogram{}
	for phase, h := range all {
		out[phase] = new(h.Clone())
	}
	return out
}

func (q queue[T]) clone() queue[T] { return queue[T]{items: slices.Clone(q.all())} }

func (e excerpt) clone() excerpt {
	e.dots, e.reads = e.dots.clone(), e.reads.clone()
	return e
}

func (t thinned[T]) clone() thinned[T] {
	t.items = slices.Clone(t.items)
	return t
}

func (m middle) clone() middle {
	if m.planned != nil {
		m.planned = new(m.planned.clone())
	}
	excerpts := m.excerpts
	m.excerpts = nil
	for _, e := range excerpts {
		m.excerpts = append(m.excerpts, new(e.clone()))
	}
	return m
}

// clone returns a copy for another window and series. Its leader is the copy of an open herd, or that of a complete one.
func (h herds) clone(w *window, s *series) *herds {
	open, leader := h.open, h.leader
	h.window, h.series, h.open = w, s, map[HerdKey]*herd{}
	h.sizes, h.spread, h.around = maps.Clone(h.sizes), h.spread.Clone(), h.around.clone()
	if leader != nil {
		h.leader = new(*leader)
	}
	for key, one := range open {
		c := new(*one)
		c.clients = maps.Clone(one.clients)
		h.open[key] = c
		if one == leader {
			h.leader = c
		}
	}
	return &h
}

func (s stalls) clone() stalls {
	s.meanwhile, s.lengths = slices.Clone(s.meanwhile), s.lengths.Clone()
	s.operations, s.cycles = s.operations.clone(), s.cycles.clone()
	s.candidates = slices.Clone(s.candidates)
	for i := range s.candidates {
		s.candidates[i].reads = slices.Clone(s.candidates[i].reads)
	}
	return s
}

func (b byBand) clone() byBand {
	for i, h := range b {
		if h != nil {
			b[i] = h.Clone()
		}
	}
	return b
}

// clone returns a copy for another window. Lists of victims are never changed, and shared.
func (f failures) clone(w *window) failures {
	f.window = w
	f.doc.Faults, f.doc.Losses = slices.Clone(f.doc.Faults), maps.Clone(f.doc.Losses)
	f.recovery, f.unresolved = f.recovery.Clone(), slices.Clone(f.unresolved)
	f.recent, f.busiest.samples = f.recent.clone(), slices.Clone(f.busiest.samples)
	if f.around != nil {
		f.around = &faultExcerpt{excerpt: f.around.clone(), operations: f.around.operations.clone()}
	}
	return f
}
