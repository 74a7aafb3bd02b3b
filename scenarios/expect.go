package scenarios

import (
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

// Expectations returns the claims that the documents of each scenario are held to: those that come with zkbench for a scenario
// that ran unchanged, so that an edited file cannot weaken them, and otherwise those in the document, which has none if flags
// changed the load. The note names the scenarios some of whose claims therefore do not apply.
func Expectations(docs []*results.Document, recipes []variants.Recipe) (held []Expectation, notes []string) {
	var changed []string
	for _, same := range list.GroupBy(docs, func(d *results.Document) string { return d.Scenario.Name }) {
		name := same[0].Scenario.Name
		shipped, unknown := Load(name, recipes) // a test loads all that come with zkbench
		for _, d := range same {
			own := Scenario{Scenario: d.Scenario}
			if unknown == nil && shipped.isLoadOf(d.Scenario) {
				own = shipped
			} else if unknown == nil && len(own.Expect) == 0 {
				changed = list.AppendNew(changed, name)
			}
			for _, c := range own.Claims() {
				c.Clients = list.Largest(own.Clients)
				held = list.AppendNew(held, Expectation{name, c})
			}
		}
	}
	if len(changed) > 0 {
		slices.Sort(changed)
		notes = append(notes, "claims are about a scenario's own load, and are not checked under another one: "+strings.Join(changed, ", "))
	}
	return held, notes
}

// isLoadOf compares the loads only. It ignores fields that the run decides, such as whether a driver is among its variants.
func (s *Scenario) isLoadOf(ran results.Scenario) bool {
	load := func(r results.Scenario) results.Scenario {
		r.Question, r.Overview, r.Repeats, r.Seed, r.BystanderRate, r.Heap, r.Tunnelled = "", "", 0, 0, 0, false, false
		r.Asks, r.Expect = nil, nil
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
