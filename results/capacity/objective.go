package capacity

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/metric"
)

// The loads that a capacity can be a number of.
const (
	ByRate    = "rate"    // operations per second that arrive
	ByClients = "clients" // clients that loop
)

// Objective is what must hold of every measurement, such as "response-p99 < 50ms".
type Objective struct{ claim claim.Claim }

// ParseObjective reads an objective: a metric, < or <= (for times, costs and the like) or > or >= (for rates), and a limit.
func ParseObjective(text string) (Objective, error) {
	if len(strings.Fields(text)) != 3 {
		return Objective{}, fmt.Errorf(`wants "METRIC < LIMIT", such as "response-p99 < 50ms", not %q`, text)
	}
	c, err := claim.ParseForEvery(text)
	if err == nil && c.Op == "==" {
		err = errors.New("wants < or >: a capacity is where a metric passes a limit")
	}
	if why := cmp.Or(c.Unfailing(), c.Unmeetable()); err == nil && why != "" {
		err = errors.New(why)
	}
	return Objective{c}, err
}

// Metric returns the metric that the objective is about.
func (o Objective) Metric() string { return o.claim.Metric }

// Check returns an error if the load that a capacity is a number of has no such metric, or if it is no objective that a larger load
// fails.
func (o Objective) Check(by string) error {
	name := o.Metric()
	m := metric.Named(name)
	moreIsBetter, atLeast := m.MoreIsBetter(), strings.HasPrefix(o.claim.Op, ">")
	switch {
	case by != ByRate && m.Part == metric.OpenLoad:
		return fmt.Errorf("%s is measured only in open loads, and so by rate: choose that, or another metric", name)
	case name == metric.Capacity:
		return errors.New("a capacity cannot be the objective of a capacity: choose a time, such as response-p99")
	case !m.HasDirection():
		return fmt.Errorf("%s does not show how well a variant does: choose a time, such as response-p99", name)
	case by == ByRate && (name == metric.OpsPerSecond || name == metric.AchievedPerSecond):
		return fmt.Errorf("%s grows with the load up to the capacity, so that small loads fail and large ones hold: choose a time, such as response-p99", name)
	case moreIsBetter && !atLeast:
		return fmt.Errorf("more %s is better: choose > or >=", name)
	case !moreIsBetter && atLeast:
		return fmt.Errorf("less %s is better: choose < or <=", name)
	default:
		return nil
	}
}

// String returns the objective as [ParseObjective] reads it.
func (o Objective) String() string { return o.claim.Statement() }

// Judge decides whether the objective holds in one measurement, and says why. A load beyond the capacity of its clients fails every
// objective, unless zkbench itself was saturated. Confirmations and refutations must be made on a machine that did not change its speed
// meanwhile. That is not asked of a load beyond the capacity, which may itself be why the floor is higher after it.
func (o Objective) Judge(d *results.Document, p Purpose) (Outcome, string) {
	m, measured := d.Metrics[o.claim.Metric]
	moved := ""
	if p == Confirm || p == Refute {
		moved = movedFloor(d)
	}
	switch saturated := doubts.Saturated(d); {
	case len(saturated) > 0:
		return Unclear, saturated[0]
	case d.BeyondCapacity():
		return Fails, "beyond the capacity"
	case len(d.Invalid) > 0:
		return Unclear, d.Invalid[0]
	case !measured:
		return Unclear, o.claim.Metric + " was not measured"
	case moved != "":
		return Unclear, "the machine changed its speed: " + moved
	}
	value := metric.Named(o.claim.Metric).Format(m.Value)
	if !o.claim.Holds(m.Value) {
		return Fails, value
	}
	if outcome, why := o.doubt(d); why != "" {
		return outcome, why
	}
	return Holds, value
}

// doubt returns why the objective does not count as held although the metric meets it; empty if it does.
func (o Objective) doubt(d *results.Document) (outcome Outcome, why string) {
	switch p, ok := metric.PercentileOf(d, o.Metric()); {
	case ok && metric.Hides(d, p):
		return Fails, "clients starve: the longest waits are in no percentile"
	case ok && p.Scarce():
		return Unclear, fmt.Sprintf("p%g of %d samples, and at least %d are necessary: lengthen --duration", p.Of, p.Samples, p.Least())
	default:
		return Holds, ""
	}
}

// JudgeAll decides whether the objective holds in the repeats of a trial so far, and says why. The first one in which it does not hold
// decides. If it holds in all, the reason is the worst value.
func (o Objective) JudgeAll(repeats []*results.Document, p Purpose) (Outcome, string) {
	for _, d := range repeats {
		if outcome, why := o.Judge(d, p); outcome != Holds {
			return outcome, why
		}
	}
	value := func(d *results.Document) float64 { return d.Metrics[o.Metric()].Value }
	byValue := func(a, b *results.Document) int { return cmp.Compare(value(a), value(b)) }
	worst := slices.MaxFunc(repeats, byValue)
	if strings.HasPrefix(o.claim.Op, ">") {
		worst = slices.MinFunc(repeats, byValue)
	}
	return Holds, metric.Named(o.Metric()).Format(value(worst))
}

// movedFloor says how the machine changed its speed during a measurement; empty if it did not, and on the embedded server.
func movedFloor(d *results.Document) string {
	if d.Floor == nil || d.Environment.Engine == results.Embedded {
		return ""
	}
	return doubts.Moved(d.Floor)
}
