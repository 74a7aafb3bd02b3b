// Package scenarios defines the load under which the variants of a recipe are compared: one YAML file for each question
// that a user asks. The files beside this one are embedded in the binary. Package runner runs them.
//
// It takes one position: a scenario states everything that shapes the load. Values that make no sense are reported before
// the run, all at once and with their lines.
package scenarios

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants"
)

// Duration is a time.Duration that must be written with its unit.
type Duration = strict.Duration

// Scenario is one question and the load that answers it.
type Scenario struct {
	Name          string
	Question      string
	Recipe        string
	Variants      []string // if empty, those that Selected returns
	Broken        []string // variants that are expected to break their promise under this load
	Mode          Mode
	Clients       []int
	Rate          []int               // open: operations per second that arrive, for all clients together
	Arrivals      Arrivals            // open: how they arrive; empty means Constant
	Stages        []results.StageLoad // closed, open: how the load changes within the window; none if it does not
	Size          int                 // units of what the recipe works on, for each client; see [variants.Recipe]
	Operations    int                 // closed: per client; the measurement ends when all are done
	Duration      Duration            // closed, open: length of the window, which is cut out of a running load
	WarmUp        Duration            // closed, open: time before the window, which is discarded
	Hold          Duration            // how long a client holds, such as a lock
	Think         Duration            // closed: pause between a client's operations
	Repeats       int
	Seed          uint64
	AtMost        Duration // the longest time of a load that ends after a number of operations; 0 means no limit
	Heap          bool     // lockstep: also measure how much the servers' heaps grow while clients line up
	BystanderRate int      // reads per second that one extra session sends to each server

	Background *results.BackgroundLoad // reads and writes by other sessions; nil without any

	Faults         []faults.Fault // closed, open: what fails, and when
	SessionTimeout Duration       // of the clients; 0 means [ensemble.SessionTimeout]
	Roam           bool           // closed, open: a client whose server fails connects to another one; else it waits for its own
	QuorumLoss     bool           // the faults may take the quorum away for longer than the session timeout

	Expect   []string // claims about the outcome, in the syntax of claim.Parse
	Overview string   // two variants that represent the recipe in the overview, in the syntax of results.ParsePair

	asks []string // the metrics that the file is about, whatever flags remove
}

// Default returns the values of fields that a file leaves out.
func Default() Scenario {
	return Scenario{Mode: Closed, Size: 1, Repeats: 3, Seed: 1, BystanderRate: 100}
}

// fields returns every field of a file. Reading and the hints about misspelt names use this one list.
func (s *Scenario) fields() []strict.Field {
	return []strict.Field{
		{Name: "name", Wants: "a word", Value: &s.Name},
		{Name: "question", Wants: "a sentence", Value: &s.Question},
		{Name: "recipe", Wants: "the name of a recipe", Value: &s.Recipe},
		{Name: "variants", Wants: "a list of variants, such as [znode, predecessor-watch]", Value: &s.Variants},
		{Name: brokenField, Wants: "a list of variants, such as [writelock]", Value: &s.Broken},
		{Name: "mode", Wants: modeNames(), Value: &s.Mode},
		{Name: "clients", Wants: "a list of whole numbers, such as [1, 10, 50]", Value: &s.Clients},
		{Name: rateField, Wants: "a list of whole numbers, such as [100, 200]", Value: &s.Rate},
		{Name: arrivalsField, Wants: fmt.Sprintf("%s or %s", Constant, Poisson), Value: &s.Arrivals},
		{Name: stagesField, Value: strict.Nested(s.readStages)},
		{Name: "size", Wants: "a whole number", Value: &s.Size},
		{Name: "operations", Wants: "a whole number", Value: &s.Operations},
		{Name: "duration", Wants: "a duration with its unit, such as 3s", Value: &s.Duration},
		{Name: "warm-up", Wants: "a duration with its unit, such as 1s", Value: &s.WarmUp},
		{Name: "hold", Wants: "a duration with its unit, such as 5ms", Value: &s.Hold},
		{Name: "think", Wants: "a duration with its unit, such as 5ms", Value: &s.Think},
		{Name: "repeats", Wants: "a whole number", Value: &s.Repeats},
		{Name: "seed", Wants: "a whole number, not negative", Value: &s.Seed},
		{Name: "at-most", Wants: "a duration with its unit, such as 2m", Value: &s.AtMost},
		{Name: "heap", Wants: "true or false", Value: &s.Heap},
		{Name: "bystander-rate", Wants: "a whole number", Value: &s.BystanderRate},
		{Name: backgroundField, Value: strict.Nested(s.readBackground)},
		{Name: faultsField, Value: strict.Nested(s.readFaults)},
		{Name: sessionTimeoutField, Wants: "a duration with its unit, such as 4s", Value: &s.SessionTimeout},
		{Name: "roam", Wants: "true or false", Value: &s.Roam},
		{Name: quorumLossField, Wants: "true or false", Value: &s.QuorumLoss},
		{Name: "expect", Wants: "a list of claims, such as [znode herd-max >= 10 x predecessor-watch]", Value: &s.Expect},
		{Name: "overview", Wants: "two variants and a metric, such as predecessor-watch against znode by ops/s", Value: &s.Overview},
	}
}

