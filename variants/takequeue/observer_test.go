package takequeue_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/priorityqueue"
	"github.com/zkbench/zkbench/variants/queue"
	"github.com/zkbench/zkbench/variants/takequeue"
)

// simulation is a queue whose clients put, take and give back items in a random interleaving. Each operation takes effect
// at a moment between its first and its last event. Some clients die at some moment.
type simulation struct {
	random  *rand.Rand
	classes []int64
	clients []*simulated
	queue   []int64 // by class, then by age
	history variants.History
	zxid    int64
}

type simulated struct {
	next func(c *simulated)
	id   int
	item int64 // that it puts or has
	puts int64

	shown int64 // the zxid of the last answer
}

func (s *simulation) record(c *simulated, kind variants.EventKind, value int64) {
	at := time.Duration(len(s.history) + 1)
	s.history = append(s.history, variants.Event{At: at, Client: c.id, Kind: kind, Value: value, Shown: c.shown})
}

// answer lets a client have the answer to a request; a write changes the state.
func (s *simulation) answer(c *simulated, write bool) {
	if write {
		s.zxid++
	}
	c.shown = s.zxid
}

func (s *simulation) insert(id int64) {
	i := len(s.queue)
	for i > 0 && takequeue.ClassOf(id) < takequeue.ClassOf(s.queue[i-1]) {
		i--
	}
	s.queue = slices.Insert(s.queue, i, id)
}

func (s *simulation) begin(c *simulated) {
	if s.random.IntN(2) == 0 {
		s.record(c, takequeue.Taking, 0)
		c.next = s.take
		return
	}
	c.item = s.classes[s.random.IntN(len(s.classes))]<<56 | int64(c.id)<<32 | c.puts
	c.puts++
	s.record(c, takequeue.Putting, c.item)
	c.next = func(c *simulated) {
		s.insert(c.item)
		s.answer(c, true)
		c.next = func(c *simulated) { s.record(c, takequeue.Put, c.item); c.next = s.begin }
	}
}

func (s *simulation) take(c *simulated) {
	s.answer(c, len(s.queue) > 0)
	if len(s.queue) == 0 {
		s.record(c, takequeue.Empty, 0)
		return
	}
	c.item, s.queue = s.queue[0], s.queue[1:]
	c.next = func(c *simulated) { s.record(c, takequeue.Took, c.item); c.next = s.end }
}

func (s *simulation) end(c *simulated) {
	c.next = s.begin
	if s.random.IntN(6) > 0 {
		s.record(c, takequeue.Done, c.item)
		return
	}
	s.record(c, takequeue.GivenUp, c.item)
	s.insert(c.item)
}

// Nothing is found against clients that work as they should, even if some of them die.
func TestObserverAcceptsCorrectHistories(t *testing.T) {
	for _, tt := range []struct {
		recipe  variants.Recipe
		classes []int64
	}{
		{queue.Recipe(), []int64{0}},
		{priorityqueue.Recipe(), []int64{10, 50}},
	} {
		for seed := range uint64(1000) {
			s := &simulation{random: rand.New(rand.NewPCG(seed, 1)), classes: tt.classes} //nolint:gosec // a simulation, no secret
			for id := range 2 + s.random.IntN(4) {
				s.clients = append(s.clients, &simulated{id: id, next: s.begin})
			}
			for range 200 {
				c := s.clients[s.random.IntN(len(s.clients))]
				c.next(c)
				if s.random.IntN(300) == 0 {
					c.next = func(*simulated) {}
				}
			}
			if _, violations := tt.recipe.Replay(s.history, true); len(violations) > 0 {
				t.Fatalf("%s, seed %d: %v in %v", tt.recipe.Name, seed, violations, s.history)
			}
		}
	}
}
