package doubts

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
)

// Beyond these marks, the load generator or the machine affects the latencies.
const (
	clientCPUMark  = 0.80 // share of all cores used by zkbench
	machineCPUMark = 0.95 // share of all cores in use
	latenessMark   = 0.25 // share of the bystanders' p99 that is delay within zkbench
	apartMark      = 0.01 // share of the window by which workers counted apart
	slowMark       = 3    // how many times as long as any other a worker needs for a read
)

// Saturated returns the reasons why zkbench was short of CPU and applied less load than intended. Workers are named. The CPU share of the
// embedded engine says nothing about the load, as the server runs in the same process.
func Saturated(d *results.Document) []string {
	if len(d.Workers) == 0 {
		return saturated("zkbench itself", d.Health, d.Environment.Engine != results.Embedded)
	}
	var r reasons
	for i, w := range d.Workers {
		r = append(r, saturated(fmt.Sprintf("worker %d on %s", i+1, w.Host), w.Health, true)...)
	}
	return r
}

func saturated(who string, h results.Health, alone bool) (r reasons) {
	r.add(h.ClientCPU > clientCPUMark && alone, "%s used over %.0f%% of the CPUs", who, 100*clientCPUMark)
	r.add(h.Throttled > 0, "the control group of %s was out of CPU", who)
	still := list.Map(h.StoodStill, func(s results.Standstill) time.Duration { return s.Length })
	r.add(len(still) > 0, "%s stood still for up to %s, %s in all: delays in this time are not the servers'",
		who, show(list.Largest(still)), show(list.Sum(still)))
	return r
}

// Delayed returns why latencies are longer than ZooKeeper's, such as saturation; counts are not affected. Causes precede their effects.
func Delayed(d *results.Document) []string {
	r := reasons(Saturated(d))
	r.add(shortOfCPU(d), "the machine's CPUs were over %.0f%% busy: latencies include waiting for a CPU", 100*machineCPUMark)
	r = append(r, list.Map(Disturbances(d), func(f Finding) string { return f.Text })...)
	r.add(float64(d.Health.SchedulerP99) > lateMark(d),
		"over %.0f%% of the bystanders' p99 may be scheduling delay within zkbench, which is part of all latencies", 100*latenessMark)
	r.add(SentLate(d),
		"zkbench sent the bystanders' reads late, by over %.0f%% of their p99: do not quote bystander p99", 100*latenessMark)
	return r
}

// SentLate reports whether zkbench sent bystanders' reads so late that their p99 says little about the servers.
func SentLate(d *results.Document) bool { return float64(d.Health.LatenessP99) > lateMark(d) }

func lateMark(d *results.Document) float64 {
	return latenessMark * d.Metrics[metric.Quantile(results.BystanderPhase, 99)].Value
}

func shortOfCPU(d *results.Document) bool { return d.Health.MachineCPU > machineCPUMark }

// outage is a kind of disturbance that a fault can cause.
type outage int

const (
	ofServer    outage = iota // such as a change of the leader, a restart or a standstill, and what fails meanwhile
	lostSession               // of a client
	reconnect                 // of a client's session
)

// explains reports whether the scenario asks for a kind of fault that causes such outages. An outage that it explains does not
// make a measurement invalid, and any other does.
func explains(s results.Scenario, o outage) bool {
	return slices.ContainsFunc(s.Faults, func(f results.FaultLoad) bool {
		switch f.Kind {
		case results.ExpireFault, results.StopFault:
			return o == lostSession || o == reconnect
		case results.CutFault:
			return o == reconnect
		default: // a server that has lost its quorum restarts its counters
			return f.Kind.OfServer()
		}
	})
}

// outages describes the outages that the schedule of faults explains, or, if explained is false, all others.
func outages(d *results.Document, explained bool) []string {
	h := d.Health
	var r reasons
	add := func(o outage, happened bool, format string, args ...any) {
		r.add(happened && explains(d.Scenario, o) == explained, format, args...)
	}
	add(lostSession, h.SessionsLost > 0, "%d sessions were lost", h.SessionsLost)
	add(ofServer, h.BystanderErrors > 0, "%d reads by bystanders failed", h.BystanderErrors)
	var failed int64
	if b := d.Background; b != nil {
		during := cmp.Or(b.During, new(results.BackgroundStretch))
		failed = b.Alone.Read.Failed + b.Alone.Write.Failed + during.Read.Failed + during.Write.Failed
	}
	add(ofServer, failed > 0, "%d requests of the background failed", failed)
	add(ofServer, h.LeaderChanged, "the leader changed, or there was none")
	add(reconnect, h.Reconnects > 0, "%d times a session had to reconnect", h.Reconnects)
	for _, s := range d.Servers {
		add(ofServer, d.Scenario.Faulty() && s.Restarted, "%s", restarted(s))
	}
	return r
}
