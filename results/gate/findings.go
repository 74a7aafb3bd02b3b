package gate

import (
	"fmt"
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

// findings merges the failed checks of the counts of one measurement, and findings that differ only in the number of clients.
func findings(checks []Check) []Finding {
	subject := func(c Check, text string) Check {
		if c.isClaim() { // its text names the variant
			c.Recipe, c.Variant = "", ""
		}
		text = strings.Join(strings.Fields(text), " ") // in one line
		return Check{Scenario: c.Scenario, Recipe: c.Recipe, Variant: c.Variant, Clients: c.Clients, Rate: c.Rate, Outcome: c.Outcome, Why: text}
	}
	bySubject := list.GroupBy(list.Where(checks, Check.failed), func(c Check) Check {
		if c.compared() {
			return subject(c, "")
		}
		return subject(c, c.sentence())
	})
	sentences := list.Map(bySubject, func(same []Check) Check {
		if same[0].compared() {
			return subject(same[0], differences(same))
		}
		return subject(same[0], same[0].sentence())
	})
	byText := list.GroupBy(sentences, func(c Check) Check { c.Clients = 0; return c })
	return list.Map(byText, func(same []Check) Finding {
		return Finding{same[0].Outcome, strings.TrimPrefix(place(same)+": "+same[0].Why, ": ")}
	})
}

// place names what a finding is about, such as "lock-drain, lock/znode, 2, 5 clients".
func place(same []Check) string {
	c, parts := same[0], []string{same[0].Scenario}
	if c.Variant != "" {
		parts = append(parts, path.Join(c.Recipe, c.Variant))
	}
	if c.Clients > 0 {
		clients := list.Distinct(list.Map(same, func(c Check) int { return c.Clients }))
		parts = append(parts, strings.Join(list.Map(clients, strconv.Itoa), ", ")+" "+table.Plural(clients[len(clients)-1], "client"))
	}
	if c.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%d/s", c.Rate))
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// sentence says why a check failed that does not compare counts.
func (c Check) sentence() string {
	name, isRatio := strings.CutSuffix(c.Metric, ratioSuffix)
	switch {
	case c.isClaim():
		verb := "is not decided"
		if c.Outcome == outcome.Regression {
			verb = "does not hold"
		}
		return fmt.Sprintf("%s %s: %s", c.Rule, verb, c.Why)
	case isRatio && c.Outcome == outcome.Regression:
		return fmt.Sprintf("%s: %.3g times worse than the base, over the limit of %.3g (95 %% interval: %.3g to %.3g)",
			metric.Named(name).Title, *c.Value, *c.Limit, c.Confirm.Low, c.Confirm.High)
	case c.Metric != "":
		return metric.Named(name).Title + ": " + c.Why
	case strings.HasPrefix(c.Rule, ofBase):
		return ofBase + c.Why
	default:
		return c.Why
	}
}

// compared reports whether a check compares a count with a formula, a baseline or the base.
func (c Check) compared() bool {
	return c.Value != nil && c.Limit != nil && metric.Named(c.Metric).Exact && slices.Contains([]Source{BuiltIn, FromBaseline, FromPairs}, c.Source)
}

// requestsOf is the end of the names of metrics such as exists-requests/op.
const requestsOf = "-" + metric.RequestsPerOp

// differences says how the counts of one measurement differ. Requests come first, with the operations that explain them.
func differences(same []Check) string {
	isRequests := func(c Check) bool { return c.Metric == metric.RequestsPerOp }
	explained := slices.ContainsFunc(same, isRequests)
	all := slices.Concat(list.Where(same, isRequests), same)
	var texts, operations []string
	for _, c := range all {
		if op, ok := strings.CutSuffix(c.Metric, requestsOf); ok && explained {
			operations = list.AppendNew(operations, more(float64(*c.Value-*c.Limit), op))
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
		text += ", which decides nothing: " + all[0].Why
	case fewer && all[0].Source != FromPairs:
		text += "; update formula and baseline if this is meant"
	}
	return text
}

func (c Check) difference() string {
	limit, value := distinctly(float64(*c.Limit), float64(*c.Value))
	what := metric.Named(c.Metric).Title
	switch {
	case strings.HasPrefix(c.Rule, "<="):
		return fmt.Sprintf("%s: %s, over the bound of %s", what, value, limit)
	case strings.HasSuffix(c.Metric, "/op"):
		return fmt.Sprintf("%s → %s %s", limit, value, what)
	default:
		return fmt.Sprintf("%s %s → %s", what, limit, value)
	}
}

func more(n float64, of string) string {
	if n < 0 {
		n, of = -n, of+" fewer"
	} else {
		of += " more"
	}
	count, _ := distinctly(n, 0)
	return count + " " + of
}

// distinctly formats two numbers with as many decimals as it takes to tell them apart, and at most two if these suffice.
func distinctly(a, b float64) (first, second string) {
	for decimals := 2; decimals <= 9 && (first == second || decimals == 2); decimals++ {
		format := func(v float64) string {
			text := strconv.FormatFloat(v, 'f', decimals, 64)
			return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
		}
		first, second = format(a), format(b)
	}
	return first, second
}
