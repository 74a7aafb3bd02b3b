package observe

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/recorder"
)

const mostIncidents = 20

// The phases of an observed document: the time from a request to its reply, as the proxy sees it.
const (
	phaseWrite = "write" // successful ones, each of which is an operation
	phaseRead  = "read"
)

type window struct {
	Report     // counts so far; numbers about waits are added at the end
	start, end time.Duration
	counts     wire.Counts
	paths      *paths
	kinds      *herdKinds
	families   families
	record     *recorder.Recorder
	passed     int64 // herds of all transactions up to it are complete
}

func newWindow(now time.Duration, named bool, z *znodes) *window {
	w := &window{
		Report: Report{Open: true, IncidentCounts: map[proxy.IncidentKind]int64{}},
		start:  now, paths: newPaths(), kinds: newHerdKinds(), families: newFamilies(z),
	}
	w.paths.refold, w.kinds.refold, w.families.refold = w.refold, w.refold, w.refold
	w.record = recorder.New(recorder.Config{Phase: phaseWrite, Operation: phaseWrite, Named: named})
	w.record.Traffic(now, recorder.Traffic{})
	w.record.OpenWindow(now)
	return w
}

// tick advances the time series, and completes the recorder's herds of transactions before the oldest one whose herd may still
// grow.
func (w *window) tick(now time.Duration, oldest int64) {
	if w.Open {
		w.record.Traffic(now, recorder.Traffic(w.counts.Traffic()))
		w.record.Passed(min(w.passed, oldest-1))
	}
}

func (w *window) close(now time.Duration) {
	w.tick(now, math.MaxInt64)
	w.record.CloseWindow(now)
	w.Open, w.end = false, now
}

func (w *window) exchanged(now time.Duration, s *session, e wire.Exchange) {
	w.counts.Requests[e.Op]++
	w.counts.BytesIn += e.BytesIn
	w.counts.BytesOut += e.BytesOut
	if e.Armed {
		w.counts.Watches[e.Op]++
	}
	path := fold(e.Path)
	if e.Code != wire.OK && slices.Contains([]int32{2, 3, 6}, e.Flags) { // of a sequential znode, which got no number
		path += folded
	}
	w.paths.of(path).exchanged(e)
	if e.Code != wire.OK {
		w.counts.Failed[e.Op]++
		return
	}
	phase := phaseRead
	if e.Op.IsWrite() {
		phase = phaseWrite
	}
	w.record.Span(phase, s.slot, now-(e.Reply-e.Sent), now)
}

// refold merges what differs only in numbers of which there are many. A fold may make another one possible.
func (w *window) refold() {
	for before := math.MaxInt; len(w.paths.by) < before; {
		before = len(w.paths.by)
		fold := foldNumbers(slices.AppendSeq(slices.Collect(maps.Keys(w.paths.by)), maps.Keys(w.families.by)))
		w.paths.rekey(fold)
		w.families.rekey(fold)
		w.kinds.rekey(func(k kindKey) kindKey {
			k.path, k.cause = fold(k.path), fold(k.cause)
			return k
		})
	}
}

// notificationSize is the size of a notification without its path: the length, the header, the type, the state and the path's length.
const notificationSize = 4 + 16 + 4 + 4 + 4

func (w *window) notified(now time.Duration, s *session, n wire.Notification) {
	w.counts.CountNotification(n.Type)
	w.counts.BytesIn += notificationSize + int64(len(n.Path))
	w.paths.of(fold(n.Path)).notified(s)
	w.record.Notification(recorder.Notification{At: now, Client: s.slot, Zxid: n.Zxid, Type: n.Type.String(), Path: n.Path})
}

func (w *window) over(session int64, expired, stuck bool) {
	if !w.Open {
		return
	}
	w.families.over(session)
	if expired {
		w.Expired++
	}
	if stuck {
		w.StuckEnded++
	}
}
