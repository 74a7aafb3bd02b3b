package pool

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/must"
)

// If the run is interrupted while the znodes are created, the existing ones are removed before the clean-up gives up. Single
// requests to delete each of the missing ones would take the server longer than that.
func TestInterruptedCreationIsRemoved(t *testing.T) {
	t.Parallel()
	const delay = 20 * time.Millisecond
	ensembletest.Bubble(t, embedded.Config{WriteDelay: delay}, func(t *testing.T, e *embedded.Ensemble) {
		root, err := OpenRoot(t.Context(), e.Servers(), false, "/interrupted")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		trap := e.Inject(embedded.Fault{Op: wire.OpMulti, Nth: 3, Do: embedded.HoldReply})
		go func() { <-trap.Fired(); cancel() }()
		load := results.BackgroundLoad{Znodes: 3 * int(clearTimeout/delay), Bytes: 1}
		if _, err := root.CreateBackground(ctx, load); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		trap.Release()
		if err := root.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
		ensembletest.AwaitNoZnodes(t, e.Servers())
	})
}

// The session that owns the znodes of a run whose servers fail outlives an election that takes longer than its timeout: servers without a
// quorum end no session.
func TestOwnerOutlivesElections(t *testing.T) {
	t.Parallel()
	ensembletest.Bubble(t, embedded.Config{Voters: 3}, func(t *testing.T, e *embedded.Ensemble) {
		root := must.Get(OpenRoot(t.Context(), e.Servers(), true, "/elected"))(t)
		owned, cancel := root.WhileOwned(t.Context())
		defer cancel()
		for _, s := range e.Servers()[:2] {
			must.Do(t, e.Break(t.Context(), s, ensemble.Kill))
		}
		time.Sleep(2 * ensemble.SessionTimeout)
		for _, s := range e.Servers()[:2] {
			must.Do(t, e.Restore(t.Context(), s))
		}
		must.Do(t, ensemble.AwaitReady(t.Context(), e))
		time.Sleep(ensemble.SessionTimeout)
		if owned.Err() != nil {
			t.Errorf("the owner was lost: %v", context.Cause(owned))
		}
		must.Do(t, root.Close(t.Context()))
	})
}
