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

// The quantities that a capacity can be stated in.
const (
	ByRate    = "rate"    // operations per second that arrive
	ByClients = "clients" // clients that loop
)

// Objective is a condition that every measurement must meet, such as "response-p99 < 50ms".
type Objective struct{ claim.Claim }

// ParseObjective reads an objective: a metric, < or <= (for times, costs and the like) or > or >= (for rates), and a limit.
func ParseObjective(text string) (Objective, error) {
	if len(claim.Words(text)) != 3 {
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

// Check returns an error if a load by rate or by clients has no such metric, or if a larger load does not fail the objective.
func (o Objective) Check(by string) error {
	name, m, atLeast := o.Metric, metric.Named(o.Metric), strings.HasPrefix(o.Op, ">")
	switch {
	case by != ByRate && m.Part == metric.OpenLoad:
		return fmt.Errorf("%s is measured only in open loads, and so by rate: choose that, or another metric", name)
	case name == metric.Capacity:
		return errors.New("a capacity cannot be the objective of a capacity: choose a time, such as response-p99")
	case !m.HasDirection():
		return fmt.Errorf("%s does not show how well a variant does: choose a time, such as response-p99", name)
	case by == ByRate && (name == metric.OpsPerSecond || name == metric.AchievedPerSecond):
		return fmt.Errorf("%s grows with the load up to the capacity, so that small loads fail and large ones hold: "+
			"choose a time, such as response-p99", name)
	case m.MoreIsBetter() && !atLeast:
		return fmt.Errorf("more %s is better: choose > or >=", name)
	case !m.MoreIsBetter() && atLeast:
		return fmt.Errorf("less %s is better: choose < or <=", name)
	default:
		return nil
	}
}

// String returns the objective as [ParseObjective] reads it.
func (o Objective) String() string { return o.Statement() }

// Judge decides whether the objective holds in one measurement, and says why. A load beyond the capacity of its clients fails every
// objective, unless zkbench itself was saturated. During a confirmation or a refutation, the machine must not have changed its speed. This
// does not apply to a load beyond the capacity, which may itself raise the floor, nor to the embedded server.
func (o Objective) Judge(d *results.Document, p Purpose) (Outcome, string) {
	m, measured := d.Metrics[o.Metric]
	value := metric.Named(o.Metric).Format(m.Value)
	percentile, isPercentile := metric.PercentileOf(d, o.Metric)
	saturated, moved := doubts.Saturated(d), ""
	if (p == Confirm || p == Refute) && d.Floor != nil && d.Environment.Engine != results.Embedded {
		moved = doubts.Moved(d.Floor)
	}
	switch {
	case len(saturated) > 0:
		return Unclear, saturated[0]
	case d.BeyondCapacity():
		return Fails, "beyond the capacity"
	case len(d.Invalid) > 0:
		return Unclear, d.Invalid[0]
	case !measured:
		return Unclear, o.Metric + " was not measured"
	case moved != "":
		return Unclear, "the machine changed its speed: " + moved
	case !o.Holds(m.Value):
		return Fails, value
	case isPercentile && metric.Hides(d, percentile):
		return Fails, "clients starve: the longest waits are in no percentile"
	case isPercentile && percentile.Samples < metric.SamplesOf(percentile.Of):
		return Unclear, fmt.Sprintf("p%g of %d samples, and at least %d are necessary: lengthen --duration",
			percentile.Of, percentile.Samples, metric.SamplesOf(percentile.Of))
	default:
		return Holds, value
	}
}

// JudgeAll decides whether the objective holds in the repeats of a trial so far, and says why. The first repeat in which it
// does not hold decides. If it holds in all, the reason is the worst value.
func (o Objective) JudgeAll(repeats []*results.Document, p Purpose) (Outcome, string) {
	var values []float64
	for _, d := range repeats {
		if outcome, why := o.Judge(d, p); outcome != Holds {
			return outcome, why
		}
		values = append(values, d.Metrics[o.Metric].Value)
	}
	worst := slices.Max(values)
	if strings.HasPrefix(o.Op, ">") {
		worst = slices.Min(values)
	}
	return Holds, metric.Named(o.Metric).Format(worst)
}
