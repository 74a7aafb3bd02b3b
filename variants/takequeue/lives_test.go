package takequeue_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/priorityqueue"
	"github.com/zkbench/zkbench/variants/queue"
	"github.com/zkbench/zkbench/variants/takequeue"
)

// failing is a simulation whose clients die, and whose sessions expire while they live. Claims end with their sessions; items
// that were removed do not come back.
type failing struct {
	simulation
	claims    bool
	unordered bool // items are taken in any order
	stuck     bool // claims do not end: the planted bug
	mortals   []*mortal
	lost      int            // items that no client will process
	doubled   int            // items that were processed again
	done      map[int64]bool // items that were processed
}

type mortal struct {
	simulated
	next    func(*mortal)
	claimed bool // it has an item of the queue
	worked  bool // on that item
	expired bool // at the server
	lives   int64
}

func (f *failing) begin(m *mortal) {
	if m.expired { // writes are refused
		f.learn(m)
		return
	}
	if f.random.IntN(2) == 0 {
		f.record(&m.simulated, takequeue.Taking, 0)
		m.next = f.take
		return
	}
	m.item = f.classes[f.random.IntN(len(f.classes))]<<56 | int64(m.id)<<40 | m.lives<<28 | m.puts
	m.puts++
	f.record(&m.simulated, takequeue.Putting, m.item)
	m.next = func(m *mortal) {
		if m.expired {
			f.learn(m)
			return
		}
		f.insert(m.item)
		f.answer(&m.simulated, true)
		m.next = func(m *mortal) { f.record(&m.simulated, takequeue.Put, m.item); m.next = f.begin }
	}
}

func (f *failing) take(m *mortal) {
	switch {
	case m.expired:
		f.learn(m)
	case len(f.queue) == 0:
		f.answer(&m.simulated, false)
		f.record(&m.simulated, takequeue.Empty, 0)
	default:
		next := 0
		if f.unordered {
			next = f.random.IntN(len(f.queue))
		}
		m.item, m.claimed, m.worked = f.queue[next], true, false
		f.queue = slices.Delete(f.queue, next, next+1)
		f.answer(&m.simulated, true)
		m.next = f.took
	}
}

func (f *failing) took(m *mortal) {
	if !f.claims {
		f.record(&m.simulated, takequeue.Removes, 0)
	}
	f.record(&m.simulated, takequeue.Took, m.item)
	m.next = func(m *mortal) {
		f.record(&m.simulated, takequeue.Finishing, m.item)
		m.worked = true
		if f.done[m.item] {
			f.doubled++
		}
		f.done[m.item] = true
		m.next = f.finish
	}
}

func (f *failing) finish(m *mortal) {
	if f.claims && m.expired {
		f.record(&m.simulated, takequeue.GivenUp, m.item)
		f.learn(m)
		return
	}
	m.claimed = false
	f.answer(&m.simulated, true)
	m.next = func(m *mortal) { f.record(&m.simulated, takequeue.Done, m.item); m.next = f.begin }
}

// learn lets a client notice that its session is lost. It joins again.
func (f *failing) learn(m *mortal) {
	f.record(&m.simulated, variants.SessionLost, m.lives)
	m.next = f.rejoin
}

func (f *failing) rejoin(m *mortal) {
	m.lives++
	f.record(&m.simulated, variants.Rejoined, m.lives)
	m.puts, m.shown, m.claimed, m.expired, m.next = 0, 0, false, false, f.begin
}

// expire ends a client's session at the server.
func (f *failing) expire(m *mortal) {
	m.expired = true
	if m.claimed && f.claims && !f.stuck {
		f.insertByAge(m.item)
		m.claimed = false
	}
}

// insertByAge puts an item back at its old place: before all items of its class that were put later.
func (f *failing) insertByAge(id int64) {
	begun := func(id int64) time.Duration {
		i := slices.IndexFunc(f.history, func(e variants.Event) bool { return e.Kind == takequeue.Putting && e.Value == id })
		return f.history[i].At
	}
	i := slices.IndexFunc(f.queue, func(other int64) bool {
		return takequeue.ClassOf(other) > takequeue.ClassOf(id) || takequeue.ClassOf(other) == takequeue.ClassOf(id) && begun(other) > begun(id)
	})
	if i < 0 {
		i = len(f.queue)
	}
	f.queue = slices.Insert(f.queue, i, id)
}

// die stops a client dead. Its session ends later, and then it joins again.
func (f *failing) die(m *mortal) {
	f.record(&m.simulated, variants.Died, m.lives)
	if m.claimed && !m.worked && (!f.claims || f.stuck) {
		f.lost++
	}
	m.next = func(m *mortal) {
		if f.random.IntN(5) == 0 {
			f.expire(m)
			m.next = f.rejoin
		}
	}
}

