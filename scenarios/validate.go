package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/variants"
)

// The limits of a scenario. A larger number is probably a typing error. The number of operations is not limited by memory,
// because a measurement does not keep them.
const (
	maxName          = 80            // characters: the names of results and figures begin with the scenario's name
	maxMeasurements  = 100_000       // of one run: more than a day at a second each
	maxClients       = 100_000       // more than the ports of one machine
	maxUnits         = 10_000_000    // units that a recipe works on in one measurement; each takes memory here and in the servers
	maxOperations    = 1_000_000_000 // of one client: more than a day at ten thousand a second
	maxPause         = time.Hour     // the longest time that a histogram holds
	maxLoad          = 24 * time.Hour
	maxBystanderRate = 1000 // below a tenth of the rate that a small ensemble can answer
)

// Problem is one mistake in a scenario.
type Problem struct {
	Field string // empty if it concerns the whole file
	Fault int    // the number of a fault, counted from 1; 0 if the problem concerns another field
	Text  string
}

type problems []Problem

func (p *problems) add(field, format string, args ...any) {
	*p = append(*p, Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

func limit[T int | results.Rate | time.Duration](p *problems, field string, value, least, most T) {
	if value < least || value > most {
		p.add(field, "wants %v to %v, not %v", least, most, value)
	}
}

// loads adds a mistake for each number of clients, or rate, that is not from least to most or is given twice.
func loads[T int | results.Rate](p *problems, field string, numbers []T, least, most T) {
	for i, n := range numbers {
		limit(p, field, n, least, most)
		if slices.Contains(numbers[:i], n) {
			p.add(field, "has %v twice", n)
		}
	}
}

// refuse adds a mistake for each of the named fields that has a value, with the reason why it must not have one.
func (s *Scenario) refuse(p *problems, why string, names ...string) {
	for _, f := range s.Fields() {
		if slices.Contains(names, f.Name) && !f.IsZero() {
			p.add(f.Name, "%s", why)
		}
	}
}

// Validate returns all mistakes in a scenario, which may use one of recipes.
func (s *Scenario) Validate(recipes []variants.Recipe) []Problem {
	var p problems
	if !regexp.MustCompile(`^[A-Za-z0-9-]+$`).MatchString(s.Name) {
		p.add("name", "wants a word of letters, digits and hyphens, not %q", s.Name)
	}
	if len(s.Name) > maxName {
		p.add("name", "wants at most %d characters, not %d: it is part of the names of files", maxName, len(s.Name))
	}
	recipe := s.RecipeAmong(recipes)
	if recipe != nil {
		s.validateVariants(&p, *recipe)
	} else {
		names := list.Map(recipes, func(r variants.Recipe) string { return r.Name })
		p.add("recipe", "there is no recipe %q%s", s.Recipe, strict.Nearest(s.Recipe, names))
	}
	s.validateClaims(&p, recipe)
	if len(s.Clients) == 0 {
		p.add("clients", "is missing: how many clients, such as [1, 10, 50]?")
	}
	loads(&p, "clients", s.Clients, 1, maxClients)
	limit(&p, "size", min(s.Size, maxUnits), 1, maxUnits) // validateProducts says what is too many
	limit(&p, "repeats", min(s.Repeats, maxMeasurements), 1, maxMeasurements)
	if s.BystanderRate < 1 || s.BystanderRate > maxBystanderRate {
		p.add("bystander-rate", "wants 1 to %d reads per second, not %d: bystanders must not become load",
			maxBystanderRate, s.BystanderRate)
	}
	limit(&p, "duration", s.Duration, 0, maxLoad)
	limit(&p, "warm-up", s.WarmUp, 0, maxLoad)
	limit(&p, "hold", s.Hold, 0, maxPause)
	limit(&p, "think", s.Think, 0, maxPause)
	limit(&p, "at-most", s.AtMost, 0, maxLoad)
	s.validateStages(&p)
	limit(&p, "operations", s.Operations, 0, maxOperations)
	s.validateMode(&p)
	if s.Mode == Open && recipe != nil {
		s.validateArrivals(&p, float64(recipe.BatchOf(s.Size)))
	}
	s.validateAtMost(&p, s.defaultSize(recipes))
	s.validateBackground(&p)
	s.validateFaults(&p, recipe)
	s.validateProducts(&p, recipes)
	return p
}

// variant reports whether a recipe has a variant of that name, given as it is in the field, and adds a mistake otherwise.
func (p *problems) variant(field string, recipe variants.Recipe, given, name string) bool {
	names := list.Map(recipe.All(), func(v variants.Variant) string { return v.Name })
	known := slices.Contains(names, name)
	if !known {
		p.add(field, "recipe %s has no variant %q%s", recipe.Name, given, strict.Nearest(name, names))
	}
	return known
}

func (s *Scenario) validateVariants(p *problems, recipe variants.Recipe) {
	known := true
	for _, v := range s.Variants {
		known = p.variant("variants", recipe, v, strings.TrimPrefix(v, s.Recipe+"/")) && known
	}
	for _, v := range s.Broken {
		p.variant("broken", recipe, v, v)
	}
	if s.Size > 1 && s.HasDriver(recipe) {
		p.add("size", "must be 1 with a driver, in which a client takes part once")
	}
	if s.Size > 1 && recipe.Size == "" {
		p.add("size", "means nothing to recipe %s", s.Recipe)
	}
	if recipe.Threaded && s.Size > 1 && (s.Mode != Closed || len(s.Faults) > 0 || slices.Contains(s.Clients, 1)) {
		p.add("size", "counts %s: it wants a closed load of at least 2 clients without faults", recipe.Size)
	}
	if s.Mode == Open && recipe.Collective {
		p.add("mode", "%s wants clients that act by themselves, and in recipe %s each operation needs all clients", Open, recipe.Name)
	}
	if s.Mode == Closed && len(s.Stages) > 0 && recipe.Collective {
		p.add("stages", "want clients that act by themselves, and in recipe %s clients depend on each other: "+
			"measure several numbers of clients instead", recipe.Name)
	}
	if known && len(s.Selected(recipe)) == 0 {
		p.add("variants", "none of them can run in %s", s.Mode)
	}
}

// validateClaims checks the fields that name variants and metrics: expect and overview; without a recipe, only their syntax.
func (s *Scenario) validateClaims(p *problems, recipe *variants.Recipe) {
	for _, text := range s.Expect {
		c, err := claim.Parse(text)
		if why := c.Unfailing(); err == nil && why != "" {
			err = errors.New(why)
		}
		if err != nil {
			p.add("expect", "%s", err)
		} else if recipe != nil {
			s.validateNames(p, "expect", *recipe, []string{c.Metric}, c.Variant, c.Of)
		}
	}
	if s.Overview == "" {
		return
	}
	pair, err := claim.ParsePair(s.Overview)
	if err != nil {
		p.add("overview", "%s", err)
	} else if recipe != nil {
		s.validateNames(p, "overview", *recipe, pair.Metrics, pair.Optimized, pair.Naive)
		first, _, _ := strings.Cut(strings.ReplaceAll(pair.Change, ",", " "), " ")
		if slices.Contains(MetricNames(*recipe), first) {
			p.add("overview", `wants "and" between two metrics, not a comma before %s`, first)
		}
	}
}

// CheckMetrics returns an error for a metric that no measurement of the scenario has. Percentiles that documents do not list, such as
// acquire-p99.9, are allowed: they are computed from histograms.
func (s *Scenario) CheckMetrics(recipe variants.Recipe, metrics []string) error {
	var p problems
	selected := list.Map(s.Selected(recipe), func(v variants.Variant) string { return v.Name })
	untimed := recipe.PhasesWhere(func(phase variants.Phase) bool { return phase.UntimedInLockstep })
	for _, name := range metrics {
		m := metric.Named(name)
		if s.Mode == Lockstep && (name == metric.OpsPerSecond || slices.Contains(untimed, m.Phase)) {
			p.add("", "%s is not measured in lockstep, where zkbench sets the pace", name)
		}
		if listed := metric.Quantile(m.Phase, 99); m.Kind == metric.KindTime && slices.Contains(MetricNames(recipe), listed) {
			name = listed
		}
		s.validateNames(&p, "", recipe, []string{name}, selected...)
	}
	return errors.Join(list.Map(p, func(found Problem) error { return errors.New(found.Text) })...)
}

// validateNames checks that the recipe has the metrics and the variants that a field mentions, and that the scenario's load
// has these metrics. An empty name stands for no variant.
func (s *Scenario) validateNames(p *problems, field string, recipe variants.Recipe, metrics []string, mentioned ...string) {
	for _, name := range metrics {
		part, known := metric.Named(name).Part, MetricNames(recipe)
		switch {
		case !slices.Contains(known, name):
			p.add(field, "recipe %s has no metric %q%s", s.Recipe, name, strict.Nearest(name, known))
		case s.Mode != Open && part == metric.OpenLoad:
			p.add(field, "%s is measured only in open loads, and this one is %s", name, s.Mode)
		case part == metric.LimitedLoad && s.AtMost == 0:
			p.add(field, "%s is measured only in scenarios with at-most, which this one lacks", name)
		case len(s.Faults) == 0 && part == metric.FaultyLoad && !alwaysCounted(recipe, name, mentioned):
			p.add(field, "%s is measured only in scenarios with faults, and this one has none", name)
		case s.Background == nil && part == metric.BackgroundPart:
			p.add(field, "%s is measured only in scenarios with a background, and this one has none", name)
		case part == metric.BackgroundPart && !metric.MeasuredBy(*s.Background, name):
			p.add(field, "%s is measured only if the background sends such requests, and this one has %s", name, s.Background)
		}
	}
	for _, name := range mentioned {
		if name != "" {
			p.variant(field, recipe, name, name)
		}
	}
}

// alwaysCounted reports whether a metric is a loss that each mentioned variant counts without faults, too.
func alwaysCounted(recipe variants.Recipe, metric string, mentioned []string) bool {
	return !slices.ContainsFunc(recipe.All(), func(v variants.Variant) bool {
		return slices.Contains(mentioned, v.Name) && !v.ForgoneAlways(variants.Loss(metric))
	})
}

// validateProducts divides limits instead of multiplying numbers, to avoid overflow.
func (s *Scenario) validateProducts(p *problems, recipes []variants.Recipe) {
	if len(s.Clients) == 0 {
		return
	}
	clients := max(min(slices.Max(s.Clients), maxClients), 1)
	if s.Size > maxUnits/clients {
		p.add("size", "wants at most %d for %d clients, not %d: a measurement works on at most %d",
			maxUnits/clients, clients, s.Size, maxUnits)
	}
	each := cmp.Or(s.Measurements(recipes), len(s.Clients))
	if s.RecipeAmong(recipes) != nil && (each > maxMeasurements || s.Repeats > maxMeasurements/each) {
		p.add("repeats", "wants at most %d, not %d: each has %d measurements, and a run makes at most %d",
			maxMeasurements/each, s.Repeats, each, maxMeasurements)
	}
}

// validateAtMost requires a known number of operations, so that zkbench can say how much of an unfinished load was done.
func (s *Scenario) validateAtMost(p *problems, defaultSize int) {
	switch {
	case s.AtMost == 0:
	case s.Duration > 0:
		p.add("at-most", "means nothing to a load with a duration, which ends by itself")
	case s.Size > defaultSize:
		p.add("at-most", "wants a size of %d: how many operations a larger one has is only known at its end", defaultSize)
	case len(s.Faults) > 0:
		p.add("at-most", "cannot be combined with faults, whose outcome is that of the whole load")
	case s.Background != nil:
		p.add("at-most", "cannot be combined with a background, whose requests are counted for the whole load")
	case s.Heap:
		p.add("at-most", "cannot be combined with heap, which is measured at the end of the load")
	}
}
