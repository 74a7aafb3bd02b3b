package pool

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
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
