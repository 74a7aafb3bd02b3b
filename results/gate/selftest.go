package gate

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/results"
)

// Plant is evidence of which it is known what a gate has to say.
type Plant struct {
	Name   string
	Want   int // the exit code
	Report Report
}

// Caught tells whether the gate said what it has to.
func (p Plant) Caught() bool { return p.Report.Code == p.Want }

// SelfTest shows the gate what it must catch and what it must let through, by the same way as any evidence. A gate that
// cannot fail is worse than none.
func SelfTest(now time.Time) []Plant {
	sound := planted(1)
	rules := Rules{Paired: DefaultPairRules(now)}
	var err error
	if rules.Baselines, err = BaselinesOf([]*results.Document{sound}); err != nil {
		return []Plant{{Name: "a baseline", Report: NewReport([]Check{{Rule: "baseline", Source: BuiltIn, Outcome: Error, Why: err.Error()}}, nil)}}
	}
	without, silent, untrue := planted(1), planted(1), planted(1)
	delete(without.Metrics, results.NotificationsPerOp)
	silent.Health.Reconnects = 1
	untrue.Metrics[results.NotificationsPerOp] = results.Metric{Value: 0.5, Unit: "per op"}
	slower, same := plantedPairs(1.5, rules.Paired), plantedPairs(1, rules.Paired)
	return []Plant{
		{"a count regression", 3, Judge(asRead(planted(2)), rules)},
		{"a slowdown of 1.5 times", 3, Judge(Evidence{Pairs: &slower}, Rules{Paired: rules.Paired})},
		{"the same on both sides", 0, Judge(Evidence{Pairs: &same}, Rules{Paired: rules.Paired})},
		{"an empty input", 5, Judge(Evidence{}, Rules{})},
		{"a missing metric", 5, Judge(asRead(without), rules)},
		{"an improvement", 0, Judge(asRead(planted(0)), rules)},
		{"a metric unlike its counts", 5, Judge(asRead(untrue), rules)},
		{"a reconnect kept quiet", 5, Judge(asRead(silent), rules)},
	}
}

// asRead returns a document as evidence, by the way through JSON and validation that a file takes.
func asRead(d *results.Document) Evidence {
	var e Evidence
	text, err := json.Marshal(d)
	if err == nil {
		d, err = results.Decode(text)
	}
	if err != nil {
		e.Unreadable = []error{fmt.Errorf("the plant %w", err)}
		return e
	}
	e.Documents = []*results.Document{d}
	return e
}
