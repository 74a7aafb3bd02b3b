package ensembletest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results/must"
)

// Bubble runs a test in virtual time on servers in memory. Waits take no time, and a client that waits for an event that cannot come
// fails the test at once, because its goroutine is left over. The test must start its own goroutines and open its own sessions. It
// cannot be parallel or have subtests, and must not wait for the network or for a [sync.Mutex] whose holder waits.
func Bubble(t *testing.T, config embedded.Config, test func(t *testing.T, e *embedded.Ensemble)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.Memory(config)
		t.Cleanup(func() {
			time.Sleep(lastWaits)
			must.Do(t, server.Close())
		})
		test(t, embedded.Of(server))
	})
}

// lastWaits is longer than any wait in the background after a test, such as for a client library that is closing.
const lastWaits = 5 * time.Minute
