package plots

import (
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
)

// costs draws what an operation costs: requests, writes, failed writes, notifications and spurious wakeups, and other counts that
// the scenario is about. Formulas are dashed.
func (s *set) costs() []Figure {
	metrics := []string{metric.RequestsPerOp, metric.WritesPerOp, metric.FailedWritesPerOp, metric.NotificationsPerOp, metric.HerdMax, metric.SpuriousWakeupsPerOp}
	metrics = list.AppendNew(metrics, s.asked(metric.KindCount, metric.KindSize, metric.KindBacklog)...)
	return s.metricFigure("costs", "What an operation costs", metrics)
}

// throughput draws operations per second, and other rates that the scenario is about. Lockstep has none: zkbench sets its pace.
func (s *set) throughput() []Figure {
	if s.docs[0].Lockstep() {
		return nil
	}
	metrics := []string{metric.OpsPerSecond}
	if s.docs[0].Rate > 0 {
		metrics[0] = metric.AchievedPerSecond
	}
	return s.metricFigure("throughput", "Throughput", list.AppendNew(metrics, s.asked(metric.KindRate)...))
}
