package ensembletest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results/must"
)

// Bubble runs a test in virtual time on servers in memory: a wait takes no time at all, and a client that waits for an
// event that cannot come fails the test at once, because its goroutine is left over. The test must start its own goroutines and open its
// own sessions; it can neither be parallel nor have subtests, and must not wait for the network or for a [sync.Mutex] that is held while
// its holder waits.
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

// lastWaits is longer than any wait in the background of a test that has ended, such as that of a client library which is closing.
const lastWaits = 5 * time.Minute
