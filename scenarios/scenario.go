// Package scenarios is under which load a recipe's variants are compared, and the runner that applies it.
//
// It takes one position: a comparison is made within one run. All variants of a scenario run on the same ensemble, in
// an order that is shuffled anew in each repeat, so that drift and neighbours hit them alike; and whatever could make
// the numbers lie (a saturated client, a lost session, an oracle that disagrees) travels with them.
//
// A scenario is a YAML file that answers one question of a user; those beside this file are embedded in the binary.
package scenarios

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/variants"
)

// Mode is how the load is paced.
type Mode string

// UnmarshalText reads a mode in a scenario file, which still calls lockstep a drain.
func (m *Mode) UnmarshalText(text []byte) error {
	if *m = Mode(text); *m == "drain" {
		*m = Drain
	}
	return nil
}

// The modes.
const (
	// Closed lets every client loop at its own pace: it starts the next operation when the last one is done.
	Closed Mode = "closed"
	// Drain lets all clients enqueue and then leave one by one, each step waiting until every waiter has re-armed its
	// watch. Its counts are exact.
	Drain Mode = results.LockstepMode
)

// Duration is a time.Duration that must be written with its unit.
type Duration time.Duration

// UnmarshalYAML accepts "250ms", but not 250.
func (d *Duration) UnmarshalYAML(node *yaml.Node) error {
	parsed, err := time.ParseDuration(node.Value)
	if err != nil {
		return fmt.Errorf("wants a duration with its unit, such as 3s or 250ms, not %q", node.Value)
	}
	*d = Duration(parsed)
	return nil
}

// Scenario is one question and the load that answers it.
type Scenario struct {
	Name          string
	Question      string
	Recipe        string
	Variants      []string // all of the recipe's if empty
	Mode          Mode
	Clients       []int
	Size          int      // how much of what the recipe works on there is for each client; see [variants.Recipe]
	Operations    int      // closed: per client; the measurement ends when all are done
	Duration      Duration // closed: the measurement is cut out of a running load
	WarmUp        Duration // closed: run and discarded before it
	Hold          Duration // how long a holder holds
	Think         Duration // closed: pause between a client's operations
	Repeats       int
	Seed          uint64
	Heap          bool               // drain: also measure what lining up leaves in the servers' heaps
	BystanderRate int                // reads per second that one extra session sends to each server
	Expect        []string           // claims about the outcome, as results.ParseClaim reads them
	Overview      string             // by which two variants the recipe stands in the overview, as results.ParsePair reads them
	Published     *results.Published // what others have measured of the same; nil if nothing
}

// Default returns what a file need not say.
func Default() Scenario {
	return Scenario{Mode: Closed, Size: 1, Repeats: 3, Seed: 1, BystanderRate: 100}
}

// field ties a name in a file to where its value goes, and says what it wants. It is the one list of fields: reading,
// explaining and finding the nearest name all use it.
type field struct {
	name  string
	wants string
	value any // a pointer, or a block
}

func (s *Scenario) fields() []field {
	return []field{
		{"name", "a word", &s.Name},
		{"question", "a sentence", &s.Question},
		{"recipe", "the name of a recipe", &s.Recipe},
		{"variants", "a list of variants, such as [znode, predecessor-watch]", &s.Variants},
		{"mode", "closed or drain", &s.Mode},
		{"clients", "a list of whole numbers, such as [1, 10, 50]", &s.Clients},
		{"size", "a whole number", &s.Size},
		{"operations", "a whole number", &s.Operations},
		{"duration", "a duration with its unit, such as 3s", &s.Duration},
		{"warm-up", "a duration with its unit, such as 1s", &s.WarmUp},
		{"hold", "a duration with its unit, such as 5ms", &s.Hold},
		{"think", "a duration with its unit, such as 5ms", &s.Think},
		{"repeats", "a whole number", &s.Repeats},
		{"seed", "a whole number, not negative", &s.Seed},
		{"heap", "true or false", &s.Heap},
		{"bystander-rate", "a whole number", &s.BystanderRate},
		{"expect", "a list of claims, such as [znode herd-max >= 10 x predecessor-watch]", &s.Expect},
		{"overview", "two variants and a metric, such as predecessor-watch against znode by ops/s", &s.Overview},
		{publishedField, "", publishedBlock{&s.Published}},
	}
}

// Problem is one mistake in a scenario.
type Problem struct {
	Field string // of the file; empty if it concerns the whole
	Text  string
}

// maxName is the longest name of a scenario, which begins those of results and figures.
const maxName = 80

