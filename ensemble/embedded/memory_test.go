//go:build linux && !race

// The race detector uses several bytes for each allocated byte, resident or not, which hides the memory of a session.

package embedded_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results/must"
)

// A session gives the memory of a big reply back after it is decoded, and the buffers of closed sessions add nothing to that
// of later ones.
//
// Note: not parallel, because all tests share the process's memory.
func TestMemoryOfSessions(t *testing.T) {
	const (
		sessions = 300
		children = 3000  // a listing of about 200 kB
		bound    = 150e3 // bytes for each session, both ends and garbage included
	)
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // the collector counts 3 MB for each session; a run also bounds garbage
	s := ensembletest.Embedded(t, embedded.Config{})
	owner := connect(t, s)
	for i := range children {
		must.Do(t, owner.create(fmt.Sprintf("/a-name-as-long-as-those-of-znodes-in-a-line-are-%010d", i), 0))
	}
	before := resident(t)
	for crowd := 1; crowd <= 3; crowd++ {
		t.Run(fmt.Sprintf("crowd %d", crowd), func(t *testing.T) {
			for range sessions {
				names, _, err := connect(t, s).Children("/")
				if err != nil || len(names) < children {
					t.Fatalf("%d children were listed (%v), want at least %d", len(names), err, children)
				}
			}
			each := (resident(t) - before) / sessions
			t.Logf("%.0f kB for each session", each/1e3)
			if each > bound {
				t.Errorf("%.0f bytes for each session, want at most %.0f", each, bound)
			}
		})
		collect(t, 100<<20)
		debug.FreeOSMemory() // as the runner does between measurements
	}
}

// Sessions that have sent no request yet take no more memory if the runtime makes their buffers of those of closed sessions.
//
// Note: not parallel, because all tests share the process's memory.
func TestMemoryOfSessionsBeforeTheirFirstRequest(t *testing.T) {
	const (
		sessions = 200
		ballast  = 3 << min(30, strconv.IntSize-4) // with a small heap, the runtime returns free memory at once
		bound    = 150e3                           // bytes for each session, both ends and garbage included; a buffer alone has 1.5 MB
	)
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	defer runtime.KeepAlive(make([]byte, ballast)) // not resident, because it is never touched
	s := ensembletest.Embedded(t, embedded.Config{})
	for _, crowd := range []string{"of new memory", "of used memory"} {
		t.Run(crowd, func(t *testing.T) {
			before := resident(t)
			for range sessions {
				connect(t, s)
			}
			each := (resident(t) - before) / sessions
			t.Logf("%.0f kB for each session", each/1e3)
			if each > bound {
				t.Errorf("%.0f bytes for each session, want at most %.0f", each, bound)
			}
		})
		collect(t, ballast+100<<20)
	}
}

// collect returns when the buffers of closed sessions can be reused: their goroutines end a moment after Close has returned.
func collect(t *testing.T, heap uint64) {
	t.Helper()
	var stats runtime.MemStats
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		runtime.GC()
		if runtime.ReadMemStats(&stats); stats.HeapAlloc < heap {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are in use although the sessions are closed", stats.HeapAlloc)
		}
	}
}

func resident(t *testing.T) float64 {
	t.Helper()
	text := must.Get(os.ReadFile("/proc/self/statm"))(t)
	var size, pages float64
	must.Get(fmt.Sscan(string(text), &size, &pages))(t)
	return pages * float64(os.Getpagesize())
}
