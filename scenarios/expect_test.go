package scenarios

import (
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/variants/catalog"
)

// A run in which the background has one session for each server is the scenario's own load.
func TestExpectationsBesideABackground(t *testing.T) {
	s, err := Load("lock-busy", catalog.Recipes())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		change func(b *results.BackgroundLoad)
		notes  int
	}{
		{"its own", func(b *results.BackgroundLoad) { b.Sessions = 3 }, 0},
		{"with more reads", func(b *results.BackgroundLoad) { b.Sessions, b.Reads = 3, b.Reads+1 }, 1},
	} {
		d := &results.Document{Scenario: s.Scenario}
		if tt.notes > 0 {
			d.Scenario.Expect = nil // as flags do that change the load
		}
		d.Environment.Engine = string(ensemble.Container)
		ran := *d.Scenario.Background
		tt.change(&ran)
		d.Scenario.Background = &ran
		if claims, notes := Expectations([]*results.Document{d}, catalog.Recipes()); len(notes) != tt.notes || tt.notes == 0 && len(claims) == 0 {
			t.Errorf("%s: %d claims, notes %q", tt.name, len(claims), notes)
		}
	}
}

// The claims of a scenario with drivers apply to its documents, although these state that requests passed through zkbench.
func TestExpectationsOfDrivers(t *testing.T) {
	s, err := Load("lock-libraries", catalog.Recipes())
	if err != nil {
		t.Fatal(err)
	}
	d := &results.Document{Scenario: s.Scenario}
	d.Scenario.Tunnelled = true
	if claims, notes := Expectations([]*results.Document{d}, catalog.Recipes()); len(claims) == 0 || len(notes) > 0 {
		t.Errorf("%d claims, notes %q", len(claims), notes)
	}
}

// The claims for a run on containers do not depend on the documents before it.
func TestExpectationsOfSeveralRuns(t *testing.T) {
	s, err := Load("lock-contention", catalog.Recipes())
	if err != nil {
		t.Fatal(err)
	}
	document := func(engine ensemble.Engine) *results.Document {
		d := &results.Document{Scenario: s.Scenario}
		d.Environment.Engine = string(engine)
		return d
	}
	changed := document(ensemble.Container)
	changed.Scenario.Hold = time.Hour
	faulty, busy := document(ensemble.Container), document(ensemble.Container)
	faulty.Scenario.Faults = []results.FaultLoad{{Kind: "kill", Whom: "leader", At: time.Second}}
	busy.Scenario.Background = &results.BackgroundLoad{Reads: 1}
	for _, d := range []*results.Document{changed, faulty, busy} {
		d.Scenario.Expect = nil // as flags do that change the load
	}
	times := func(docs ...*results.Document) (n int, notes []string) {
		claims, notes := Expectations(docs, catalog.Recipes())
		for _, c := range claims {
			if c.IsTime() {
				n++
			}
		}
		return n, notes
	}
	alone, notes := times(document(ensemble.Container))
	if alone == 0 || len(notes) > 0 {
		t.Fatalf("%d claims about times, %q", alone, notes)
	}
	for _, tt := range []struct {
		name  string
		docs  []*results.Document
		want  int
		notes int
	}{
		{"embedded", []*results.Document{document(ensemble.Embedded)}, alone, 0}, // the gate leaves out claims that these servers cannot decide
		{"embedded before it", []*results.Document{document(ensemble.Embedded), document(ensemble.Container)}, alone, 0},
		{"another load before it", []*results.Document{changed, document(ensemble.Container)}, alone, 1},
		{"another load", []*results.Document{changed}, 0, 1},
		{"with faults", []*results.Document{faulty}, 0, 1},
		{"with a background", []*results.Document{busy}, 0, 1},
	} {
		if n, notes := times(tt.docs...); n != tt.want || len(notes) != tt.notes {
			t.Errorf("%s: %d claims about times and notes %q, want %d and %d", tt.name, n, notes, tt.want, tt.notes)
		}
	}
}

// A user's own scenario is held to the claims in its document, one that comes with zkbench to those that it came with.
func TestExpectationsOfAnEditedFile(t *testing.T) {
	shipped, err := Load("lock-drain", catalog.Recipes())
	if err != nil {
		t.Fatal(err)
	}
	const edited = "znode requests/op <= 999"
	for _, tt := range []struct {
		name string
		hold time.Duration
		want []string
	}{
		{"mine", 0, []string{edited}},
		{"lock-drain", 0, shipped.Expect},
		{"lock-drain", time.Second, []string{edited}}, // the claims that came with it are about another load
	} {
		d := &results.Document{Scenario: shipped.Scenario}
		d.Scenario.Name, d.Scenario.Hold, d.Scenario.Expect = tt.name, tt.hold, []string{edited}
		claims, notes := Expectations([]*results.Document{d, d}, catalog.Recipes())
		got := list.Map(claims, func(e Expectation) string { return e.String() })
		if !slices.Equal(got, tt.want) || len(notes) > 0 || claims[0].Clients != slices.Max(shipped.Clients) {
			t.Errorf("%s: claims %q of %d clients, notes %q; want %q", tt.name, got, claims[0].Clients, notes, tt.want)
		}
	}
}
