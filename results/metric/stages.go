package metric

import (
	"github.com/zkbench/zkbench/results"
)

// StagePhase returns the phase whose durations stages have.
func StagePhase(d *results.Document) string {
	if d.Scenario.Mode == results.OpenMode {
		return results.ResponsePhase
	}
	return d.Phases[0]
}

// OfStage returns the metrics of one stage, by the names that they have for a whole window.
func OfStage(d *results.Document, s results.Stage) (map[string]results.Metric, error) {
	out := values{}
	out.set(HerdMax, float64(s.LargestHerd))
	if length := (s.End - s.Start).Seconds(); length > 0 {
		out.set(OpsPerSecond, float64(s.Operations)/length)
	}
	if s.Operations > 0 {
		out.set(NotificationsPerOp, float64(s.Notifications)/float64(s.Operations))
	}
	if d.Scenario.Mode == results.OpenMode {
		out.set(BacklogMax, float64(s.BacklogMax))
	}
	h, err := s.Latency.Decode()
	if err != nil || h.TotalCount() == 0 || BacksUp(d, s) {
		return out, err
	}
	for _, p := range []float64{50, 99} {
		out.set(Quantile(StagePhase(d), p), float64(h.ValueAtPercentile(p)))
	}
	return out, nil
}

// BacksUp reports whether arrivals of a stage may be among those that clients could not serve, so that it has no response times.
func BacksUp(d *results.Document, s results.Stage) bool {
	return d.BeyondCapacity() && s.End > d.Open.LastEmpty
}
