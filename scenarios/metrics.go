package scenarios

import (
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/variants"
)

// SharesOf returns the phases of a recipe that are counted per sample of another phase.
func SharesOf(recipe variants.Recipe) []results.Share {
	shares := []results.Share{}
	for _, p := range recipe.Phases {
		if p.Of != "" {
			shares = append(shares, results.Share{Phase: p.Name, Of: p.Of})
		}
	}
	return shares
}

// MetricNames returns every metric that a measurement of a recipe can have.
func MetricNames(recipe variants.Recipe) []string {
	losses := list.Map(recipe.Losses, func(loss variants.Loss) string { return string(loss) })
	return metric.Names(recipe.PhasesWhere(func(variants.Phase) bool { return true }), SharesOf(recipe), losses)
}

// CountsOf returns the counts by the names of operations. It leaves out the notifications, which the recorder counts because
// it also needs their times.
func CountsOf(c wire.Counts) results.Counts {
	out := results.Counts{
		Requests:     map[string]int64{},
		Failed:       map[string]int64{},
		BytesOut:     c.BytesOut,
		BytesIn:      c.BytesIn,
		Housekeeping: c.Housekeeping,
	}
	out.Writes, out.FailedWrites = c.Writes()
	for op, n := range c.Requests {
		if n > 0 {
			out.Requests[wire.Opcode(op).String()] += n
		}
		if failed := c.Failed[op]; failed > 0 {
			out.Failed[wire.Opcode(op).String()] += failed
		}
	}
	return out
}
