package doubts_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
)

const ms = time.Millisecond

// timing has a known maximum, unless that is zero.
func timing(count int64, sum, longest time.Duration) *results.Timing {
	t := &results.Timing{Count: count, Sum: sum, MaxSinceStart: longest}
	if longest > 0 {
		t.Max = &longest
	}
	return t
}

// unknown is a timing whose maximum did not grow.
func unknown(count int64, sum, sinceStart time.Duration) *results.Timing {
	return &results.Timing{Count: count, Sum: sum, MaxSinceStart: sinceStart}
}

// Reports of servers become at most a few sentences that name server and cause, the worst first.
func TestServersAreNamedAsCauses(t *testing.T) {
	const s = time.Second
	read := func(t time.Duration) *time.Duration { return &t }
	calm := func(id int, name string) results.ServerReport {
		return results.ServerReport{Server: id, Name: name, Role: "follower", Fsync: timing(1000, 3*s, 40*ms), JVMPauses: timing(400, 200*ms, 30*ms), SlowestRead: read(9 * ms)}
	}
	for _, tt := range []struct {
		name   string
		change func(d *results.Document, a, b *results.ServerReport)
		want   []string
	}{
		{"a normal run", func(*results.Document, *results.ServerReport, *results.ServerReport) {}, nil},
		{"a single pause", func(_ *results.Document, a, _ *results.ServerReport) { a.JVMPauses = timing(400, 400*ms, 310*ms) },
			[]string{"zoo1 (leader) stood still: its JVM paused for up to 310ms"}},
		{"several, seen by reads too", func(_ *results.Document, a, _ *results.ServerReport) {
			a.JVMPauses, a.SlowestRead = timing(400, 2800*ms, 310*ms), read(312*ms)
		}, []string{"zoo1 (leader) stood still: its JVM paused for up to 310ms, 2.8s in all, reads on it took up to 312ms, on other servers up to 9ms"}},
		{"pauses shorter than an earlier one", func(_ *results.Document, a, _ *results.ServerReport) { a.JVMPauses = unknown(400, 2800*ms, 405*ms) },
			[]string{"zoo1 (leader) stood still: its JVM paused for 2.8s in all"}},
		{"no pause has ever been long", func(_ *results.Document, a, _ *results.ServerReport) { a.JVMPauses = unknown(9000, 2800*ms, 60*ms) }, nil},
		{"pauses made by measuring heaps", func(d *results.Document, a, _ *results.ServerReport) {
			d.Heap, a.JVMPauses = &results.Heap{}, timing(400, 800*ms, 310*ms)
		}, nil},
		{"reads alone, pauses not monitored", func(_ *results.Document, a, b *results.ServerReport) {
			a.JVMPauses, b.JVMPauses, a.SlowestRead = nil, nil, read(5*s)
		}, []string{"zoo1 (leader) stood still or was cut off, reads on it took up to 5s, on other servers up to 9ms"}},
		{"reads alone, no pause", func(_ *results.Document, a, _ *results.ServerReport) { a.SlowestRead = read(5 * s) },
			[]string{"zoo1 (leader) answered slowly, reads on it took up to 5s, on other servers up to 9ms"}},
		{"reads alone, no pause, a busy machine", func(d *results.Document, a, _ *results.ServerReport) {
			d.Health.MachineCPU, a.SlowestRead = 0.99, read(5*s)
		}, []string{"the machine's CPUs were over 95% busy: latencies include waiting for a CPU"}},
		{"reads slow everywhere", func(_ *results.Document, a, b *results.ServerReport) {
			a.SlowestRead, b.SlowestRead = read(300*ms), read(100*ms)
		}, nil},
		{"a disk that stalled", func(_ *results.Document, _, b *results.ServerReport) { b.Fsync = timing(1000, 5300*ms, 2300*ms) },
			[]string{"zoo2's disk stalled: fsync up to 2.3s (5.3ms on average)"}},
		{"a disk that others use", func(d *results.Document, _, b *results.ServerReport) {
			d.Environment.Engine, b.Fsync = "external", timing(1000, 5300*ms, 2300*ms)
		}, []string{"zoo2's disk stalled: fsync up to 2.3s (5.3ms on average, other sessions' writes included)"}},
		{"a disk that is slow", func(_ *results.Document, _, b *results.ServerReport) { b.Fsync = timing(100, 21*s, 400*ms) },
			[]string{"zoo2's disk is slow: fsync took 210ms on average, up to 400ms"}},
		{"no slower than it has been", func(_ *results.Document, _, b *results.ServerReport) { b.Fsync = unknown(100, 21*s, 400*ms) },
			[]string{"zoo2's disk is slow: fsync took 210ms on average"}},
		{"a disk is not to blame for a pause", func(_ *results.Document, a, _ *results.ServerReport) {
			a.Fsync, a.JVMPauses = timing(10, 5100*ms, 5030*ms), timing(400, 5100*ms, 5*s)
		}, []string{"zoo1 (leader) stood still: its JVM paused for up to 5s"}},
		{"a restart", func(_ *results.Document, a, _ *results.ServerReport) { a.Restarted = true },
			[]string{"zoo1 (leader) restarted or joined the others again during the measurement"}},
		{"the worst first, and a few", func(_ *results.Document, a, b *results.ServerReport) {
			a.JVMPauses, a.Fsync, a.Restarted = timing(400, 200*ms, 110*ms), timing(1000, 3*s, 900*ms), true
			b.JVMPauses, b.Fsync, b.Restarted = timing(400, 200*ms, 120*ms), timing(1000, 3*s, 700*ms), true
		}, []string{
			"zoo1 (leader) restarted or joined the others again during the measurement", "zoo2 (follower) restarted or joined the others again during the measurement",
			"zoo1's disk stalled: fsync up to 900ms (3ms on average)", "zoo2's disk stalled: fsync up to 700ms (3ms on average)",
			"servers gave 2 more reasons to doubt times: see their reports in the result's file",
		}},
		{"no answer at all", func(_ *results.Document, a, _ *results.ServerReport) {
			*a = results.ServerReport{Name: "zoo1", Unread: "mntr: no answer within 5s"}
		}, []string{"zoo1 did not answer after the measurement: mntr: no answer within 5s"}},
		{"nothing but roles", func(_ *results.Document, a, b *results.ServerReport) {
			*a, *b = results.ServerReport{Name: "zoo1", Role: "leader", Unread: "not allowed"}, results.ServerReport{Name: "zoo2", Role: "follower"}
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &results.Document{Servers: []results.ServerReport{calm(1, "zoo1"), calm(2, "zoo2"), calm(3, "zoo3")}}
			d.Servers[0].Role = "leader"
			tt.change(d, &d.Servers[0], &d.Servers[1])
			if got := doubts.Delayed(d); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// A stall and slow reads are not blamed on servers while zkbench itself stood still.
func TestOwnStandstill(t *testing.T) {
	read := func(server int) results.ServerRead {
		return results.ServerRead{Server: server, Longest: 3 * time.Second}
	}
	d := &results.Document{
		Window: results.Window{Start: 2 * time.Second, End: 12 * time.Second},
		Health: results.Health{StoodStill: []results.Standstill{{Start: 3 * time.Second, Length: 3 * time.Second}, {Start: 9 * time.Second, Length: time.Second}}},
		Stalls: []results.Stall{{Start: 900 * time.Millisecond, Length: 3200 * time.Millisecond, SlowestReads: []results.ServerRead{read(1), read(2)}}},
	}
	want := []string{
		"zkbench itself stood still for up to 3s, 4s in all: delays in this time are not the servers'",
		"no operation completed for 3.2s, from 900ms into the window (meanwhile zkbench stood still)",
	}
	if got := doubts.Delayed(d); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := doubts.Saturated(d); !slices.Equal(got, want[:1]) {
		t.Errorf("saturated: %q, want %q", got, want[:1])
	}
	d.Stalls[0].Start = 8 * time.Second
	if got := doubts.Delayed(d)[1]; !strings.HasSuffix(got, "(meanwhile reads took up to 3s on server 1, 3s on server 2)") {
		t.Errorf("another stall: %q", got)
	}
}
