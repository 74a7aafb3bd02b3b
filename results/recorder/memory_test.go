//go:build !race

// The race detector makes the test ten times as long, and finds nothing in one goroutine.

package recorder_test

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/recorder"
)

// synthetic feeds a recorder with a number of operations of 10 clients, each with a wait, a notification and a read. Three
// notifications are a herd, on a path of its own.
func synthetic(rec *recorder.Recorder, n int) {
	const step = 100 * time.Microsecond
	rec.OpenWindow(0)
	for i := range n {
		at, id, zxid := time.Duration(i+1)*step, i%10, int64(i/3+1)
		rec.Notification(recorder.Notification{At: at, Client: id, Zxid: zxid, Type: "NodeDeleted", Path: "/lock/" + strconv.FormatInt(zxid, 10)})
		rec.Span("acquire", id, at-9*step, at)
		rec.Span("release", id, at-step/2, at)
		rec.Read(results.BystanderRead{At: at - step, Service: step, Response: step, Server: i % 3})
		if i%1000 == 0 {
			rec.Passed(zxid - 10)
			rec.Traffic(at, recorder.Traffic{Requests: int64(5 * i)})
		}
		if i%100_000 == 99_999 {
			rec.Violation(results.Violation{At: at, Text: "broken"})
		}
	}
	rec.CloseWindow(time.Duration(n+1) * step)
}

// syntheticFaults feeds a recorder with a fault in each second, from which the other clients recover at once.
func syntheticFaults(rec *recorder.Recorder, n int) {
	rec.OpenWindow(0)
	for i := range n {
		at := time.Duration(i+1) * time.Second
		for j := range 10 {
			rec.Traffic(at-time.Duration(9-j)*100*time.Millisecond, recorder.Traffic{Requests: int64(10*i + j)})
		}
		id := rec.FaultBegan(at, "stop", "holder", []int{i % 10, (i + 1) % 10})
		rec.FailedOperation(at)
		rec.Rejoined(at)
		rec.Damage(metric.Orphans, 1)
		rec.Span("release", (i+5)%10, at, at+time.Millisecond)
		if i%2 == 0 {
			rec.FaultEnded(id, at+2*time.Millisecond)
		}
	}
	rec.CloseWindow(time.Duration(n+1) * time.Second)
}

// heap returns the memory that a recorder holds after it was fed with n events.
func heap(n int, feed func(rec *recorder.Recorder, n int)) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	rec := recorder.New(recorder.Config{Operation: "release", Waiting: []string{"acquire"}, Clients: 10, Faulty: true, Losses: []string{metric.Orphans}})
	feed(rec, n)
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(rec)
	return after.HeapAlloc - before.HeapAlloc
}

// Ten times the operations or faults take no more memory, on servers of an unknown version, which take the most. 5,000 faults are
// enough for as many candidates for stalls as are kept.
func TestMemoryDoesNotGrow(t *testing.T) {
	for _, tt := range []struct {
		what string
		n    int
		feed func(rec *recorder.Recorder, n int)
	}{{"faults", 5_000, syntheticFaults}, {"operations", 300_000, synthetic}} {
		if testing.Short() && tt.n > 100_000 {
			t.Skip("records 3.3 million operations")
		}
		short, long := heap(tt.n, tt.feed), heap(10*tt.n, tt.feed)
		if t.Logf("%d kB after %d %s, %d kB after ten times as many", short>>10, tt.n, tt.what, long>>10); float64(long) > 1.2*float64(short) {
			t.Errorf("%d bytes after %d %s, %d after ten times as many", short, tt.n, tt.what, long)
		}
	}
}