// Claims returns the claims of a valid scenario.
func (s *Scenario) Claims() []claim.Claim {
	var claims []claim.Claim
	for _, text := range s.Expect {
		if c, err := claim.Parse(text); err == nil {
			claims = append(claims, c)
		}
	}
	return claims
}

// RecipeAmong returns the scenario's recipe; nil if there is none of that name.
func (s *Scenario) RecipeAmong(recipes []variants.Recipe) *variants.Recipe {
	i := slices.IndexFunc(recipes, func(r variants.Recipe) bool { return r.Name == s.Recipe })
	if i < 0 {
		return nil
	}
	return &recipes[i]
}

// defaultSize returns the size of a file that states none.
func (s *Scenario) defaultSize(recipes []variants.Recipe) int {
	if recipe := s.RecipeAmong(recipes); recipe != nil {
		return recipe.UsualSize()
	}
	return 1
}

// brokenField is the name of the field Broken in files.
const brokenField = "broken"

// KnownBroken returns which promise a variant is known to break, by itself or under this load; empty if it is known to break none.
func (s *Scenario) KnownBroken(v variants.Variant) string {
	if v.Broken == "" && s.ExpectsBreach(v) {
		return "its promise does not hold under this load"
	}
	return v.Broken
}

// ExpectsBreach reports whether a variant is expected to break its promise under this load.
func (s *Scenario) ExpectsBreach(v variants.Variant) bool { return slices.Contains(s.Broken, v.Name) }

func variantNames(recipe variants.Recipe) []string {
	return results.Map(recipe.All(), func(v variants.Variant) string { return v.Name })
}

// Selected returns the variants that the scenario compares, in the recipe's order. It leaves out those that cannot run in
// its mode, and unless it names them those of libraries and those that are known to be broken. Without a list of variants, those whose breach the scenario expects run, too.
func (s *Scenario) Selected(recipe variants.Recipe) []variants.Variant {
	var out []variants.Variant
	rules, _ := s.Mode.rules()
	for _, v := range recipe.All() {
		named := slices.Contains(s.Variants, v.Name) || slices.Contains(s.Variants, recipe.Name+"/"+v.Name)
		asked := named || len(s.Variants) == 0 && (s.ExpectsBreach(v) || v.Kind != variants.Library && v.Broken == "")
		if asked && rules.takes(v) {
			out = append(out, v)
		}
	}
	return out
}

// HasDriver reports whether the scenario compares a variant whose clients are in a driver, so that the requests of all variants take the same
// way.
func (s *Scenario) HasDriver(recipe variants.Recipe) bool {
	return slices.ContainsFunc(s.Selected(recipe), func(v variants.Variant) bool { return v.Driver != nil })
}

// Measurements returns how many measurements one repeat consists of.
func (s *Scenario) Measurements(recipes []variants.Recipe) int {
	recipe := s.RecipeAmong(recipes)
	if recipe == nil {
		return 0
	}
	return len(s.Clients) * len(s.Rates()) * len(s.Selected(*recipe))
}

// Load describes in words how the load is paced and what fails meanwhile.
func (s *Scenario) Load() string {
	rules, _ := s.Mode.rules()
	return rules.describe(s) + s.describeBackground() + s.describeFailure()
}

// The limits of a quick run, which shows that everything works but measures nothing.
const (
	quickClients    = 5
	quickOperations = 10
	quickSize       = 10
	quickDuration   = Duration(500 * time.Millisecond)
	quickRate       = 50 // operations per second, or requests of a background
)

// Quick cuts a scenario down to a rehearsal: few clients, a small size, one repeat, a short load. Its claims are
// removed, because they are about the whole scenario. A schedule of faults needs its whole load and
// its fewest clients, so that a scenario with one keeps these.
func (s *Scenario) Quick() {
	most := quickClients
	if len(s.Faults) > 0 {
		most = max(most, slices.Min(s.Clients))
	} else {
		s.Duration, s.Operations = min(s.Duration, quickDuration), min(s.Operations, quickOperations)
		s.Hold, s.Think = min(s.Hold, quickDuration/5), min(s.Think, quickDuration/5)
	}
	clients := []int{}
	for _, n := range s.Clients {
		clients = results.AppendNew(clients, min(n, most))
	}
	s.Clients, s.Repeats, s.Expect = clients, 1, nil
	if s.Mode == Open {
		s.Rate = []int{min(slices.Min(s.Rates()), quickRate)}
	}
	s.Stages = nil
	s.WarmUp, s.Size = 0, min(s.Size, quickSize)
	if b := s.Background; b != nil {
		quick := *b
		quick.Reads, quick.Writes, quick.Znodes = min(b.Reads, quickRate), min(b.Writes, quickRate), min(b.Znodes, quickSize)
		s.Background = &quick
	}
}
