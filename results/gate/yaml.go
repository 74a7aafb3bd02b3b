package gate

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results"
)

// field ties a name in a file to where its value goes, and says what it wants.
type field struct {
	name     string
	wants    string
	value    any // a pointer
	required bool
}

// mistake is something wrong in a line of a file.
type mistake struct {
	line int
	text string
}

// readList reads a file that is a list of mappings. item returns the fields of one more element, and what to check when
// they have been read. Every mistake is reported at once, with its line: whoever mends one wants to know the next.
func readList(file string, text []byte, item func() ([]field, func() []string)) error {
	var document yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %s", file, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: wants one document: what follows the first `---` or `...` would be ignored", file)
	}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.SequenceNode {
		return fmt.Errorf("%s: wants a list, each element of which begins with `- `", file)
	}
	var mistakes []mistake
	for _, node := range document.Content[0].Content {
		fields, check := item()
		found := readMapping(node, fields)
		if len(found) == 0 {
			for _, text := range check() {
				found = append(found, mistake{node.Line, text})
			}
		}
		mistakes = append(mistakes, found...)
	}
	slices.SortStableFunc(mistakes, func(a, b mistake) int { return cmp.Compare(a.line, b.line) })
	var errs []error
	for _, m := range mistakes {
		errs = append(errs, fmt.Errorf("%s:%d: %s", file, m.line, m.text))
	}
	return errors.Join(errs...)
}

func readMapping(node *yaml.Node, fields []field) []mistake {
	if node.Kind != yaml.MappingNode {
		return []mistake{{node.Line, "wants `field: value` lines"}}
	}
	var mistakes []mistake
	given := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Value })
		switch {
		case at < 0:
			mistakes = append(mistakes, mistake{key.Line, fmt.Sprintf("there is no field %q; %s", key.Value, nearest(key.Value, fields))})
			continue
		case given[key.Value]:
			mistakes = append(mistakes, mistake{key.Line, key.Value + ": is given twice"})
		case value.Decode(fields[at].value) != nil || value.Tag == "!!null":
			mistakes = append(mistakes, mistake{key.Line, fmt.Sprintf("%s: wants %s", key.Value, fields[at].wants)})
		}
		given[key.Value] = true
	}
	for _, f := range fields {
		if f.required && !given[f.name] {
			mistakes = append(mistakes, mistake{node.Line, fmt.Sprintf("%s is missing: %s", f.name, f.wants)})
		}
	}
	return mistakes
}

func nearest(name string, fields []field) string {
	best := slices.MinFunc(fields, func(a, b field) int {
		return levenshtein.ComputeDistance(name, a.name) - levenshtein.ComputeDistance(name, b.name)
	})
	return fmt.Sprintf("did you mean %q?", best.name)
}

// ParseRules reads a rules file; file is its name in error messages. A check without a variant is about every one.
func ParseRules(file string, text []byte) ([]Claim, error) {
	var claims []Claim
	err := readList(file, text, func() ([]field, func() []string) {
		c, check := Claim{Source: FromFile}, ""
		var clients *int
		return []field{
				{"scenario", "the name of a scenario, or a pattern such as lock-*", &c.Scenario, true},
				{"check", "a claim, such as predecessor-watch acquire-p99 < 250ms", &check, true},
				{"clients", "a whole number of at least 1", &clients, false},
				{"tolerance", "a share of the limit, such as 0.05", &c.Tolerance, false},
			}, func() []string {
				problems := append(c.read(check), readClients(clients, &c.Clients)...)
				claims = append(claims, c)
				return problems
			}
	})
	if err == nil && len(claims) == 0 {
		err = fmt.Errorf("%s: holds no rule", file)
	}
	return claims, err
}

// readClients takes over a number of clients that was given. Zero is not the same as none: it may be a variable that was unset.
func readClients(given, into *int) []string {
	switch {
	case given == nil:
		return nil
	case *given < 1:
		return []string{fmt.Sprintf("clients: wants at least 1, not %d", *given)}
	}
	*into = *given
	return nil
}

// read parses the claim, and returns what is wrong with the whole rule.
func (c *Claim) read(check string) []string {
	var problems []string
	if n := len(strings.Fields(check)); n == 3 || n == 5 {
		check = Every + " " + check
	}
	var err error
	if c.Claim, err = results.ParseClaim(check); err != nil {
		problems = append(problems, "check: "+err.Error())
	}
	if err == nil {
		problems = append(problems, c.alwaysTrue()...)
	}
	if _, err := path.Match(c.Scenario, ""); err != nil || c.Scenario == "" {
		problems = append(problems, fmt.Sprintf("scenario: %q is no pattern", c.Scenario))
	}
	if !(c.Tolerance >= 0 && c.Tolerance < 1) {
		problems = append(problems, fmt.Sprintf("tolerance: wants a share from 0 to below 1, not %g", c.Tolerance))
	}
	if c.Tolerance > 0 && c.IsTime() {
		problems = append(problems, "tolerance: is for counts; of a time, choose the limit")
	}
	return problems
}

// alwaysTrue returns why the claim could not fail.
func (c *Claim) alwaysTrue() []string {
	switch {
	case c.Of == c.Variant:
		return []string{fmt.Sprintf("check: %s is compared with itself", c.Of)}
	case c.Of == "" && (c.Op == ">=" && c.Value <= 0 || c.Op == ">" && c.Value < 0):
		return []string{fmt.Sprintf("check: no metric is below 0, so that %s %g is always true", c.Op, c.Value)}
	default:
		return nil
	}
}

