package blockingqueue

import (
	"context"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/variants"
)

// putsOnly is a queue that records for which items a producer waits.
type putsOnly struct {
	Queue
	awaited []int64
}

func (q *putsOnly) Put(_ context.Context, data []byte) (Item, error) { return Item{Data: data}, nil }

func (q *putsOnly) AwaitTaken(_ context.Context, item Item) error {
	number, err := numberOf(item)
	q.awaited = append(q.awaited, number&0xffff)
	return err
}

// A producer that has joined again waits for older rounds: consumers leave what the dead one had put of a round.
func TestProducerStaysAhead(t *testing.T) {
	for life, want := range [][]int64{{3, 6, 9, 12}, {3, 6, 9}, {3, 6}} {
		q := &putsOnly{}
		w := newWorker(q, variants.Env{
			Clients: 4, Index: 3, Life: life,
			Record: func(variants.EventKind, int64) {},
			Hold:   func(context.Context, <-chan struct{}) error { return nil },
		})
		for range 5 {
			if err := w.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(q.awaited, want) {
			t.Errorf("life %d: waited for items %d, want %d", life, q.awaited, want)
		}
	}
}
