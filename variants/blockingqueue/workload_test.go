package blockingqueue

import (
	"context"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/tickets"
)

// putsOnly is a queue that records for which items a producer waits.
type putsOnly struct {
	Queue
	before  int32 // items of others
	awaited []int64
}

func (q *putsOnly) Put(_ context.Context, data []byte) (Item, error) {
	return Item{data, tickets.Ticket{Name: "item", Seq: q.before + int32(variants.NumberIn(data)&0xffff) - 1}}, nil
}

func (q *putsOnly) AwaitTaken(_ context.Context, item Item) error {
	q.awaited = append(q.awaited, variants.NumberIn(item.Data)&0xffff)
	return nil
}

// A producer waits for its last round, unless there are items of others or of an earlier life that no consumer may take: then for
// as many rounds before as these fill.
func TestProducerStaysAhead(t *testing.T) {
	for _, tt := range []struct {
		completed int
		before    int32
		want      []int64
	}{
		{0, 0, []int64{3, 6, 9, 12}},
		{0, 1, []int64{3, 6, 9}},
		{0, 3, []int64{3, 6, 9}},
		{0, 4, []int64{3, 6}},
		{7, 21, []int64{3, 6, 9, 12}},
		{7, 22, []int64{3, 6, 9}}, // the earlier life had put one of its round
		{7, 100, nil},
	} {
		q := &putsOnly{before: tt.before}
		w := newWorker(q, variants.Env{
			Clients: 4, Index: 3, Life: min(tt.completed, 1), Completed: tt.completed,
			Record: func(variants.EventKind, int64) {},
			Hold:   func(context.Context, <-chan struct{}) error { return nil },
		}, false)
		for range 5 {
			if err := w.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(q.awaited, tt.want) {
			t.Errorf("%d rounds completed, %d items of others: waited for items %d, want %d", tt.completed, tt.before, q.awaited, tt.want)
		}
	}
}

// A next life of a worker puts as many items as its earlier life may have cost the consumers.
func TestSparesOfTheNextLife(t *testing.T) {
	const clients = 4
	for _, tt := range []struct {
		name        string
		index, life int
		short       bool
		want        int
	}{
		{"a first life", 0, 0, true, 0},
		{"a consumer", 0, 2, false, 1},
		{"a producer", clients - 1, 2, false, 0},
		{"a consumer whose last spare item may have ended with it", 0, 2, true, 2},
		{"a producer whose last round may have ended with it", clients - 1, 2, true, clients - 1},
	} {
		w := newWorker(&putsOnly{}, variants.Env{
			Clients: clients, Index: tt.index, Life: tt.life, Record: func(variants.EventKind, int64) {},
		}, tt.short)
		if w.spares != tt.want {
			t.Errorf("%s: puts %d items first, want %d", tt.name, w.spares, tt.want)
		}
	}
}
