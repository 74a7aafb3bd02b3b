package scenarios

import (
	"os"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/variants/catalog"
)

// The page about failures names each scenario with faults. What the scenarios have printed is on pages of its own.
func TestFailurePage(t *testing.T) {
	page, err := os.ReadFile("../docs/failure.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		s, err := Load(name, catalog.Recipes())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Faults) == 0 {
			continue
		}
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/failure.md does not name %s", name)
		}
		for _, v := range s.Variants {
			if !strings.Contains(string(page), "`"+v+"`") {
				t.Errorf("docs/failure.md says nothing of %s, which %s compares", v, name)
			}
		}
	}
}
