package runner

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/block"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants/catalog"
)

// A load in which no operation is due is not stuck, although it makes no progress. A load whose client does not complete its step is.
func TestIdleLoadIsNotStuck(t *testing.T) {
	for _, busy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			var due atomic.Bool
			m := &measurement{patience: time.Second, crew: crewThat(func() block.State { return block.State{Idle: !due.Load()} })}
			stop := m.watchProgress(cancel)
			time.Sleep(100 * time.Millisecond)
			due.Store(busy) // its client never completes the step
			time.Sleep(10 * time.Second)
			if stuck := errors.Is(context.Cause(ctx), ErrStuck); stuck != busy {
				t.Errorf("with a client in a step %t, the load was found to be stuck %t", busy, stuck)
			}
			stop()
			cancel(nil)
		})
	}
}

// A load whose clients still send requests is not stuck, however slow its steps are. It ends all the same, without being called a breach.
func TestSlowLoadIsNotStuck(t *testing.T) {
	const delay = 330 * time.Millisecond // no reply at a tick: between it and the next request, the client would seem to wait
	ensembletest.Bubble(t, embedded.Config{WriteDelay: delay}, func(t *testing.T, e *embedded.Ensemble) {
		life := pool.NewLife(0, time.Now(), 0, nil)
		conn, err := ensemble.Connect(t.Context(), e.Servers()[0], life.Ledger, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		ctx, cancel := context.WithCancelCause(t.Context())
		m := &measurement{patience: 200 * time.Millisecond, crew: crewOf(&pool.Pool{Clients: []*pool.Client{{Life: life}}})}
		stop := m.watchProgress(cancel)
		for begun := time.Now(); ctx.Err() == nil; {
			if _, err := conn.Set("/", nil, -1); err != nil {
				t.Fatal(err)
			}
			if time.Since(begun) > 3*slowTicks*m.patience {
				t.Fatal("a load without progress goes on")
			}
		}
		if cause := context.Cause(ctx); !errors.Is(cause, errSlow) || errors.Is(cause, ErrStuck) {
			t.Errorf("a load whose clients send requests ended with %v, want %v", cause, errSlow)
		}
		stop()
	})
}

// progressing is a part of a load of which nothing is known but its progress.
type progressing struct {
	block.Part
	state func() block.State
}

func (p progressing) State() block.State { return p.state() }

func crewThat(state func() block.State) *crew {
	c, _ := newCrew(context.Background(), time.Now(), 1)
	c.parts = append(c.parts, progressing{nil, state})
	return c
}

// Clients that loop warm up the servers, at any rate of the scenario.
func TestRehearsalOfAnOpenLoad(t *testing.T) {
	s := scenarios.Default()
	s.Mode, s.Rate, s.Clients = scenarios.Open, []results.Rate{1}, []int{1}
	if recipe := catalog.Recipes()[0]; len(rehearsal(s, recipe)) == 0 {
		t.Fatal("an open load has no rehearsal")
	}
	if shorten(&s); s.Operations > 0 || s.Mode != scenarios.Closed {
		t.Errorf("the rehearsal has mode %s and %d operations", s.Mode, s.Operations)
	}
}

// A client that begins to hold makes progress, although its step is not complete.
func TestLoadWhoseClientsHoldIsNotStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		var held atomic.Int64
		m := &measurement{patience: time.Second, crew: crewThat(func() block.State { return block.State{Held: held.Load(), Ending: true} })}
		stop := m.watchProgress(cancel)
		for range 10 {
			time.Sleep(900 * time.Millisecond)
			held.Add(1)
		}
		if err := ctx.Err(); err != nil {
			t.Errorf("a load whose clients hold: %v", context.Cause(ctx))
		}
		time.Sleep(3 * time.Second)
		if cause := context.Cause(ctx); !errors.Is(cause, ErrStuck) {
			t.Errorf("a load in which no client gets on ended with %v, want ErrStuck", cause)
		}
		stop()
		cancel(nil)
	})
}
