package conformance_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/enqueue"
)

// enqueuingOn returns a queue in which producers of a variant enqueue.
func enqueuingOn(t *testing.T, v venue, variant enqueueVariant) enqueuing {
	e := enqueuing{queues: newQueues(t, v, nil), once: variant.once}
	e.open = func(c *client, s variants.Conn) enqueue.Producer {
		p, err := variant.open(testContext(t), c.handle.Through(s), e.dir)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	return e
}

// A producer whose session was lost tries again with a new one, with the same key. Only a marker shows then that the item was
// enqueued before. An item that was not marked as consumable remains an orphan.
func TestEnqueueTriedAgainWithANewSession(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		variant string
		op      wire.Opcode
		do      embedded.Action
		want    int
	}{
		{"session-per-put", wire.OpCreate, embedded.ExpireAfter, 2},
		{"blind-retry", wire.OpCreate, embedded.ExpireBefore, 1},
		{"blind-retry", wire.OpCreate, embedded.ExpireAfter, 2},
		{"consumable-flag", wire.OpCreate, embedded.ExpireAfter, 1},
		{"consumable-flag", wire.OpSetData, embedded.ExpireBefore, 1},
		{"consumable-flag", wire.OpSetData, embedded.ExpireAfter, 2},
		{"guid-marker", wire.OpMulti, embedded.ExpireBefore, 1},
		{"guid-marker", wire.OpMulti, embedded.ExpireAfter, 1},
	} {
		for _, variant := range enqueueVariants {
			if variant.name != tt.variant {
				continue
			}
			bubbles.run(t, variant.name, func(t *testing.T, v venue) {
				e := enqueuingOn(t, v, variant)
				c := connect(t, v.Servers()[0], ensemble.SessionTimeout, nil)
				p := e.open(c, c.conn)
				trap := inject(embeddedServer(t, v), c, tt.op, tt.do)
				if err := p.Enqueue(testContext(t), "x", []byte("x")); !errors.Is(err, variants.ErrSessionLost) {
					t.Fatalf("Enqueue returned %v, want ErrSessionLost", err)
				}
				mustHaveFired(t, trap)
				next := clients(t, v, 1)[0]
				e.enqueue(e.open(next, next.conn), "x")
				if got := e.consume()["x"]; got != tt.want {
					t.Errorf("the item is in the queue %d times, want %d", got, tt.want)
				}
			})
		}
	}
}

// Two producers that enqueue one item at the same time leave one copy if a marker decides between them.
func TestEnqueueByTwoProducers(t *testing.T) {
	t.Parallel()
	onEach(t, bubbles, enqueueVariants, func(t *testing.T, v venue, variant enqueueVariant) {
		e := enqueuingOn(t, v, variant)
		var both sync.WaitGroup
		for _, c := range clients(t, v, 2) {
			p := e.open(c, c.conn)
			both.Go(func() {
				if err := p.Enqueue(testContext(t), "x", []byte("x")); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
		want := 2
		if variant.name == "guid-marker" {
			want = 1
		}
		if got := e.consume()["x"]; got != want {
			t.Errorf("the item is in the queue %d times, want %d", got, want)
		}
	})
}
