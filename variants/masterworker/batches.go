package masterworker

import (
	"context"
	"sync"

	"github.com/zkbench/zkbench/variants/session"
)

// batches lets the participants of a run end their steps together, when the client has the results of its batch: how many of its tasks
// a worker gets may be left to chance. They synchronize within the process, which costs no request.
type batches struct {
	mu      sync.Mutex
	present *batch
}

type batch struct {
	number  int64
	over    chan struct{}  // closed when the client has the results
	serving sync.WaitGroup // the steps of others that have begun
}

func newBatch(number int64) *batch { return &batch{number: number, over: make(chan struct{})} }

func (b *batch) isOver() bool { return session.IsClosed(b.over) }

func (b *batch) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-b.over:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (b *batches) next() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.present.number
}

// enter begins a participant's step in a batch, which the caller ends with serving.Done. It returns nil if that batch is over.
func (b *batches) enter(number int64) *batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	if number < b.present.number {
		return nil
	}
	b.present.serving.Add(1)
	return b.present
}

// end ends the present batch, and returns when the steps of others that have begun in it have ended.
func (b *batches) end(ctx context.Context) error {
	b.mu.Lock()
	last := b.present
	b.present = newBatch(last.number + 1)
	b.mu.Unlock()
	close(last.over)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		last.serving.Wait()
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
