package scenarios

import (
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/faults"
)

// Record returns the scenario as documents keep it.
func (s Scenario) Record() results.Scenario {
	return results.Scenario{
		Name: s.Name, Question: s.Question, Mode: string(s.Mode), Size: s.Size, Operations: s.Operations,
		Duration: time.Duration(s.Duration), WarmUp: time.Duration(s.WarmUp), Hold: time.Duration(s.Hold),
		Think: time.Duration(s.Think), AtMost: time.Duration(s.AtMost), Repeats: s.Repeats, Seed: s.Seed, Heap: s.Heap, BystanderRate: s.BystanderRate,
		SessionTimeout: time.Duration(s.SessionTimeout), Roam: s.Roam,
		Rates: s.RatesText(), Stages: s.Stages, Arrivals: string(s.EffectiveArrivals()),
		ClientCounts: fmt.Sprint(s.Clients), Variants: strings.Join(s.Variants, ","), Broken: strings.Join(s.Broken, ","), Overview: s.Overview,
		Background: s.Background, Asks: s.asks, Expect: s.Expect,
		Faults: results.Map(s.Faults, faults.Fault.String),
	}
}

// metricsAsked returns the metrics of the scenario's overview and of its claims, each once and in this order.
func (s *Scenario) metricsAsked() []string {
	var asked []string
	if pair, err := results.ParsePair(s.Overview); err == nil {
		asked = pair.Metrics
	}
	for _, c := range s.Claims() {
		asked = append(asked, c.Metric)
	}
	return results.AppendNew(nil, asked...)
}
