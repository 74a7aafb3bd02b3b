package plots

import "github.com/zkbench/zkbench/results"

// costs draws what an operation costs: requests, writes, failed writes, notifications and spurious wakeups, and other counts that
// the scenario is about. Formulas are dashed.
func (s *set) costs() []Figure {
	metrics := []string{results.RequestsPerOp, results.WritesPerOp, results.FailedWritesPerOp, results.NotificationsPerOp, results.HerdMax, results.SpuriousWakeupsPerOp}
	metrics = results.AppendNew(metrics, s.asked(results.KindCount, results.KindSize, results.KindBacklog)...)
	return s.metricFigure("costs", "What an operation costs", metrics)
}

// throughput draws operations per second, and other rates that the scenario is about. Lockstep has none: zkbench sets its pace.
func (s *set) throughput() []Figure {
	if s.docs[0].Window.Lockstep {
		return nil
	}
	metrics := []string{results.OpsPerSecond}
	if s.docs[0].Rate > 0 {
		metrics[0] = results.AchievedPerSecond
	}
	return s.metricFigure("throughput", "Throughput", results.AppendNew(metrics, s.asked(results.KindRate)...))
}
