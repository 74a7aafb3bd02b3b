package masterworker

import (
	"context"
	"sync"
)

// batches lets the participants of a run end their steps together, when the client has the results of its batch: how many of its tasks
// a worker gets may be left to chance. They synchronize within the process, which costs no request.
type batches struct {
	mu      sync.Mutex
	present *batch
}

type batch struct {
	number  int64
	over    context.Context // ends when the client has the results
	end     context.CancelFunc
	serving sync.WaitGroup // the steps of others that have begun
}

func newBatch(number int64) *batch {
	b := &batch{number: number}
	b.over, b.end = context.WithCancel(context.Background())
	return b
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
	last.end()
	served, done := context.WithCancel(ctx)
	go func() {
		defer done()
		last.serving.Wait()
	}()
	<-served.Done()
	return ctx.Err()
}
