package scenarios

import (
	"slices"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/variants"
)

// SharesOf returns the phases of a recipe that are counted per sample of another phase.
func SharesOf(recipe variants.Recipe) []results.Share {
	parts := list.Where(recipe.Phases, func(p variants.Phase) bool { return p.Of != "" })
	shareOf := func(p variants.Phase) results.Share { return results.Share{Phase: p.Name, Of: p.Of} }
	return append([]results.Share{}, list.Map(parts, shareOf)...) // none are an empty list
}

func addCount(counts map[string]int64, op int, n int64) {
	if n > 0 {
		counts[wire.Opcode(op).String()] += n
	}
}

// MetricNames returns every metric that a measurement of a recipe can have.
func MetricNames(recipe variants.Recipe) []string {
	phases := recipe.PhasesWhere(func(variants.Phase) bool { return true })
	names := metric.Names(phases, SharesOf(recipe), list.Texts(recipe.Losses))
	operations := append(wire.OpcodeNames(), wire.OpCreateSession.String(), wire.OpCloseSession.String())
	watching := []wire.Opcode{wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpAddWatch}
	return slices.Concat(names, list.Map(operations, metric.RequestsOf),
		list.Map(watching, func(op wire.Opcode) string { return metric.WatchesOf(op.String()) }))
}

// Metrics returns the metrics that claims about the scenario may name, without single operations of ZooKeeper, p90 and maxima.
func (s *Scenario) Metrics(recipe variants.Recipe) []string {
	selected := list.Map(s.Selected(recipe), func(v variants.Variant) string { return v.Name })
	return list.Where(MetricNames(recipe), func(name string) bool {
		var p problems
		s.validateNames(&p, "", recipe, []string{name}, selected...)
		m := metric.Named(name)
		return len(p) == 0 && m.Operation == "" && m.Percentile != 90 && m.Percentile != 100 && (s.Heap || name != metric.HeapPerWatch)
	})
}

// CountsOf returns the counts by the names of operations, without the notifications, which the recorder counts with their times.
func CountsOf(c wire.Counts) results.Counts {
	out := results.Counts{
		Requests:     map[string]int64{},
		Failed:       map[string]int64{},
		Watches:      map[string]int64{},
		BytesOut:     c.BytesOut,
		BytesIn:      c.BytesIn,
		Housekeeping: c.Housekeeping,
	}
	out.Writes, out.FailedWrites = c.Writes()
	for op := range c.Requests {
		addCount(out.Requests, op, c.Requests[op])
		addCount(out.Failed, op, c.Failed[op])
		addCount(out.Watches, op, c.Watches[op])
	}
	return out
}

// EnvironmentOf adds the description of the servers, which lacks their addresses, to the environment that describes the machine.
func EnvironmentOf(e results.Environment, servers ensemble.Description) results.Environment {
	e.Engine, e.Image, e.TxnLog, e.ServerConfig = string(servers.Engine), servers.Image, servers.TxnLog, servers.Config
	e.ZooKeeper, e.TLS, e.Auth = servers.Version, servers.TLS, servers.Auth
	if servers.Product != ensemble.ZooKeeper { // left out, as in documents of a zkbench that knew no other product
		e.Product = servers.Product
	}
	return e
}
