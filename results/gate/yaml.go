package gate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/strict"
)

// field ties a name in a file to where its value goes, and says what it wants.
type field struct {
	name     string
	wants    string
	value    any // a pointer
	required bool
}

// located returns a mistake as an error that begins with its place.
func located(file string, m strict.Mistake) error {
	if m.Line == 0 { // the decoder's own errors name it
		return fmt.Errorf("%s: %s", file, m.Text)
	}
	return fmt.Errorf("%s:%d: %s", file, m.Line, m.Text)
}

// readList reads a file that is a list of mappings. item returns the fields of one more element, and what to check when
// they have been read. Every mistake is reported at once, with its line: whoever mends one wants to know the next.
func readList(file string, text []byte, item func() ([]field, func() []string)) error {
	root, err := strict.Document(text)
	if m := new(strict.Mistake); errors.As(err, m) {
		return located(file, *m)
	}
	if root == nil || root.Kind != yaml.SequenceNode {
		return fmt.Errorf("%s: wants a list, each element of which begins with `- `", file)
	}
	var mistakes []strict.Mistake
	for _, node := range root.Content {
		fields, check := item()
		found := readMapping(node, fields)
		if len(found) == 0 {
			for _, text := range check() {
				found = append(found, strict.Mistake{Line: node.Line, Text: text})
			}
		}
		mistakes = append(mistakes, found...)
	}
	slices.SortStableFunc(mistakes, func(a, b strict.Mistake) int { return cmp.Compare(a.Line, b.Line) })
	var errs []error
	for _, m := range mistakes {
		errs = append(errs, located(file, m))
	}
	return errors.Join(errs...)
}

func readMapping(node *yaml.Node, fields []field) []strict.Mistake {
	if node.Kind != yaml.MappingNode {
		return []strict.Mistake{{Line: node.Line, Text: "wants `field: value` lines"}}
	}
	var mistakes []strict.Mistake
	given := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		at := slices.IndexFunc(fields, func(f field) bool { return f.name == key.Value })
		switch {
		case at < 0:
			mistakes = append(mistakes, strict.Mistake{Line: key.Line, Text: fmt.Sprintf("there is no field %q; %s", key.Value, nearest(key.Value, fields))})
			continue
		case given[key.Value]:
			mistakes = append(mistakes, strict.Mistake{Line: key.Line, Text: key.Value + ": is given twice"})
		default:
			mistakes = append(mistakes, fields[at].read(value)...)
		}
		given[key.Value] = true
	}
	for _, f := range fields {
		if f.required && !given[f.name] {
			mistakes = append(mistakes, strict.Mistake{Line: node.Line, Text: fmt.Sprintf("%s is missing: %s", f.name, f.wants)})
		}
	}
	return mistakes
}

// read takes over a value, and returns what is wrong with it.
func (f field) read(value *yaml.Node) []strict.Mistake {
	err := strict.Decode(value, f.value)
	switch wrong := new(strict.Mistakes); {
	case err == nil:
		return nil
	case errors.As(err, wrong):
		return []strict.Mistake{{Line: (*wrong)[0].Line, Text: fmt.Sprintf("%s: wants %s; %s", f.name, f.wants, (*wrong)[0].Text)}}
	default:
		return []strict.Mistake{{Line: value.Line, Text: fmt.Sprintf("%s: wants %s", f.name, f.wants)}}
	}
}

func nearest(name string, fields []field) string {
	best := slices.MinFunc(fields, func(a, b field) int {
		return levenshtein.ComputeDistance(name, a.name) - levenshtein.ComputeDistance(name, b.name)
	})
	return fmt.Sprintf("did you mean %q?", best.name)
}

// ParseRules reads a rules file; file is its name in error messages. A check without a variant is about every one. A variant
// or metric that is in none of the names is a mistake.
func ParseRules(file string, text []byte, names Names) ([]Claim, error) {
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
				if len(problems) == 0 {
					problems = names.unknown(c.Scenario, c.Metric, c.Variant, c.Of)
				}
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
	if why := c.Unfailing(); err == nil && why != "" {
		problems = append(problems, "check: "+why)
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
func ParseWaivers(file string, text []byte, names Names, now time.Time) ([]Waiver, error) {
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
				problems = append(problems, w.problems(now)...)
				return append(problems, names.unknown(w.Scenario, strings.TrimSuffix(w.Metric, ratioSuffix), w.Variant)...)
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
	} else if w.Ceiling != nil && results.ExceedsAll(w.Metric, limit) || w.Floor != nil && limit <= 0 {
		problems = append(problems, fmt.Sprintf("ceiling, floor: nothing is worse than %g, so that everything would be let through", limit))
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

// waive turns the regressions that waivers cover into waived ones, and returns the waivers that cover nothing.
func waive(checks []Check, waivers []Waiver) []Waiver {
	var unused []Waiver
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
			unused = append(unused, w)
		}
	}
	return unused
}

// unused says that a waiver covers nothing.
func (w Waiver) unused() string {
	return fmt.Sprintf("the waiver for %s of %s/%s matches no regression: take it out of the file", w.Metric, w.Scenario, w.Variant)
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
