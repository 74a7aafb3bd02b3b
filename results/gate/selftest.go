package gate

import (
	"bytes"
	"fmt"
	"maps"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/capacity"
	"github.com/zkbench/zkbench/results/outcome"
)

// SelfTestCase is evidence with a known verdict.
type SelfTestCase struct {
	Name   string
	Want   int // the exit code
	Report Report
}

// Caught reports whether the gate returned the exit code that it must.
func (c SelfTestCase) Caught() bool { return c.Report.Code == c.Want }

// SelfTest gives the gate evidence that it must reject and evidence that it must pass, in the same way as any evidence. A gate
// that cannot fail is worse than none.
func SelfTest(now time.Time) []SelfTestCase {
	rules := Rules{Paired: DefaultPairRules(now)}
	var err error
	if rules.Baselines, err = BaselinesOf([]*results.Document{syntheticLockstep(1)}); err != nil {
		return []SelfTestCase{{Name: "a baseline", Report: NewReport([]Check{{Rule: "baseline", Source: BuiltIn, Outcome: outcome.Error, Why: err.Error()}}, nil)}}
	}
	silent, untrue := syntheticLockstep(1), syntheticLockstep(1)
	silent.Health.Reconnects = 1
	untrue.Metrics[results.NotificationsPerOp] = results.Metric{Value: 0.5, Unit: "per op"}
	slower, same := syntheticPairs(1.5, rules.Paired), syntheticPairs(1, rules.Paired)
	slacker := syntheticCapacity(400)
	slacker.Objective = "response-p99 < 500ms"
	atLeast300 := Rules{Assertions: []Assertion{syntheticLimit(300)}}
	return []SelfTestCase{
		{"a count regression", 3, Evaluate(asRead(syntheticLockstep(2)), rules)},
		{"a slowdown of 1.5 times", 3, Evaluate(Evidence{Pairs: &slower}, Rules{Paired: rules.Paired})},
		{"the same on both sides", 0, Evaluate(Evidence{Pairs: &same}, Rules{Paired: rules.Paired})},
		{"an empty input", 5, Evaluate(Evidence{}, Rules{})},
		{"a metric that one repeat lacks", 5, Evaluate(lackingPhase(), Rules{})},
		{"an improvement", 0, Evaluate(asRead(syntheticLockstep(0)), rules)},
		{"a metric unlike its counts", 5, Evaluate(asRead(untrue), rules)},
		{"a reconnect kept quiet", 5, Evaluate(asRead(silent), rules)},
		{"a capacity above its limit", 0, Evaluate(asReadCapacity(syntheticCapacity(400)), atLeast300)},
		{"a capacity below its limit", 3, Evaluate(asReadCapacity(syntheticCapacity(200)), atLeast300)},
		{"a capacity for another objective", 5, Evaluate(asReadCapacity(slacker), atLeast300)},
		{"a capacity that was edited", 5, Evaluate(editedCapacity(syntheticCapacity(200)), atLeast300)},
	}
}

// lackingPhase returns two repeats, of which one has no sample of a phase.
func lackingPhase() Evidence {
	whole, without := syntheticClosed(1), syntheticClosed(1)
	whole.Scenario.Repeats, without.Scenario.Repeats, without.Repeat = 2, 2, 2
	maps.DeleteFunc(without.Metrics, func(name string, _ results.Metric) bool {
		return results.MetricNamed(name).Phase == without.Phases[0]
	})
	return Evidence{Documents: []*results.Document{whole, without}}
}

// asReadCapacity returns the report of a search as evidence. Like a file, it passes through its text.
func asReadCapacity(r capacity.Report) Evidence {
	text, err := results.Seal(r)
	return readCapacity(text, err)
}

// editedCapacity returns the report as evidence after its capacity was doubled in its text.
func editedCapacity(r capacity.Report) Evidence {
	text, err := results.Seal(r)
	const line = "\"capacity\": %d,"
	n := r.Variants[0].Capacity
	return readCapacity(bytes.Replace(text, fmt.Appendf(nil, line, n), fmt.Appendf(nil, line, 2*n), 1), err)
}

func readCapacity(text []byte, err error) Evidence {
	var r capacity.Report
	if err == nil {
		r, err = capacity.Decode(text)
	}
	if err != nil {
		return Evidence{Unreadable: []error{fmt.Errorf("the self-test case %w", err)}}
	}
	return Evidence{Capacities: []capacity.Report{r}}
}

// asRead returns a document as evidence. Like a file, it passes through its text.
func asRead(d *results.Document) Evidence {
	text, err := results.Seal(d)
	if err == nil {
		d, err = results.Decode(text)
	}
	if err != nil {
		return Evidence{Unreadable: []error{fmt.Errorf("the self-test case %w", err)}}
	}
	return Evidence{Documents: []*results.Document{d}}
}
