package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/enqueue"
	"github.com/zkbench/zkbench/variants/session"
)

// enqueuesOnce reports whether a variant claims to enqueue once.
func enqueuesOnce(variant string) bool {
	return !slices.Contains(variantOf(enqueue.Recipe(), variant).Forgoes, variants.ItemsDoubled)
}

type enqueueCheck = func(t *testing.T, e enqueuing)

// enqueueChecks are what every variant must pass, on every ensemble.
var enqueueChecks = []check[enqueueCheck]{
	{"by two producers", enqueueByTwoProducers},
	{"can be tried again after a deadline", enqueueTriedAgain},
	{"leaves nothing but its items", enqueueLeavesNothing},
}

func TestEnqueue(t *testing.T) { onEmbedded(t, checkEnqueue) }

func checkEnqueue(t *testing.T, at place) {
	all := opensOf[enqueue.Producer](enqueue.Recipe().Variants)
	checkAll(t, at, enqueueChecks, all, func(t *testing.T, v venue, do enqueueCheck, variant underTest[openFunc[enqueue.Producer]]) {
		e := enqueuing{queues: newQueues(t, v, nil), once: enqueuesOnce(variant.name), marks: variant.name == "guid-marker"}
		e.open = func(c *client, s session.Conn) enqueue.Producer {
			p, err := variant.open(testContext(t), c.handle.Through(s), e.dir)
			must(t, err)
			return p
		}
		do(t, e)
	})
}

// enqueuing is one queue under test and the variant that enqueues.
type enqueuing struct {
	queues
	once  bool
	marks bool // by key, so that others know of an item
	open  func(c *client, s session.Conn) enqueue.Producer
}

func (e enqueuing) enqueue(p enqueue.Producer, key string) {
	e.Helper()
	must(e, p.Enqueue(testContext(e), key, []byte(key)))
}

// consume takes everything out that may be consumed, and returns how often each item was there.
func (e enqueuing) consume() map[string]int {
	e.Helper()
	got := map[string]int{}
	for _, name := range children(e, e.observer, e.dir+"/items") {
		stored, _, err := e.observer.conn.Get(e.dir + "/items/" + name)
		must(e, err)
		if data, ok := enqueue.Consumable(stored); ok {
			got[string(data)]++
			must(e, e.observer.conn.Delete(e.dir+"/items/"+name, -1))
		}
	}
	return got
}

// A caller gets control back although the server does not answer, and may try again with the same key.
func enqueueTriedAgain(t *testing.T, e enqueuing) {
	c, cable := cabled(t, e.venue, ensemble.SessionTimeout)
	p := e.open(c, c.conn)
	cable.mustTimeOut(t, "Enqueue", func(ctx context.Context) error { return p.Enqueue(ctx, "x", []byte("x")) })
	e.enqueue(p, "x")
	got := e.consume()["x"]
	if e.once && got != 1 || got == 0 {
		t.Errorf("the item is in the queue %d times", got)
	}
}

// Producers that enqueue one item at the same time, and one that tries later with a session of its own, leave one copy if a marker decides
// between them.
func enqueueByTwoProducers(t *testing.T, e enqueuing) {
	var both sync.WaitGroup
	for _, c := range clients(t, e.venue, 2) {
		p := e.open(c, c.conn)
		both.Go(func() {
			if err := p.Enqueue(testContext(t), "x", []byte("x")); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	next := clients(t, e.venue, 1)[0]
	e.enqueue(e.open(next, next.conn), "x")
	want := 3
	if e.marks {
		want = 1
	}
	if got := e.consume()["x"]; got != want {
		t.Errorf("the item is in the queue %d times, want %d", got, want)
	}
}

func enqueueLeavesNothing(t *testing.T, e enqueuing) {
	c := clients(t, e.venue, 1)[0]
	p := e.open(c, c.conn)
	for i := range 3 {
		e.enqueue(p, fmt.Sprint("item", i))
	}
	if n := e.count("markers"); n > 1 {
		t.Errorf("%d markers of one producer", n)
	}
	for range 2 {
		if err := p.Leave(testContext(t)); err != nil {
			t.Error(err)
		}
	}
	if n := e.count("markers"); n != 0 {
		t.Errorf("%d markers are left", n)
	}
	if n := len(e.consume()); n != 3 {
		t.Errorf("%d items in the queue, want 3", n)
	}
}
