package watchload

import (
	"maps"
	"slices"

	"github.com/zkbench/zkbench/variants"
)

func newObserver(out variants.Findings) variants.Observer {
	return append(out.Timed(phases()), &feeds{out: out, topics: map[int64]*topic{}, gone: map[int]bool{}, open: map[int]*round{}})
}

// feeds reports notifications that come too early, twice or never, and times how long publications take. A client's
// k-th notification of a topic is about the topic's k-th publication, which belongs to round k.
//
// A publication is recorded just before it is sent, and again when it has been answered; a watch when it is set, and
// when it has fired. So a notification comes later in the history than the beginning of its publication, and a watch
// that was set before that beginning must fire.
type feeds struct {
	out    variants.Findings
	topics map[int64]*topic
	gone   map[int]bool // the clients that have failed

	begun int            // the rounds in which a topic has been published
	open  map[int]*round // the rounds for which a client waits
}

type topic struct {
	sent, done int               // publications that were begun, and answered
	last       variants.Event    // when the last one was answered
	recent     []variants.Moment // when the latest ones were begun, the last one last
	watchers   map[int]*watcher
}

// recentKept is how many publications of a topic are kept for clients that read from a server that lags behind. A client
// that asks for its watch when more than these have been made since has no delivery time.
const recentKept = 16

// watcher is one client's interest in a topic.
type watcher struct {
	seen     int  // how many publications it has been notified of, or has missed
	pending  bool // it has asked for a watch, which has neither fired nor come too late
	watching bool
	since    variants.Moment // when it asked
	begun    variants.Moment // when the publication that it waits for was begun; none for not yet
}

// round is one fan-out.
type round struct {
	begun      bool
	start, end variants.Moment
	pending    int // how many watches are waited for
}

func (f *feeds) Observe(e variants.Event) {
	if e.Kind == failed {
		f.gone[e.Client] = true
		for _, t := range f.topics {
			if w := t.watchers[e.Client]; w != nil {
				f.unwait(w)
			}
		}
		return
	}
	t := variants.StateOr(f.topics, e.Value, func() *topic { return &topic{watchers: map[int]*watcher{}} })
	w := variants.StateOf(t.watchers, e.Client)
	switch e.Kind {
	case arming:
		w.since, w.begun = e.Moment(), t.begun(w.seen)
		if !w.pending {
			w.pending = true
			variants.StateOf(f.open, w.seen).pending++
		}
	case armed:
		w.watching = true
	case publishing:
		f.publish(t, e)
	case published:
		t.done++
		t.last = e
	case told, missed:
		f.notify(t, w, e)
	}
}

func (f *feeds) span(phase string, start variants.Moment, e variants.Event) {
	f.out.Span(variants.SpanOf(phase, e.Client, start, e.Moment()))
}

// begun returns when a publication was begun; none if it has not begun, or too long ago.
func (t *topic) begun(number int) variants.Moment {
	if ago := t.sent - number; ago > 0 && ago <= len(t.recent) {
		return t.recent[len(t.recent)-ago]
	}
	return variants.Moment{}
}

// unwait counts off a client that no longer waits. The last one ends the fan-out.
func (f *feeds) unwait(w *watcher) {
	if w.pending {
		w.pending = false
		f.open[w.seen].pending--
		f.endRound(w.seen)
	}
}

func (f *feeds) endRound(number int) {
	r := f.open[number]
	if r.pending > 0 {
		return
	}
	if r.begun {
		f.out.Span(variants.SpanOf(phaseFanOut, 0, r.start, r.end))
	}
	delete(f.open, number)
}

func (f *feeds) publish(t *topic, e variants.Event) {
	number := t.sent
	for _, w := range t.watchers {
		if w.pending && w.seen == number {
			w.begun = e.Moment()
		}
	}
	t.sent++
	t.recent = append(t.recent, e.Moment())
	t.recent = t.recent[max(0, len(t.recent)-recentKept):]
	if number < f.begun {
		return
	}
	f.begun = number + 1
	r := variants.StateOf(f.open, number)
	r.begun, r.start, r.end = true, e.Moment(), e.Moment()
	f.endRound(number)
}

func (f *feeds) notify(t *topic, w *watcher, e variants.Event) {
	if !w.watching {
		f.out.Breach(e, "client %d was told of topic %d twice", e.Client, e.Value)
		return
	}
	f.span(phaseWatch, w.since, e)
	if e.Kind == told && !w.begun.IsNone() {
		f.span(phaseDelivery, w.begun, e)
		if r := f.open[w.seen]; r != nil { // nil if the client had failed meanwhile
			r.end = r.end.Latest(e.Moment())
		}
	}
	f.unwait(w)
	w.watching = false
	if w.seen++; w.seen > t.sent {
		f.out.Breach(e, "client %d was told of publication %d of topic %d, and there had been %d", e.Client, w.seen, e.Value, t.sent)
	}
}

// Complete reports the watches that have not fired, although their topic was published.
func (f *feeds) Complete() {
	for _, number := range slices.Sorted(maps.Keys(f.topics)) {
		t := f.topics[number]
		for _, client := range slices.Sorted(maps.Keys(t.watchers)) {
			if w := t.watchers[client]; w.watching && !f.gone[client] && w.seen < t.done {
				f.out.Breach(t.last, "client %d was never told of publication %d of topic %d", client, w.seen+1, number)
			}
		}
	}
}
