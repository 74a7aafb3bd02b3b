package gate

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/table"
)

// Finding is a sentence about checks that failed for one reason, such as one request more than formula and baseline have.
type Finding struct {
	Outcome outcome.Outcome `json:"outcome"`
	Text    string          `json:"text"`
}

// findings merges the failed checks of the counts of one measurement, and findings that differ only in their clients, certain ones first.
func findings(checks []Check) []Finding {
	with := func(c Check, text string) Check {
		return Check{Scenario: c.Scenario, Recipe: c.Recipe, Variant: c.Variant, Clients: c.Clients, Rate: c.Rate, Outcome: c.Outcome, Why: text}
	}
	failed := list.GroupBy(list.Where(checks, Check.failed), func(c Check) Check {
		if c.ofCount() {
			return with(c, "")
		}
		return with(c, sentence(c))
	})
	sentences := list.Map(failed, func(same []Check) Check { return with(same[0], sentence(same...)) })
	byText := list.GroupBy(sentences, func(c Check) Check { c.Clients = 0; return c })
	all := list.Map(byText, func(same []Check) Finding {
		text := strings.TrimPrefix(subject(same)+": "+same[0].Why, ": ")
		return Finding{same[0].Outcome, strings.Join(strings.Fields(text), " ")} // in one line
	})
	isDoubt := func(f Finding) bool { return f.Outcome != outcome.Violation && f.Outcome != outcome.Regression }
	return append(list.Where(all, func(f Finding) bool { return !isDoubt(f) }), list.Where(all, isDoubt)...)
}

// subject says what checks are about that differ in the number of clients at most, such as "lock-drain, lock/znode, 2, 5 clients".
func subject(same []Check) string {
	c, parts := same[0], []string{same[0].Scenario}
	if c.Variant != "" {
		parts = append(parts, path.Join(c.Recipe, c.Variant))
	}
	if c.Clients > 0 {
		clients := list.Distinct(list.Map(same, func(c Check) int { return c.Clients }))
		parts = append(parts, strings.Join(list.Map(clients, strconv.Itoa), ", ")+" "+table.Plural(clients[len(clients)-1], "client"))
	}
	if c.Rate > 0 {
		parts = append(parts, c.Rate.Of(""))
	}
	return strings.TrimPrefix(strings.Join(parts, ", "), ", ")
}

// sentence says why a check failed, or several that compare the counts of one measurement.
func sentence(same ...Check) string {
	c := same[0]
	name, isRatio := strings.CutSuffix(c.Metric, ratioSuffix)
	switch {
	case c.ofCount():
		return differences(same)
	case !c.isClaim() && c.Metric == "":
		return strings.Repeat(ofBase, strings.Count(c.Rule, ofBase)) + c.Why
	case isRatio && c.Outcome == outcome.Regression:
		return fmt.Sprintf("%s: %.3g times worse than the base, over the limit of %.3g (95 %% interval: %.3g to %.3g)",
			metric.Named(name).Title, *c.Value, *c.Limit, c.Confirm.Low, c.Confirm.High)
	case !c.isClaim():
		return metric.Named(name).Title + ": " + cmp.Or(c.plain, c.Why)
	case c.Outcome == outcome.Regression:
		return strings.TrimPrefix(c.Rule, c.Variant+" ") + " does not hold: " + c.Why
	default:
		return strings.TrimPrefix(c.Rule, c.Variant+" ") + " is not decided: " + c.Why
	}
}

// ofCount reports whether a check compares a count with a formula, a baseline or the base.
func (c Check) ofCount() bool {
	return c.Value != nil && c.Limit != nil && metric.Named(c.Metric).Exact && !c.isClaim()
}

func (c Check) isClaim() bool { return c.Source == FromScenario || c.Source == FromFile }

// differences says how the counts of one measurement differ. Requests come first, with the operations that explain them.
func differences(same []Check) string {
	isRequests := func(c Check) bool { return c.Metric == metric.RequestsPerOp }
	all := slices.Concat(list.Where(same, isRequests), same)
	var texts, operations []string
	for _, c := range all {
		if op, ok := strings.CutSuffix(c.Metric, "-"+metric.RequestsPerOp); ok && isRequests(all[0]) {
			change, which := float64(*c.Value-*c.Limit), "more"
			if change < 0 {
				which = "fewer"
			}
			operations = list.AppendNew(operations, fmt.Sprintf("%.6g %s %s", math.Abs(change), op, which))
		} else {
			texts = list.AppendNew(texts, c.difference())
		}
	}
	if len(operations) > 0 {
		texts[0] += " (" + strings.Join(operations, ", ") + ")"
	}
	text := strings.Join(texts, "; ")
	switch fewer := !slices.ContainsFunc(all, func(c Check) bool { return *c.Value > *c.Limit }); {
	case all[0].Outcome != outcome.Regression:
		values, why, _ := strings.Cut(all[0].Why, "; ")
		return text + ", but this is not certain: " + cmp.Or(why, values)
	case fewer && all[0].Source != FromPairs:
		return text + "; update formula and baseline if this is meant"
	default:
		return text
	}
}

func (c Check) difference() string {
	what := metric.Named(c.Metric).Title
	switch {
	case c.bound:
		return fmt.Sprintf("%s: %.4g, over the bound of %.4g", what, *c.Value, *c.Limit)
	case strings.HasSuffix(c.Metric, "/op"):
		return fmt.Sprintf("%.6g → %.6g %s", *c.Limit, *c.Value, what)
	default:
		return fmt.Sprintf("%s %.6g → %.6g", what, *c.Limit, *c.Value)
	}
}
