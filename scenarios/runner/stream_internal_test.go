package runner

import (
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios/block"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// sink is an observer that checks each client's own order.
type sink struct {
	t        *testing.T
	seen     map[int]int64 // the last value by client; values count from 1 on
	complete bool
}

func (s *sink) Observe(e variants.Event) {
	if e.Value != s.seen[e.Client]+1 {
		s.t.Errorf("client %d: event %d came after %d", e.Client, e.Value, s.seen[e.Client])
	}
	s.seen[e.Client] = e.Value
}

func (s *sink) Complete() { s.complete = true }

// poolOf returns clients that have no session.
func poolOf(n int) *pool.Pool {
	p := &pool.Pool{Epoch: time.Now()}
	for i := range n {
		c := &pool.Client{ID: i, Life: pool.NewLife(0, p.Epoch, i, nil)}
		c.Session = session.NewSession(nil, nil)
		p.Clients = append(p.Clients, c)
	}
	return p
}

// However the clients and the drains interleave, the observer receives every event, and the events of each client in its order.
func TestStreamKeepsOwnOrder(t *testing.T) {
	const clients, events = 8, 2000
	p, seen := poolOf(clients), &sink{t: t, seen: map[int]int64{}}
	recipe := variants.Recipe{NewObserver: func(variants.Findings) variants.Observer { return seen }}
	s := newStream(crewOf(p), recipe, recorder.New(recorder.Config{Clients: clients}), nil)
	var working sync.WaitGroup
	for _, c := range p.Clients {
		working.Go(func() {
			for i := range events {
				c.Log.Record(0, int64(i+1))
			}
		})
	}
	s.start()
	for range 50 {
		s.drain()
	}
	working.Wait()
	s.finish(true)
	for id := range clients {
		if seen.seen[id] != events {
			t.Errorf("client %d: %d events, want %d", id, seen.seen[id], events)
		}
	}
	if !seen.complete {
		t.Error("the observer did not hear that the load is complete")
	}
}

// An operation that a failed load leaves open is not a violation. An earlier breach is.
func TestStreamOfAFailedLoad(t *testing.T) {
	p := poolOf(1)
	recipe := variants.Recipe{NewObserver: func(out variants.Findings) variants.Observer { return &gossip{out} }}
	r := recorder.New(recorder.Config{Clients: 1})
	s := newStream(crewOf(p), recipe, r, nil)
	s.start()
	p.Clients[0].Log.Record(0, 7)
	s.finish(false)
	var d results.Document
	r.CloseFailed(&d)
	if len(d.Violations) != 1 || d.Violations[0].Text != "event 7" {
		t.Errorf("violations %v, want event 7 alone", d.Violations)
	}
}

// gossip reports every event as a violation, and one more at the end.
type gossip struct{ out variants.Findings }

func (g *gossip) Observe(e variants.Event) { g.out.Breach(e, "event %d", e.Value) }
func (g *gossip) Complete()                { g.out.Breach(variants.Event{}, "open at the end") }

// A stream keeps nothing that it has handed on.
func TestStreamForgets(t *testing.T) {
	p, seen := poolOf(1), &sink{t: t, seen: map[int]int64{}}
	recipe := variants.Recipe{NewObserver: func(variants.Findings) variants.Observer { return seen }}
	s := newStream(crewOf(p), recipe, recorder.New(recorder.Config{Clients: 1}), nil)
	for i := range 100_000 {
		p.Clients[0].Log.Record(0, int64(i+1))
		if i%100 == 99 {
			s.drain()
		}
	}
	room := cap(s.crew.drain(block.Drain{}).Events)
	if seen.seen[0] < 99_000 || room > 1000 {
		t.Errorf("%d events were handed on, and there is room for %d, want all but those of some drains", seen.seen[0], room)
	}
}

// lagging is a part that drains at one time after another.
type lagging struct {
	block.Part
	at []time.Duration
}

func (l *lagging) Drain(block.Drain) (b block.Batch) {
	b.At, b.Latest, l.at = l.at[0], l.at[0], l.at[1:]
	return b
}

// The edges of a window say how far apart workers were; other drains do not count.
func TestEdgesOfSeveralWorkers(t *testing.T) {
	c, _ := newCrew(t.Context(), time.Now(), 2)
	c.parts = append(c.parts, &lagging{at: []time.Duration{time.Second, 2 * time.Second, 9 * time.Second}})
	c.parts = append(c.parts, &lagging{at: []time.Duration{time.Second + 3, 4 * time.Second, 9*time.Second + 40}})
	recipe := variants.Recipe{NewObserver: func(out variants.Findings) variants.Observer { return &gossip{out} }}
	s := newStream(c, recipe, recorder.New(recorder.Config{Clients: 2}), nil)
	s.openWindow()
	s.drain()
	s.cutWindow()
	if s.apart != 43 {
		t.Errorf("the edges were %d ns apart, want 3 and 40", s.apart)
	}
}

// silent is a part with an event that waits for a reply, which does not come.
type silent struct {
	block.Part
	t      *testing.T
	drains int
}

func (s *silent) Drain(d block.Drain) (b block.Batch) {
	if s.drains++; s.drains > 3 {
		s.t.Fatal("the window waits for the reply")
	}
	b.At, b.ClockBound = time.Duration(s.drains)*time.Second, 1
	if d.All {
		var log variants.Places
		log.Add(variants.Event{At: time.Second, Value: 1}, -1, 0, nil)
		b.Events = log.Take(nil, b.At)
	}
	return b
}

// A window that ends when no client is at work does not wait for replies.
func TestWindowThatEndsAtRest(t *testing.T) {
	c, _ := newCrew(t.Context(), time.Now(), 1)
	c.parts = append(c.parts, &silent{t: t})
	told := &sink{t: t, seen: map[int]int64{}}
	recipe := variants.Recipe{NewObserver: func(variants.Findings) variants.Observer { return told }}
	s := newStream(c, recipe, recorder.New(recorder.Config{Clients: 1}), nil)
	s.drain()
	s.openWindow()
	s.closeWindow()
	if told.seen[0] != 1 {
		t.Error("the event was not handed on")
	}
}
