package machine

import (
	"runtime/debug"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
)

func TestGCPercent(t *testing.T) {
	const mb = 1 << 20
	buffers := func(clients uint64) uint64 { return clients * ensemble.SessionBuffers }
	for _, c := range []struct {
		name           string
		live, reserved uint64
		usual, want    int
	}{
		{"before the first collection", 0, buffers(1000), 100, 100},
		{"a few clients", buffers(10) + 20*mb, buffers(10), 100, 100},
		{"a thousand clients: 128 MB of 3,050", buffers(1000) + 50*mb, buffers(1000), 100, 4},
		{"four thousand clients", buffers(4000) + 150*mb, buffers(4000), 100, 1},
		{"so many that one percent is more than the bound", buffers(40000), buffers(40000), 100, 1},
		{"a long history may grow by half", buffers(1000) + 3000*mb, buffers(1000), 100, 25},
		{"the sessions are not all open yet", 300 * mb, buffers(1000), 100, 42},
		{"a percentage of the user's is the upper bound", buffers(10) + 20*mb, buffers(10), 30, 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := gcPercent(c.live, c.reserved, c.usual); got != c.want {
				t.Errorf("gcPercent(%d, %d, %d) = %d, want %d", c.live, c.reserved, c.usual, got, c.want)
			}
		})
	}
}

// The setting belongs to the process. After a measurement it is the same as before, even if the collector was off.
func TestCollectorIsRestored(t *testing.T) {
	for _, usual := range []int{70, -1} {
		before := debug.SetGCPercent(usual)
		TuneCollector(4000)()
		if got := debug.SetGCPercent(before); got != usual {
			t.Errorf("the percentage was %d before and %d after", usual, got)
		}
	}
}
