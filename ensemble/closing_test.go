package ensemble_test

import (
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// Closing a session while its requests are under way, and while the server ends its connection, leaks nothing: the bubble would have a
// goroutine left over.
func TestCloseMeetsRequests(t *testing.T) {
	for range 20 {
		ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
			var closed sync.WaitGroup
			for range 10 {
				ledger := wire.NewLedger(time.Now())
				conn, err := ensemble.Connect(t.Context(), e.Servers()[0], ledger, nil)
				if err != nil {
					t.Fatal(err)
				}
				for range 8 {
					closed.Go(func() {
						for range 20 {
							_, _, _ = conn.Exists("/")
						}
					})
				}
				closed.Go(func() { e.Expire(ledger.Session().ID) })
				closed.Go(conn.Close)
			}
			closed.Wait()
		})
	}
}
