package scenarios

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants/catalog"
)

func faulty(t *testing.T) Scenario {
	t.Helper()
	s, err := Read(t.Context(), "testdata/faults-sound.yaml", catalog.Recipes())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A quick run of a scenario with faults keeps all faults, and is valid.
func TestQuickKeepsFaults(t *testing.T) {
	for _, tt := range []struct{ clients, want []int }{
		{[]int{2, 10}, []int{2, 5}},
		{[]int{50, 10}, []int{10}},
		{[]int{5}, []int{5}},
	} {
		s := faulty(t)
		s.Clients, s.Repeats = tt.clients, 5
		s.Quick()
		if !slices.Equal(s.Clients, tt.want) || len(s.Faults) != 3 || s.Duration != 20*time.Second || s.Repeats != 1 {
			t.Errorf("clients %v: a quick run has %+v", tt.clients, s)
		}
		if p := s.Validate(catalog.Recipes()); len(p) > 0 {
			t.Errorf("clients %v: a quick run is invalid: %v", tt.clients, p)
		}
	}
}

func TestSessionTimeout(t *testing.T) {
	s := faulty(t)
	if got := s.EffectiveSessionTimeout(); got != 4*time.Second {
		t.Errorf("got %s", got)
	}
	s.SessionTimeout = 0
	if got := s.EffectiveSessionTimeout(); got != 30*time.Second {
		t.Errorf("without one, got %s", got)
	}
}

// The page about scenario files has all fields, all faults, and a message as zkbench prints it.
func TestScenarioPage(t *testing.T) {
	text, err := os.ReadFile("../docs/scenarios.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	var s Scenario
	for _, f := range s.FileFields() {
		if !strings.Contains(page, "`"+f.Name+"`") {
			t.Errorf("field %s is missing", f.Name)
		}
	}
	for _, k := range faults.Kinds() {
		if !strings.Contains(page, "\n| `"+string(k)+"` |") {
			t.Errorf("fault %s is missing", k)
		}
		for _, whom := range faults.Whom(k, nil) {
			if word, _, _ := strings.Cut(whom, " "); !strings.Contains(page, "`"+word) {
				t.Errorf("%s: %s is missing", k, whom)
			}
		}
	}
	message, err := os.ReadFile("testdata/faults-without-quorum.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, after, _ := strings.Cut(strings.TrimSpace(string(message)), ":"); !strings.Contains(page, "mine.yaml:"+after) {
		t.Errorf("the message has become %s", message)
	}
}

func TestAbilities(t *testing.T) {
	for engine, want := range map[ensemble.Engine]int{ensemble.Container: 7, ensemble.Process: 6, ensemble.External: 4, ensemble.Embedded: 4} {
		if a := AbilityOf(engine, 1); len(a.Kinds) != want || (len(a.Servers) > 0) != slices.ContainsFunc(a.Kinds, faults.Kind.OfServer) {
			t.Errorf("%s can do %v on %v", engine, a.Kinds, a.Servers)
		}
	}
	if a := AbilityOf(ensemble.Embedded, 3); !slices.Equal(a.Kinds, faults.Kinds()) || len(a.Servers) != 3 {
		t.Errorf("three embedded servers can do %v on %v", a.Kinds, a.Servers)
	}
	if n := len(faults.Servers()); n != ensemble.Size {
		t.Errorf("schedules have %d servers, ensembles %d", n, ensemble.Size)
	}
}
