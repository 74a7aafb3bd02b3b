package gate

import (
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
	without := planted(1)
	delete(without.Metrics, results.NotificationsPerOp)
	slower, same := plantedPairs(1.5, rules.Paired), plantedPairs(1, rules.Paired)
	return []Plant{
		{"a count regression", 3, Judge(Evidence{Documents: []*results.Document{planted(2)}}, rules)},
		{"a slowdown of 1.5 times", 3, Judge(Evidence{Pairs: &slower}, Rules{Paired: rules.Paired})},
		{"the same on both sides", 0, Judge(Evidence{Pairs: &same}, Rules{Paired: rules.Paired})},
		{"an empty input", 5, Judge(Evidence{}, Rules{})},
		{"a missing metric", 5, Judge(Evidence{Documents: []*results.Document{without}}, rules)},
		{"an improvement", 0, Judge(Evidence{Documents: []*results.Document{planted(0)}}, rules)},
	}
}
