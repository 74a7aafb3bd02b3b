package scenarios_test

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// Fewer than 5000 clients may join within any second, wherever in the stages it begins.
func TestJoiningClients(t *testing.T) {
	for _, tt := range []struct {
		name, stages, want string
	}{
		{"a step", "{for: 2s, clients: 1}, {for: 2s, clients: 5000}", ""},
		{"a step that is too large", "{for: 2s, clients: 1}, {for: 2s, clients: 5001}", "let 5000 clients join within one second, from 2s on, and want fewer than 5000"},
		{"a steep ramp", "{for: 2s, clients: 1}, {for: 100ms, clients: 10000, ramp: true}", "let 9999 clients join within one second, from 2s on"},
		{"a long ramp that is steep", "{for: 2s, clients: 1}, {for: 2s, clients: 10001, ramp: true}", "let 5000 clients join within one second, from 2s on"},
		{"a gentle ramp", "{for: 2s, clients: 1}, {for: 3s, clients: 10000, ramp: true}", ""},
		{"two steps in 100 ms", "{for: 2s, clients: 1}, {for: 100ms, clients: 5000}, {for: 2s, clients: 9999}", "let 9998 clients join within one second, from 2s on"},
		{"two steps a second apart", "{for: 2s, clients: 1}, {for: 1s, clients: 5000}, {for: 2s, clients: 9999}", ""},
		{"a step at the end of a ramp", "{for: 2s, clients: 1}, {for: 2s, clients: 8001, ramp: true}, {for: 2s, clients: 9001}", "let 5000 clients join within one second, from 3s on"},
		{"the last second", "{for: 2s, clients: 1}, {for: 2s, clients: 8001, ramp: true}, {for: 900ms, clients: 12601, ramp: true}", "let 5000 clients join within one second, from 3.9s on"},
		{"a ramp and a step, less", "{for: 2s, clients: 1}, {for: 2s, clients: 7999, ramp: true}, {for: 2s, clients: 8999}", ""},
		{"away and back", "{for: 2s, clients: 6000}, {for: 100ms, clients: 1}, {for: 2s, clients: 6000}", "let 5999 clients join"},
		{"all from the beginning", "{for: 2s, clients: 10000}, {for: 2s, clients: 1}", ""},
	} {
		_, err := scenarios.Parse("a.yaml", []byte("name: a\nquestion: b\nrecipe: lock\nstages: ["+tt.stages+"]\n"), catalog.Recipes())
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// A quick run has no stages, and is still a valid load.
func TestQuickHasNoStages(t *testing.T) {
	for text, want := range map[string]results.Rate{
		"name: a\nquestion: b\nrecipe: lock\nmode: open\nclients: [3]\nstages: [{for: 2s, rate: 10}, {for: 3s, rate: 40}]\n": 40,
		"name: a\nquestion: b\nrecipe: lock\nstages: [{for: 2s, clients: 10}, {for: 3s, clients: 2, ramp: true}]\n":          0,
	} {
		s, err := scenarios.Parse("a.yaml", []byte(text), catalog.Recipes())
		if err != nil {
			t.Fatal(err)
		}
		if s.Duration != 5*time.Second || s.Rates()[0] != want {
			t.Errorf("%s lasts for %s at a rate of %s, want 5s and %s", text, s.Duration, s.Rates()[0], want)
		}
		s.Quick()
		if problems := s.Validate(catalog.Recipes()); len(problems) > 0 || len(s.Stages) > 0 || s.Rates()[0] != want {
			t.Errorf("%s: a quick run has a rate of %s, want %s; stages %v; problems %v", text, s.Rates()[0], want, s.Stages, problems)
		}
	}
}

// A quick run has time for several operations, even in scenarios with long holds and pauses.
func TestQuickRunsHaveTimeForOperations(t *testing.T) {
	for _, name := range scenarios.Names() {
		s, err := scenarios.Load(name, catalog.Recipes())
		if err != nil {
			t.Fatal(err)
		}
		if s.Quick(); s.Duration > 0 && 2*(s.Hold+s.Think) > s.Duration {
			t.Errorf("%s: a quick run holds for %v and pauses for %v, and ends after %v", name, s.Hold, s.Think, s.Duration)
		}
	}
}