// Validate returns every mistake in a scenario. recipes is what there is to choose from.
func (s *Scenario) Validate(recipes []variants.Recipe) []Problem {
	var problems []Problem
	add := func(field, format string, args ...any) {
		problems = append(problems, Problem{field, fmt.Sprintf(format, args...)})
	}
	if !regexp.MustCompile(`^[A-Za-z0-9-]+$`).MatchString(s.Name) {
		add("name", "wants a word of letters, digits and hyphens, not %q", s.Name)
	}
	if len(s.Name) > maxName {
		add("name", "wants at most %d characters, not %d: it is part of the names of files", maxName, len(s.Name))
	}
	problems = append(problems, s.validateRecipe(recipes)...)
	if len(s.Clients) == 0 {
		add("clients", "is missing: how many clients, such as [1, 10, 50]?")
	}
	for i, n := range s.Clients {
		if n < 1 {
			add("clients", "wants numbers of at least 1, not %d", n)
		}
		if slices.Contains(s.Clients[:i], n) {
			add("clients", "has %d twice", n)
		}
	}
	if s.Size < 1 {
		add("size", "wants at least 1, not %d", s.Size)
	}
	if s.Repeats < 1 {
		add("repeats", "wants at least 1, not %d", s.Repeats)
	}
	if s.BystanderRate < 1 || s.BystanderRate > maxBystanderRate {
		add("bystander-rate", "wants 1 to %d reads per second, not %d: bystanders must not become load", maxBystanderRate, s.BystanderRate)
	}
	problems = append(problems, s.validateClaims(recipes)...)
	problems = append(problems, s.validatePublished()...)
	problems = append(problems, s.validateBounds(recipes)...)
	return append(problems, s.validateLoad()...)
}

// validateClaims looks at whatever names variants to say something about them.
func (s *Scenario) validateClaims(recipes []variants.Recipe) []Problem {
	var names, metrics []string
	for _, r := range recipes {
		if r.Name == s.Recipe {
			names = namesOf(r.Variants, func(v variants.Variant) string { return v.Name })
			metrics = MetricNames(r)
		}
	}
	var problems []Problem
	check := func(field string, err error, metric string, mentioned ...string) {
		if err != nil {
			problems = append(problems, Problem{field, err.Error()})
			return
		}
		if len(metrics) > 0 && !slices.Contains(metrics, metric) {
			problems = append(problems, Problem{field, fmt.Sprintf("recipe %s has no metric %q%s", s.Recipe, metric, Nearest(metric, metrics))})
		}
		for _, name := range mentioned {
			if name != "" && !slices.Contains(names, name) {
				problems = append(problems, Problem{field, fmt.Sprintf("recipe %s has no variant %q%s", s.Recipe, name, Nearest(name, names))})
			}
		}
	}
	for _, text := range s.Expect {
		c, err := results.ParseClaim(text)
		if why := c.Unfailing(); err == nil && why != "" {
			err = errors.New(why)
		}
		check("expect", err, c.Metric, c.Variant, c.Of)
	}
	if s.Overview != "" {
		pair, err := results.ParsePair(s.Overview)
		check("overview", err, pair.Metric, pair.Optimized, pair.Naive)
	}
	return problems
}

// Claims returns what the scenario, which is valid, expects.
func (s *Scenario) Claims() []results.Claim {
	var claims []results.Claim
	for _, text := range s.Expect {
		if c, err := results.ParseClaim(text); err == nil {
			claims = append(claims, c)
		}
	}
	return claims
}

// maxBystanderRate keeps the bystanders below a tenth of what a small ensemble answers.
const maxBystanderRate = 1000

func (s *Scenario) validateRecipe(recipes []variants.Recipe) []Problem {
	i := slices.IndexFunc(recipes, func(r variants.Recipe) bool { return r.Name == s.Recipe })
	if i < 0 {
		names := namesOf(recipes, func(r variants.Recipe) string { return r.Name })
		return []Problem{{"recipe", fmt.Sprintf("there is no recipe %q%s", s.Recipe, Nearest(s.Recipe, names))}}
	}
	var problems []Problem
	names := namesOf(recipes[i].Variants, func(v variants.Variant) string { return v.Name })
	for _, v := range s.Variants {
		name := strings.TrimPrefix(v, s.Recipe+"/")
		if !slices.Contains(names, name) {
			problems = append(problems, Problem{"variants", fmt.Sprintf("recipe %s has no variant %q%s", s.Recipe, v, Nearest(name, names))})
		}
	}
	if s.Size > 1 && recipes[i].Size == "" {
		problems = append(problems, Problem{"size", fmt.Sprintf("means nothing to recipe %s", s.Recipe)})
	}
	if len(problems) == 0 && len(s.Selected(recipes[i])) == 0 {
		problems = append(problems, Problem{"variants", "none of them can be stepped, as a drain does"})
	}
	return problems
}

