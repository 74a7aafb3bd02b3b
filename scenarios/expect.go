package scenarios

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/variants"
)

// Expectation is a claim that the gate checks against the results of a scenario.
type Expectation struct {
	Scenario string
	claim.Claim
}

// Reasons why some claims of a scenario are not checked.
const (
	foreign   = "claims not checked, because these scenarios do not come with zkbench (put them into --rules)"
	partly    = "claims checked for the scenario's own load only, because these scenarios also ran under another one"
	otherwise = "claims not checked, because these scenarios ran under another load than their own"
)

// Expectations returns the claims of the scenarios that ran unchanged, and notes about those whose claims do not apply.
func Expectations(docs []*results.Document, recipes []variants.Recipe) (held []Expectation, notes []string) {
	byScenario := map[string][]*results.Document{}
	for _, d := range docs {
		byScenario[d.Scenario.Name] = append(byScenario[d.Scenario.Name], d)
	}
	names := map[string][]string{} // by the reason why claims do not apply
	for _, name := range slices.Sorted(maps.Keys(byScenario)) {
		found, why := expected(name, byScenario[name], recipes)
		held = append(held, found...)
		names[why] = append(names[why], name)
	}
	for _, why := range []string{foreign, partly, otherwise} {
		if len(names[why]) > 0 {
			notes = append(notes, why+": "+strings.Join(names[why], ", "))
		}
	}
	return held, notes
}

// expected returns the claims of one scenario, and why they do not apply to some documents; empty if they apply to all.
func expected(name string, docs []*results.Document, recipes []variants.Recipe) (held []Expectation, why string) {
	if !slices.Contains(Names(), name) {
		return nil, foreign
	}
	s, err := Load(name, recipes)
	if err != nil {
		return nil, otherwise
	}
	own := list.Where(docs, func(d *results.Document) bool { return s.isLoadOf(d.Scenario) })
	for _, c := range s.Claims() {
		c.Clients = slices.Max(s.Clients)
		held = append(held, Expectation{name, c})
	}
	switch {
	case len(own) == len(docs):
		return held, ""
	case len(own) == 0 || len(held) == 0:
		return nil, otherwise
	default:
		return held, partly
	}
}

// isLoadOf compares the loads only. It ignores fields that the run decides, such as whether a driver is among its variants.
func (s *Scenario) isLoadOf(ran results.Scenario) bool {
	load := func(r results.Scenario) results.Scenario {
		r.Question, r.Overview, r.Repeats, r.Seed, r.BystanderRate, r.Heap, r.Tunnelled = "", "", 0, 0, 0, false, false
		return r
	}
	own := s.Scenario
	if own.Background != nil && own.Background.Sessions == 0 && ran.Background != nil {
		background := *own.Background
		background.Sessions = ran.Background.Sessions // one for each server
		own.Background = &background
	}
	return reflect.DeepEqual(load(own), load(ran))
}
