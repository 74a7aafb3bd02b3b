package recorder

import (
	"maps"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

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
	c.byZxid = r.byZxid.clone(&c.window, &c.series)
	if r.byPath != nil {
		c.byPath = r.byPath.clone(&c.window, &c.series)
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
	e.dots, e.reads = slices.Clone(e.dots), slices.Clone(e.reads)
	return e
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

// clone returns a copy for another window and series, without a leader.
func (h herds) clone(w *window, s *series) herds {
	h.window, h.series, h.leader = w, s, nil
	h.sizes, h.spread, h.around = maps.Clone(h.sizes), h.spread.Clone(), h.around.clone()
	return h
}

// leaderIn returns the copy of the leader: that of an open herd, or a new one of a complete herd.
func leaderIn(leader *herd, copies map[*herd]*herd) *herd {
	if leader == nil {
		return nil
	}
	if c := copies[leader]; c != nil {
		return c
	}
	return new(*leader)
}

func (z *zxidHerds) clone(w *window, s *series) *zxidHerds {
	c := &zxidHerds{herds: z.herds.clone(w, s), open: map[int64]*herd{}}
	copies := map[*herd]*herd{}
	for zxid, one := range z.open {
		c.open[zxid] = new(*one)
		copies[one] = c.open[zxid]
	}
	c.leader = leaderIn(z.leader, copies)
	return c
}

func (p *pathHerds) clone(w *window, s *series) *pathHerds {
	c := &pathHerds{herds: p.herds.clone(w, s), open: map[string]*guess{}}
	copies := map[*herd]*herd{}
	for path, one := range p.open {
		c.open[path] = &guess{herd: one.herd, clients: maps.Clone(one.clients)}
		copies[&one.herd] = &c.open[path].herd
	}
	c.leader = leaderIn(p.leader, copies)
	return c
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
		b[i] = cloneOf(h)
	}
	return b
}

func cloneOf(h *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	if h == nil {
		return nil
	}
	return h.Clone()
}

// clone returns a copy for another window. Lists of victims are never changed, and shared.
func (f failures) clone(w *window) failures {
	f.window = w
	f.doc.Faults, f.doc.Losses = slices.Clone(f.doc.Faults), maps.Clone(f.doc.Losses)
	f.recovery, f.unresolved = f.recovery.Clone(), slices.Clone(f.unresolved)
	f.recent, f.busiest.samples = f.recent.clone(), slices.Clone(f.busiest.samples)
	if f.around != nil {
		f.around = f.around.clone()
	}
	return f
}

func (e *faultExcerpt) clone() *faultExcerpt {
	c := *e
	c.dots.items, c.operations.items, c.reads.items = slices.Clone(e.dots.items), slices.Clone(e.operations.items), slices.Clone(e.reads.items)
	return &c
}