// run lets the clients make some moves.
func (f *failing) run(moves int) {
	f.done = map[int64]bool{}
	if f.unordered {
		f.record(&simulated{}, takequeue.Unordered, 0)
	}
	for id := range 2 + f.random.IntN(4) {
		f.mortals = append(f.mortals, &mortal{simulated: simulated{id: id}, next: f.begin})
	}
	for range moves {
		m := f.mortals[f.random.IntN(len(f.mortals))]
		m.next(m)
		alive := len(f.history) > 0 && f.history[len(f.history)-1].Kind < variants.SessionLost
		switch {
		case !alive || m.expired || f.random.IntN(40) > 0:
		case f.random.IntN(2) == 0:
			f.die(m)
		default:
			f.lostInFlight(m)
			f.expire(m)
		}
	}
}

// lostInFlight counts an item that was removed for a client which has not learned so when its session expires: the reply does
// not come any more.
func (f *failing) lostInFlight(m *mortal) {
	last := slices.IndexFunc(f.history, func(e variants.Event) bool { return e.Client == m.id && e.Value == m.item && e.Kind == takequeue.Took })
	if !m.claimed || m.worked || last >= 0 && f.claims {
		return
	}
	took := len(f.history) - 1
	for took >= 0 && (f.history[took].Client != m.id || f.history[took].Kind >= variants.SessionLost) {
		took--
	}
	if took >= 0 && f.history[took].Kind != takequeue.Took { // the reply is on its way
		if !f.claims || f.stuck {
			f.lost++
		}
		m.next = f.learn
	}
}

// findings returns what an observer finds in a simulation: the damage by kind, and the violations beside it.
func (f *failing) findings(recipe variants.Recipe) (damage map[variants.Loss]int, violations []variants.Violation) {
	damage = map[variants.Loss]int{}
	o := recipe.NewObserver(variants.Findings{
		Span:      func(variants.Span) {},
		Violation: func(v variants.Violation) { violations = append(violations, v) },
		Damage:    func(d variants.Damage) { damage[d.Loss] += int(d.Amount) },
	})
	for _, e := range f.history {
		o.Observe(e)
	}
	o.Complete()
	return damage, violations
}

func newFailing(seed uint64, classes []int64, claims, stuck bool) *failing {
	random := rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // a simulation, no secret
	return &failing{simulation: simulation{random: random, classes: classes}, claims: claims, stuck: stuck}
}

// Clients fail in every way, and the observer finds no breach and no false damage. It finds most of the damage.
func TestObserverAcceptsFailures(t *testing.T) {
	for _, tt := range []struct {
		name    string
		recipe  variants.Recipe
		classes []int64
		claims  bool
		found   int // percent of the lost items that are found at least
	}{
		{"removing", queue.Recipe(), []int64{0}, false, 70},
		{"claiming", queue.Recipe(), []int64{0}, true, 0},
		{"removing, with priorities", priorityqueue.Recipe(), []int64{10, 50}, false, 70},
		{"removing without order", queue.Recipe(), []int64{0}, false, 40},
		{"removing without order, with priorities", priorityqueue.Recipe(), []int64{10, 50}, false, 40},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lost, found, doubled, again := 0, 0, 0, 0
			for seed := range uint64(500) {
				f := newFailing(seed, tt.classes, tt.claims, false)
				f.unordered = strings.Contains(tt.name, "without order")
				f.run(400)
				damage, violations := f.findings(tt.recipe)
				if len(violations) > 0 {
					t.Fatalf("seed %d: %v in %v", seed, violations, f.history)
				}
				if damage[variants.ItemsLost] > f.lost || damage[variants.ItemsDoubled] > f.doubled {
					t.Fatalf("seed %d: damage %v, want at most %d lost and %d doubled; in %v", seed, damage, f.lost, f.doubled, f.history)
				}
				lost, found = lost+f.lost, found+damage[variants.ItemsLost]
				doubled, again = doubled+f.doubled, again+damage[variants.ItemsDoubled]
			}
			if tt.claims != (doubled > 0) || tt.claims != (lost == 0) || 100*found < tt.found*lost || 100*again < 95*doubled {
				t.Errorf("%d items were lost, %d of them found, and %d doubled, %d of them found: the test tests nothing", lost, found, doubled, again)
			}
		})
	}
}

// A claim that does not end with its session is found.
func TestObserverFindsClaimsThatDoNotEnd(t *testing.T) {
	lost, found := 0, 0
	for seed := range uint64(200) {
		f := newFailing(seed, []int64{0}, true, true)
		f.run(2000)
		damage, _ := f.findings(queue.Recipe())
		lost, found = lost+f.lost, found+damage[variants.ItemsLost]
	}
	if lost == 0 || 4*found < lost {
		t.Errorf("%d items were lost, and %d were found", lost, found)
	}
}
