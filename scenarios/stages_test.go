package scenarios_test

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// A quick run has no stages, and is a valid load all the same.
func TestQuickHasNoStages(t *testing.T) {
	for text, want := range map[string]int{
		"name: a\nquestion: b\nrecipe: lock\nmode: open\nclients: [3]\nstages: [{for: 2s, rate: 10}, {for: 3s, rate: 20}]\n": 20,
		"name: a\nquestion: b\nrecipe: lock\nstages: [{for: 2s, clients: 10}, {for: 3s, clients: 2, ramp: true}]\n":          0,
	} {
		s, err := scenarios.Parse("a.yaml", []byte(text), catalog.Recipes())
		if err != nil {
			t.Fatal(err)
		}
		if time.Duration(s.Duration) != 5*time.Second || s.Rates()[0] != want {
			t.Errorf("%s lasts for %s at a rate of %d, want 5s and %d", text, time.Duration(s.Duration), s.Rates()[0], want)
		}
		s.Quick()
		if problems := s.Validate(catalog.Recipes()); len(problems) > 0 || len(s.Stages) > 0 || s.Rates()[0] != want {
			t.Errorf("%s: a quick run has a rate of %d, want %d; stages %v; problems %v", text, s.Rates()[0], want, s.Stages, problems)
		}
	}
}
