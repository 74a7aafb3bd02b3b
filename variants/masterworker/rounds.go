package masterworker

import (
	"context"
	"sync"

	"github.com/zkbench/zkbench/variants"
)

// rounds lets the participants of a run without faults end their steps together, when the client has the results of its batch: how
// many of its tasks a worker gets may be left to chance. They synchronize within the process, which costs no request.
type rounds struct {
	mu   sync.Mutex
	open map[roundID]*round
}

type roundID struct {
	root   string
	number int
}

// round is one step of all participants.
type round struct {
	over  chan struct{}  // closed by the client
	ended sync.WaitGroup // the steps of all others
}

func newRounds() *rounds { return &rounds{open: map[roundID]*round{}} }

// enter returns the round of a participant's step, the same one for all participants.
func (r *rounds) enter(env variants.Env, number int) *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := roundID{env.Root, number}
	if r.open[id] == nil {
		r.open[id] = &round{over: make(chan struct{})}
		r.open[id].ended.Add(env.Clients - 1)
	}
	return r.open[id]
}

// end ends a round, and returns when all other participants have ended their steps. In a lockstep run, the runner would otherwise
// take one of them for a client that waits in vain.
func (r *rounds) end(ctx context.Context, env variants.Env, number int) error {
	one := r.enter(env, number)
	close(one.over)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		one.ended.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, roundID{env.Root, number})
	return nil
}

// isOver reports whether the client has the results of its batch.
func (r *round) isOver() bool {
	select {
	case <-r.over:
		return true
	default:
		return false
	}
}

// until returns a context that ends with ctx or with the round.
func (r *round) until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-r.over:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