func (s *Scenario) validateLoad() []Problem {
	var problems []Problem
	add := func(field, text string) { problems = append(problems, Problem{field, text}) }
	for _, d := range []struct {
		name  string
		value Duration
	}{{"duration", s.Duration}, {"warm-up", s.WarmUp}, {"hold", s.Hold}, {"think", s.Think}} {
		if d.value < 0 {
			add(d.name, fmt.Sprintf("cannot be negative (%s)", time.Duration(d.value)))
		}
	}
	if s.Operations < 0 {
		add("operations", fmt.Sprintf("cannot be negative (%d)", s.Operations))
	}
	switch s.Mode {
	case Closed:
		if (s.Operations > 0) == (s.Duration > 0) {
			add("duration", "a closed load wants either a duration or a number of operations")
		}
		if s.Heap {
			add("heap", "can be measured in a drain only, where all clients stand still")
		}
	case Drain:
		for _, f := range []struct {
			name string
			set  bool
		}{{"duration", s.Duration != 0}, {"operations", s.Operations != 0}, {"warm-up", s.WarmUp != 0}, {"think", s.Think != 0}} {
			if f.set {
				add(f.name, "means nothing in a drain, which ends when all clients have had their turn")
			}
		}
	default:
		add("mode", fmt.Sprintf("wants closed or drain, not %q", s.Mode))
	}
	return problems
}

func namesOf[T any](items []T, name func(T) string) []string {
	names := make([]string, 0, len(items))
	for _, item := range items {
		names = append(names, name(item))
	}
	return names
}

// Nearest returns a hint for a name that does not exist: the nearest one if it is near enough, else all there are.
func Nearest(name string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	nearest := slices.MinFunc(names, func(a, b string) int {
		return levenshtein.ComputeDistance(name, a) - levenshtein.ComputeDistance(name, b)
	})
	if levenshtein.ComputeDistance(name, nearest) <= max(2, len(name)/2) {
		return fmt.Sprintf("; did you mean %q?", nearest)
	}
	return "; there are: " + strings.Join(names, ", ")
}

// Selected returns the variants that the scenario compares, in the recipe's order. Those without exact formulas, such as
// ones that poll, never come to rest, and take no part in a drain.
func (s *Scenario) Selected(recipe variants.Recipe) []variants.Variant {
	var out []variants.Variant
	for _, v := range recipe.Variants {
		asked := len(s.Variants) == 0 || slices.Contains(s.Variants, v.Name) || slices.Contains(s.Variants, recipe.Name+"/"+v.Name)
		if asked && (s.Mode != Drain || v.CanStep()) {
			out = append(out, v)
		}
	}
	return out
}

// Measurements returns how many measurements one repeat consists of.
func (s *Scenario) Measurements(recipes []variants.Recipe) int {
	i := slices.IndexFunc(recipes, func(r variants.Recipe) bool { return r.Name == s.Recipe })
	if i < 0 {
		return 0
	}
	return len(s.Clients) * len(s.Selected(recipes[i]))
}

// Load says in words how the load is paced.
func (s *Scenario) Load() string {
	switch {
	case s.Mode == Drain:
		return "one by one"
	case s.Operations > 0:
		return fmt.Sprintf("%d operations of each client", s.Operations)
	default:
		return fmt.Sprintf("%s at the clients' own pace after %s of warm-up", time.Duration(s.Duration), time.Duration(s.WarmUp))
	}
}

// The most that a quick run does: enough to see that everything works, too little to measure by.
const (
	quickClients    = 5
	quickOperations = 10
	quickSize       = 10
	quickDuration   = Duration(500 * time.Millisecond)
)

// Quick cuts a scenario down to a rehearsal: few clients, a small size, one repeat, the shortest load of its kind. What it
// expects of itself as it stands, and what others have measured, is left out.
func (s *Scenario) Quick() {
	clients := []int{}
	for _, n := range s.Clients {
		if n = min(n, quickClients); !slices.Contains(clients, n) {
			clients = append(clients, n)
		}
	}
	s.Clients, s.Repeats, s.Expect, s.Published = clients, 1, nil, nil
	s.WarmUp, s.Duration = 0, min(s.Duration, quickDuration)
	s.Operations = min(s.Operations, quickOperations)
	s.Size = min(s.Size, quickSize)
}
