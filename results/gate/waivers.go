package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/strict"
)

// Waiver accepts one regression, up to a limit and until a day.
type Waiver struct {
	Metric   string   `json:"metric"`
	Rule     string   `json:"rule,omitempty"` // empty means any
	Scenario string   `json:"scenario"`
	Variant  string   `json:"variant"`
	Clients  int      `json:"clients,omitempty"` // 0 means any number
	Ceiling  *float64 `json:"ceiling,omitempty"` // the largest accepted value, where more is worse
	Floor    *float64 `json:"floor,omitempty"`   // the smallest accepted value, where less is worse; a waiver has one of the two
	Reason   string   `json:"reason"`
	Link     string   `json:"link"`
	Expires  string   `json:"expires"` // the last day of the waiver, in UTC

	note string // about former names in its file
}

// ParseWaivers reads a waivers file; file is its name in messages. Expired waivers are errors so that they get removed.
func ParseWaivers(file string, text []byte, names Names, now time.Time) ([]Waiver, error) {
	var waivers []Waiver
	var old results.OldNames
	err := strict.ReadList(file, text, func() ([]strict.Field, func() []string) {
		var w Waiver
		var clients *int
		var rule *string
		return []strict.Field{
				{Name: "metric", Wants: "a metric; for pairs, followed by the word ratio", Value: &w.Metric, Required: true},
				{Name: "rule", Wants: "the rule of a check, as --json has it", Value: &rule},
				{Name: "scenario", Wants: "the name of a scenario", Value: &w.Scenario, Required: true},
				{Name: "variant", Wants: "the name of a variant", Value: &w.Variant, Required: true},
				{Name: "clients", Wants: "a whole number of at least 1", Value: &clients},
				{Name: "ceiling", Wants: "the largest value to accept", Value: &w.Ceiling},
				{Name: "floor", Wants: "the smallest value to accept, where less is worse", Value: &w.Floor},
				{Name: "reason", Wants: "why the regression is accepted", Value: &w.Reason, Required: true},
				{Name: "link", Wants: "where that is discussed", Value: &w.Link, Required: true},
				{Name: "expires", Wants: "its last day, such as 2026-12-31", Value: &w.Expires, Required: true},
			}, func() []string {
				problems := setClients(&w.Clients, clients)
				if rule != nil {
					w.Rule = old.MetricsIn(*rule)
					problems = append(problems, emptyFields([2]string{"rule", w.Rule})...)
				}
				w.Metric = old.MetricsIn(w.Metric)
				waivers = append(waivers, w)
				problems = append(problems, w.problems(now)...)
				return append(problems, names.unknown(w.Scenario, strings.TrimSuffix(w.Metric, ratioSuffix), w.Variant)...)
			}
	})
	for i := range waivers {
		waivers[i].note = old.Line(file)
	}
	return waivers, err
}

func (w Waiver) problems(now time.Time) []string {
	problems := emptyFields([2]string{"link", w.Link}, [2]string{"metric", w.Metric}, [2]string{"reason", w.Reason}, [2]string{"scenario", w.Scenario}, [2]string{"variant", w.Variant})
	if (w.Ceiling == nil) == (w.Floor == nil) {
		problems = append(problems, "wants either a ceiling, where more is worse, or a floor, where less is")
	} else if limit := w.limit(); math.IsNaN(limit) || math.IsInf(limit, 0) {
		problems = append(problems, "ceiling, floor: wants a finite number")
	} else if w.Ceiling != nil && results.ExceedsAll(w.Metric, limit) || w.Floor != nil && limit <= 0 {
		problems = append(problems, fmt.Sprintf("ceiling, floor: no value is worse than %g, so that every regression would be accepted", limit))
	}
	last, err := time.Parse(time.DateOnly, w.Expires)
	switch {
	case err != nil:
		problems = append(problems, fmt.Sprintf("expires: wants a day such as 2026-12-31, not %q", w.Expires))
	case !now.UTC().Before(last.AddDate(0, 0, 1)):
		problems = append(problems, fmt.Sprintf("expired on %s: fix the regression (%s), or set another day", w.Expires, w.Link))
	}
	return problems
}

// emptyFields returns a mistake for each pair of a name and a value whose value is empty.
func emptyFields(fields ...[2]string) []string {
	var problems []string
	for _, f := range fields {
		if strings.TrimSpace(f[1]) == "" {
			problems = append(problems, f[0]+": is empty")
		}
	}
	return problems
}

// limit returns the ceiling or the floor, whichever the waiver has.
func (w Waiver) limit() float64 {
	if w.Ceiling != nil {
		return *w.Ceiling
	}
	return *w.Floor
}

// waive applies waivers to the regressions that they cover, and returns the waivers that cover none.
func waive(checks []Check, waivers []Waiver) []Waiver {
	return slices.DeleteFunc(slices.Clone(waivers), func(w Waiver) bool {
		used := false
		for i := range checks {
			if w.covers(checks[i]) {
				used = true
				w.apply(&checks[i])
			}
		}
		return used
	})
}

// unused is the note about a waiver that covers no regression.
func (w Waiver) unused() string {
	return fmt.Sprintf("the waiver for %s of %s/%s matches no regression: remove it from the file", w.Metric, w.Scenario, w.Variant)
}

func (w Waiver) covers(c Check) bool {
	return c.Outcome == outcome.Regression && c.Value != nil && c.Metric == w.Metric && c.Scenario == w.Scenario && c.Variant == w.Variant &&
		(w.Clients == 0 || w.Clients == c.Clients) && (w.Rule == "" || w.Rule == c.Rule) && c.lessIsWorse == (w.Floor != nil)
}

// apply waives a check, unless its value is beyond the limit.
func (w Waiver) apply(c *Check) {
	c.Waiver = &w
	value := float64(*c.Value)
	if value > w.limit() && !c.lessIsWorse || value < w.limit() && c.lessIsWorse {
		c.Why += fmt.Sprintf("; the waiver ends at %.6g", w.limit())
		return
	}
	c.Outcome = outcome.Waived
	c.Why += fmt.Sprintf("; waived until %s: %s (%s)", w.Expires, w.Reason, w.Link)
}
