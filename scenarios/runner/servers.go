package runner

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
)

// readPatience is how long a server may take to answer at rest, retries included: longer than a short pause, since
// nothing is measured then.
const readPatience = 15 * time.Second

// readRetry is how long to wait before a server that refused is asked again.
const readRetry = 200 * time.Millisecond

// serverReading is one server's account of itself.
type serverReading struct {
	ensemble.Server
	status        ensemble.Status
	asked         time.Time        // for the counters
	answered      time.Time        // when they were there
	counters      map[string]int64 // of its mntr command
	unread        error            // why there are no counters
	notifications int64            // sent since the server's start; only if it is ours
	err           error            // why the account is missing although it is needed
}

// readServers asks all servers at once, as one that stands still keeps its reader waiting.
func readServers(ctx context.Context, e ensemble.Ensemble) []serverReading {
	readings := make([]serverReading, len(e.Servers()))
	var reading sync.WaitGroup
	for i, s := range e.Servers() {
		reading.Go(func() { readings[i] = readServer(ctx, s, e.Owned()) })
	}
	reading.Wait()
	return readings
}

// readServer asks one server until it answers or patience ends. Only servers that zkbench has started must allow mntr.
func readServer(ctx context.Context, s ensemble.Server, owned bool) serverReading {
	r := serverReading{Server: s}
	for deadline := time.Now().Add(readPatience); ; {
		r.asked = time.Now()
		r.counters, r.unread = ensemble.Monitor(ctx, s.Addr)
		r.answered = time.Now()
		r.status, r.err = ensemble.Probe(ctx, s.Addr)
		if r.err == nil && owned {
			r.err = r.unread
		}
		if r.err == nil || time.Now().After(deadline) || sleep(ctx, readRetry) != nil {
			break
		}
	}
	if r.err == nil && owned {
		r.notifications, r.err = ensemble.NotificationsIn(r.counters)
	}
	if r.err != nil {
		r.err = fmt.Errorf("read the counters of %s: %w", s.Name, r.err)
	}
	return r
}

// reportServers returns what each server counted between two readings.
func reportServers(begin, end []serverReading) []results.ServerReport {
	reports := make([]results.ServerReport, len(end))
	for i, after := range end {
		reports[i] = reportServer(begin[i], after)
	}
	return reports
}

func reportServer(before, after serverReading) results.ServerReport {
	r := results.ServerReport{Server: after.ID, Name: after.Name, Role: string(after.status.Role)}
	if unread := cmp.Or(before.unread, after.unread); unread != nil {
		r.Unread = unread.Error()
		return r
	}
	was, is := before.counters, after.counters
	if restarted(before, after) {
		r.Restarted, was = true, nil
	}
	for name, timing := range map[string]**results.Timing{
		"fsynctime":                  &r.Fsync,
		"jvm_pause_time_ms":          &r.JVMPauses,
		"readlatency":                &r.Reads,
		"updatelatency":              &r.Updates,
		"proposal_latency":           &r.Proposals,
		"quorum_ack_latency":         &r.QuorumAcks,
		"commit_propagation_latency": &r.Commits,
	} {
		*timing = timingOf(name, was, is)
	}
	if n, ok := is["zk_outstanding_requests"]; ok {
		n = max(n, 0) // the server counts up and down without a lock, and was seen to be one below zero
		r.Outstanding = &n
	}
	return r
}

// restarted reports whether a server is younger than if it had run all the time. Between the two moments at which it read
// its uptime lies at least the time from the first answer to the second question; its clock may differ a little from ours.
func restarted(before, after serverReading) bool {
	aged := time.Duration(after.counters["zk_uptime"]-before.counters["zk_uptime"]) * time.Millisecond
	elapsed := after.asked.Sub(before.answered)
	return aged < elapsed-elapsed/100-10*time.Millisecond
}

// timingOf returns what was added to a summary between two readings of mntr; nil if the server does not export it or
// nothing was added, as where JVM pauses are not monitored.
func timingOf(name string, before, after map[string]int64) *results.Timing {
	added := func(what string) int64 { return after[what+name] - before[what+name] }
	count, sum := added("zk_cnt_"), added("zk_sum_")
	if count <= 0 || sum < 0 || after["zk_max_"+name] < 0 { // nothing was added, it began anew, or a clock was set back
		return nil
	}
	millis := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	t := &results.Timing{Count: count, Sum: millis(sum), MaxSinceStart: millis(after["zk_max_"+name])}
	if before["zk_cnt_"+name] == 0 || added("zk_max_") > 0 || t.MaxSinceStart == 0 {
		t.Max = &t.MaxSinceStart
	}
	return t
}
