// Package scenarios is under which load a recipe's variants are compared, and the runner that applies it.
//
// It takes one position: a comparison is made within one run. All variants of a scenario run on the same ensemble, in
// an order that is shuffled anew in each repeat, so that drift and neighbours hit them alike; and whatever could make
// the numbers lie (a saturated client, a lost session, an oracle that disagrees) travels with them.
//
// A scenario is a YAML file that answers one question of a user; those beside this file are embedded in the binary.
package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"go.yaml.in/yaml/v3"

	"github.com/zkbench/zkbench/variants"
)

// Mode is how the load is paced.
type Mode string

// The modes.
const (
	// Closed lets every client loop at its own pace: it starts the next operation when the last one is done.
	Closed Mode = "closed"
	// Drain lets all clients enqueue and then leave one by one, each step waiting until every waiter has re-armed its
	// watch. Its counts are exact.
	Drain Mode = "drain"
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
	Operations    int      // closed: per client; the measurement ends when all are done
	Duration      Duration // closed: the measurement is cut out of a running load
	WarmUp        Duration // closed: run and discarded before it
	Hold          Duration // how long a holder holds
	Think         Duration // closed: pause between a client's operations
	Repeats       int
	Seed          uint64
	BystanderRate int // reads per second that one extra session sends to each server
}

// Default returns what a file need not say.
func Default() Scenario {
	return Scenario{Mode: Closed, Repeats: 3, Seed: 1, BystanderRate: 100}
}

// field ties a name in a file to where its value goes, and says what it wants. It is the one list of fields: reading,
// explaining and finding the nearest name all use it.
type field struct {
	name  string
	wants string
	value any
}

func (s *Scenario) fields() []field {
	return []field{
		{"name", "a word", &s.Name},
		{"question", "a sentence", &s.Question},
		{"recipe", "the name of a recipe", &s.Recipe},
		{"variants", "a list of variants, such as [znode, predecessor-watch]", &s.Variants},
		{"mode", "closed or drain", &s.Mode},
		{"clients", "a list of whole numbers, such as [1, 10, 50]", &s.Clients},
		{"operations", "a whole number", &s.Operations},
		{"duration", "a duration with its unit, such as 3s", &s.Duration},
		{"warm-up", "a duration with its unit, such as 1s", &s.WarmUp},
		{"hold", "a duration with its unit, such as 5ms", &s.Hold},
		{"think", "a duration with its unit, such as 5ms", &s.Think},
		{"repeats", "a whole number", &s.Repeats},
		{"seed", "a whole number, not negative", &s.Seed},
		{"bystander-rate", "a whole number", &s.BystanderRate},
	}
}

// Problem is one mistake in a scenario.
type Problem struct {
	Field string // of the file; empty if it concerns the whole
	Text  string
}

// Validate returns every mistake in a scenario. recipes is what there is to choose from.
func (s *Scenario) Validate(recipes []variants.Recipe) []Problem {
	var problems []Problem
	add := func(field, format string, args ...any) {
		problems = append(problems, Problem{field, fmt.Sprintf(format, args...)})
	}
	if !regexp.MustCompile(`^[A-Za-z0-9-]+$`).MatchString(s.Name) {
		add("name", "wants a word of letters, digits and hyphens, not %q", s.Name)
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
	if s.Repeats < 1 {
		add("repeats", "wants at least 1, not %d", s.Repeats)
	}
	if s.BystanderRate < 1 || s.BystanderRate > maxBystanderRate {
		add("bystander-rate", "wants 1 to %d reads per second, not %d: bystanders must not become load", maxBystanderRate, s.BystanderRate)
	}
	return append(problems, s.validateLoad()...)
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

// selected returns the variants that the scenario compares, in the recipe's order.
func (s *Scenario) selected(recipe variants.Recipe) []variants.Variant {
	if len(s.Variants) == 0 {
		return recipe.Variants
	}
	var out []variants.Variant
	for _, v := range recipe.Variants {
		if slices.Contains(s.Variants, v.Name) || slices.Contains(s.Variants, recipe.Name+"/"+v.Name) {
			out = append(out, v)
		}
	}
	return out
}
