package scenarios

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/variants/catalog"
)

// tablesOf returns the scenarios for which a page shows the table of a run on containers.
func tablesOf(page string) []string {
	var names []string
	for line := range strings.Lines(page) {
		if name, _, ok := strings.Cut(line, " on container, "); ok {
			names = append(names, name)
		}
	}
	return names
}

func TestTablesOf(t *testing.T) {
	const page = "# Crashes\n\n## Locks: `lock-crash`\n\nzkbench run lock-crash\n\nstorm-leader on container, size 1000, median of 3 repeats\n\nlock-drain on embedded, median of 1 repeat\n"
	if got := tablesOf(page); !slices.Equal(got, []string{"storm-leader"}) {
		t.Errorf("tables of %v, want that of storm-leader", got)
	}
}

// The page about failures has the outcome of each scenario with faults.
func TestFailurePage(t *testing.T) {
	page, err := os.ReadFile("../docs/failure.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := tablesOf(string(page))
	for _, name := range Names() {
		s, err := Load(name, catalog.Recipes())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Faults) > 0 && !slices.Contains(tables, name) {
			t.Errorf("docs/failure.md has no table of %s: run it on containers", name)
		}
	}
}
