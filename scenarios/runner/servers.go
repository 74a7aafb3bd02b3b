package runner

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/pool"
)

// readPatience is how long a server may take to answer at rest, retries and a short pause included: nothing is measured meanwhile.
const readPatience = 15 * time.Second

// readRetry is the time before a server that has refused is asked again.
const readRetry = 200 * time.Millisecond

type serverReading struct {
	ensemble.Server
	status        ensemble.Status
	asked         time.Time        // when the counters were asked for
	answered      time.Time        // when they had arrived
	counters      map[string]int64 // of its mntr command
	unread        error            // why there are no counters
	unanswered    bool             // an attempt failed before, and the server may have counted its four-letter words
	notifications int64            // sent since the server's start
	uncounted     error            // why mntr does not have the notifications; nil if it is not known
	err           error            // why the reading is incomplete although it is needed
}

// readServers reads all servers at the same time, because a server that has stopped keeps its reader waiting.
func readServers(ctx context.Context, e ensemble.Ensemble, owned bool) []serverReading {
	readings := make([]serverReading, len(e.Servers()))
	var reading sync.WaitGroup
	for i, s := range e.Servers() {
		reading.Go(func() { readings[i] = readServer(ctx, s, owned) })
	}
	reading.Wait()
	return readings
}

// readServer asks one server until it answers or readPatience ends. Only servers that zkbench owns must allow mntr.
func readServer(ctx context.Context, s ensemble.Server, owned bool) serverReading {
	r := serverReading{Server: s}
	for deadline := time.Now().Add(readPatience); ; {
		r.asked = time.Now()
		r.counters, r.unread = ensemble.Monitor(ctx, s)
		r.answered = time.Now()
		r.status, r.err = ensemble.Srvr(ctx, s)
		if r.err == nil && owned {
			r.err = r.unread
		}
		if r.err == nil || time.Now().After(deadline) || pool.Sleep(ctx, readRetry) != nil {
			break
		}
		r.unanswered = true
	}
	if r.err == nil && r.unread == nil {
		r.notifications, r.uncounted = ensemble.NotificationsIn(r.counters)
	}
	if owned {
		r.err = cmp.Or(r.err, r.uncounted)
	}
	if r.err != nil {
		r.err = fmt.Errorf("read the counters of %s: %w", s.Name, r.err)
	}
	return r
}

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
		r.Outstanding = new(max(n, 0)) // the server counts up and down without a lock, and sometimes reports -1
	}
	return r
}

// restarted reports whether a server began anew between two readings, in a new process or in the same one. Its uptime then grew by
// less than the time from the first answer to the second question. One percent and 10 ms are allowed for differences of the clocks.
// Of a server that does not report its uptime, such as ClickHouse Keeper, it can only see that the packets were counted anew.
func restarted(before, after serverReading) bool {
	if _, known := after.counters["zk_uptime"]; !known {
		return after.counters["zk_packets_received"] < before.counters["zk_packets_received"]
	}
	aged := time.Duration(after.counters["zk_uptime"]-before.counters["zk_uptime"]) * time.Millisecond
	elapsed := after.asked.Sub(before.answered)
	return aged < elapsed-elapsed/100-10*time.Millisecond
}

// timingOf returns the values that were added to a summary between two readings of mntr. It returns nil if the server does not
// export the summary, or nothing was added.
func timingOf(name string, before, after map[string]int64) *results.Timing {
	added := func(what string) int64 { return after[what+name] - before[what+name] }
	count, sum := added("zk_cnt_"), added("zk_sum_")
	if count <= 0 || sum < 0 || after["zk_max_"+name] < 0 { // nothing was added, the summary began anew, or a clock was set back
		return nil
	}
	millis := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	t := &results.Timing{Count: count, Sum: millis(sum), MaxSinceStart: millis(after["zk_max_"+name])}
	if before["zk_cnt_"+name] == 0 || added("zk_max_") > 0 || t.MaxSinceStart == 0 {
		t.Max = &t.MaxSinceStart
	}
	return t
}
