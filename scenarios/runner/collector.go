package runner

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

const (
	// minGarbage is how much garbage may pile up before a collection in any case. With less, a thousand clients that list
	// each other keep the collector busy; with more, garbage is most of what a measurement takes.
	minGarbage = 128 << 20
	// usedPerGarbage is how much must be in use for each byte of garbage beyond that. Go's usual 1 doubles the peak of a
	// crowd; a measurement's records hold no pointers, so that collecting twice as often costs little.
	usedPerGarbage = 2
	// tuneInterval is how often the collector's target is set anew. A collection under load takes longer.
	tuneInterval = 100 * time.Millisecond
)

// collectorTuning bounds the garbage of a measurement by the memory that is really in use.
//
// The collector starts when the heap has doubled. It counts the client library's buffers as a part of the heap, 3 MB for
// each session, although almost none of that is resident: with 4,000 sessions it would let 12 GB of garbage pile up. So
// the percentage is set to what makes it start when the garbage has come to half of the heap without these buffers.
//
// The percentage belongs to the whole process. A process runs one measurement at a time.
type collectorTuning struct {
	usual  int
	cancel chan struct{}
	done   sync.WaitGroup
}

// tuneCollector starts to bound the garbage of a measurement with so many clients. A percentage of the user's (GOGC) is
// the upper bound; if the user has turned the collector off, it stays off.
func tuneCollector(clients int) *collectorTuning {
	t := &collectorTuning{usual: debug.SetGCPercent(100), cancel: make(chan struct{})}
	debug.SetGCPercent(t.usual)
	if t.usual > 0 {
		t.done.Go(func() { t.follow(uint64(clients) * ensemble.SessionBuffers) })
	}
	return t
}

// follow adapts the percentage to what the last collection has found in use.
func (t *collectorTuning) follow(reserved uint64) {
	tick := time.NewTicker(tuneInterval)
	defer tick.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for set := t.usual; ; {
		metrics.Read(live)
		if percent := gcPercent(live[0].Value.Uint64(), reserved, t.usual); percent != set {
			debug.SetGCPercent(percent)
			set = percent
		}
		select {
		case <-t.cancel:
			return
		case <-tick.C:
		}
	}
}

// gcPercent returns how much the heap may grow, in percent of what is live and of which a part is only reserved.
func gcPercent(live, reserved uint64, usual int) int {
	used := live - min(live, reserved)
	garbage := max(used/usedPerGarbage, minGarbage)
	return max(1, int(min(100*garbage/max(live, 1), uint64(usual))))
}

// stop restores the usual percentage and returns what the measurement has left to the operating system, so that the next
// one starts as the first one did.
//
// Note: it is not enough to collect it. The runtime would reuse the buffers of these sessions for the next ones and fill
// them with zeros, and then they are resident: 3 MB for each session. Memory that comes from the operating system is known
// to be zero, and is not touched.
func (t *collectorTuning) stop() {
	close(t.cancel)
	t.done.Wait()
	debug.SetGCPercent(t.usual)
	debug.FreeOSMemory()
}
