package doubts

import (
	"fmt"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
)

// Beyond these marks, the load generator or the machine affects the latencies.
const (
	clientCPUMark  = 0.80 // share of all cores used by zkbench
	machineCPUMark = 0.95 // share of all cores in use
	latenessMark   = 0.25 // share of the bystanders' p99 that is delay within zkbench
)

// Saturated returns the reasons why zkbench was short of CPU and applied less load than intended. The CPU share of the
// embedded engine says nothing about the load, as the server runs in the same process.
func Saturated(d *results.Document) []string {
	var out []string
	if d.Health.ClientCPU > clientCPUMark && d.Environment.Engine != results.Embedded {
		out = append(out, fmt.Sprintf("zkbench itself used over %.0f%% of the CPUs", 100*clientCPUMark))
	}
	if d.Health.Throttled > 0 {
		out = append(out, "the control group was out of CPU")
	}
	return out
}

// Delayed returns the reasons why latencies are longer than those of ZooKeeper; counts are not affected. Saturation is one
// of the reasons. Causes precede their effects.
func Delayed(d *results.Document) []string {
	out := Saturated(d)
	if shortOfCPU(d) {
		out = append(out, fmt.Sprintf("the machine's CPUs were over %.0f%% busy: latencies include waiting for a CPU", 100*machineCPUMark))
	}
	out = append(out, texts(Disturbances(d))...)
	mark := latenessMark * d.Metrics[metric.Quantile(results.BystanderPhase, 99)].Value
	if float64(d.Health.SchedulerP99) > mark {
		out = append(out, fmt.Sprintf("over %.0f%% of the bystanders' p99 may be scheduling delay within zkbench, which is part of all latencies", 100*latenessMark))
	}
	if float64(d.Health.LatenessP99) > mark {
		out = append(out, fmt.Sprintf("over %.0f%% of the bystanders' p99 is the delay with which zkbench sent their reads", 100*latenessMark))
	}
	return out
}

// shortOfCPU reports whether the machine was idle for less than 5 % of the time.
func shortOfCPU(d *results.Document) bool { return d.Health.MachineCPU > machineCPUMark }