// Waiver lets one regression through, up to a limit and until a day, because somebody has taken the responsibility.
type Waiver struct {
	Metric   string   `json:"metric"`
	Rule     string   `json:"rule,omitempty"` // empty means any
	Scenario string   `json:"scenario"`
	Variant  string   `json:"variant"`
	Clients  int      `json:"clients,omitempty"` // 0 means any number
	Ceiling  *float64 `json:"ceiling,omitempty"` // the worst value that is let through where more is worse
	Floor    *float64 `json:"floor,omitempty"`   // likewise where less is worse; a waiver has one of the two
	Reason   string   `json:"reason"`
	Link     string   `json:"link"`
	Expires  string   `json:"expires"` // the last day on which it holds, in UTC
}

// ParseWaivers reads a waivers file as of now. One that has expired is a mistake in the file: to let it lie would be to
// have no end of it.
func ParseWaivers(file string, text []byte, now time.Time) ([]Waiver, error) {
	var waivers []Waiver
	err := readList(file, text, func() ([]field, func() []string) {
		var w Waiver
		var clients *int
		var rule *string
		return []field{
				{"metric", "a metric; of pairs, followed by the word ratio", &w.Metric, true},
				{"rule", "the rule of a check, as --json has it", &rule, false},
				{"scenario", "the name of a scenario", &w.Scenario, true},
				{"variant", "the name of a variant", &w.Variant, true},
				{"clients", "a whole number of at least 1", &clients, false},
				{"ceiling", "the largest value to let through", &w.Ceiling, false},
				{"floor", "the smallest value to let through, where less is worse", &w.Floor, false},
				{"reason", "why it may pass", &w.Reason, true},
				{"link", "where that is discussed", &w.Link, true},
				{"expires", "its last day, such as 2026-12-31", &w.Expires, true},
			}, func() []string {
				problems := readClients(clients, &w.Clients)
				if rule != nil {
					w.Rule = *rule
					problems = append(problems, emptyFields(map[string]string{"rule": w.Rule})...)
				}
				waivers = append(waivers, w)
				return append(problems, w.problems(now)...)
			}
	})
	return waivers, err
}

func (w Waiver) problems(now time.Time) []string {
	problems := emptyFields(map[string]string{"metric": w.Metric, "scenario": w.Scenario, "variant": w.Variant, "reason": w.Reason, "link": w.Link})
	if (w.Ceiling == nil) == (w.Floor == nil) {
		problems = append(problems, "wants either a ceiling, where more is worse, or a floor, where less is")
	} else if limit := w.limit(); math.IsNaN(limit) || math.IsInf(limit, 0) {
		problems = append(problems, "ceiling, floor: wants a number that something can be worse than")
	}
	last, err := time.Parse(time.DateOnly, w.Expires)
	switch {
	case err != nil:
		problems = append(problems, fmt.Sprintf("expires: wants a day such as 2026-12-31, not %q", w.Expires))
	case !now.UTC().Before(last.AddDate(0, 0, 1)):
		problems = append(problems, fmt.Sprintf("expired on %s: mend what it waives (%s), or decide on another day", w.Expires, w.Link))
	}
	return problems
}

// emptyFields says which of the fields have nothing in them.
func emptyFields(fields map[string]string) []string {
	var problems []string
	for _, name := range sortedKeys(fields) {
		if strings.TrimSpace(fields[name]) == "" {
			problems = append(problems, name+": is empty")
		}
	}
	return problems
}

// limit returns the ceiling or the floor, of which a waiver has one.
func (w Waiver) limit() float64 {
	if w.Ceiling != nil {
		return *w.Ceiling
	}
	return *w.Floor
}

// waive turns the regressions that waivers cover into waived ones, and returns which waivers cover nothing.
func waive(checks []Check, waivers []Waiver) []string {
	var notes []string
	for _, w := range waivers {
		used := false
		for i := range checks {
			if !w.covers(checks[i]) {
				continue
			}
			used = true
			w.apply(&checks[i])
		}
		if !used {
			notes = append(notes, fmt.Sprintf("the waiver for %s of %s/%s matches no regression: take it out of the file", w.Metric, w.Scenario, w.Variant))
		}
	}
	return notes
}

func (w Waiver) covers(c Check) bool {
	return c.Outcome == Regression && c.Value != nil && c.Metric == w.Metric && c.Scenario == w.Scenario && c.Variant == w.Variant &&
		(w.Clients == 0 || w.Clients == c.Clients) && (w.Rule == "" || w.Rule == c.Rule) && c.lessIsWorse == (w.Floor != nil)
}

// apply waives a check, unless it is worse than the limit.
func (w Waiver) apply(c *Check) {
	c.Waiver = &w
	value := float64(*c.Value)
	if value > w.limit() && !c.lessIsWorse || value < w.limit() && c.lessIsWorse {
		c.Why += fmt.Sprintf("; the waiver ends at %.6g", w.limit())
		return
	}
	c.Outcome = Waived
	c.Why += fmt.Sprintf("; waived until %s: %s (%s)", w.Expires, w.Reason, w.Link)
}
