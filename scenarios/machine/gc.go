package machine

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

const (
	// MinGarbage is how many bytes of garbage may always pile up before a collection. With less, a thousand clients that list
	// each other keep the collector busy. With more, garbage is most of the memory of a measurement.
	MinGarbage = 128 << 20
	// usedPerGarbage is how many bytes must be in use for each byte of garbage beyond MinGarbage. Go's default of 1 doubles the
	// peak with many clients. Collecting twice as often costs little.
	usedPerGarbage = 2
	// tuneInterval is the time between two updates of the collector's target. A collection under load takes longer.
	tuneInterval = 100 * time.Millisecond
)

// TuneCollector bounds the garbage of a measurement with a number of clients by the memory that is really in use, until stop is
// called. The user's own percentage (GOGC) is the upper bound. If the user has turned the collector off, it stays off.
//
// The collector starts when the heap has doubled. It counts the client library's buffers as a part of the heap, 3 MB for
// each session, although almost none of that is resident: with 4,000 sessions it would let 12 GB of garbage pile up.
// TuneCollector sets the percentage so that a collection starts when the garbage reaches half of the heap without these
// buffers. The percentage is a setting of the whole process. A process runs one measurement at a time.
//
// stop restores the usual percentage and returns the measurement's memory to the operating system, so that the next
// measurement starts with as little as the first one. The caller must have dropped all references to the sessions.
//
// Note: a collection alone is not enough. The runtime would reuse the buffers of these sessions for the next ones and fill
// them with zeros, which takes time and makes 3 MB resident for a moment. New memory from the operating system is already zero,
// so that the runtime does not touch it.
func TuneCollector(clients int) (stop func()) {
	usual := debug.SetGCPercent(100)
	debug.SetGCPercent(usual)
	done := make(chan struct{})
	var following sync.WaitGroup
	if usual > 0 {
		following.Go(func() { follow(uint64(clients)*ensemble.SessionBuffers, usual, done) })
	}
	return func() {
		close(done)
		following.Wait()
		debug.SetGCPercent(usual)
		ReturnMemory()
	}
}

// ReturnMemory collects all garbage and returns free memory to the operating system. Call it before many sessions are closed: the
// runtime would put what closing allocates where their buffers were, which makes that memory resident beside the load's garbage.
func ReturnMemory() { debug.FreeOSMemory() }

func follow(reserved uint64, usual int, done <-chan struct{}) {
	tick := time.NewTicker(tuneInterval)
	defer tick.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for set := usual; ; {
		metrics.Read(live)
		if percent := gcPercent(live[0].Value.Uint64(), reserved, usual); percent != set {
			debug.SetGCPercent(percent)
			set = percent
		}
		select {
		case <-done:
			return
		case <-tick.C:
		}
	}
}

// gcPercent returns by how many percent of the live bytes the heap may grow. The reserved bytes are live, but not resident.
func gcPercent(live, reserved uint64, usual int) int {
	used := live - min(live, reserved)
	garbage := max(used/usedPerGarbage, MinGarbage)
	return max(1, int(min(100*garbage/max(live, 1), uint64(usual))))
}
