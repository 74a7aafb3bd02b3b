package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/outcome"
)

// Two runs are compared in figures and on a page, several files of one run are drawn together, and one run alone is not
// compared.
func TestFiguresAndPageOfRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, run := range []string{"old", "new"} {
		prints(t, outcome.CodePass, "", "run", "lock-drain", "--clients", "2,6", "--repeats", "1", "--ensemble", "embedded", "--out", run,
			"--name", testName("figures"))
	}
	files, err := filepath.Glob("old/*_n2_*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, tt := range []struct {
		name string
		args []string
		want []string // in the output
		file string
	}{
		{"one run", []string{"plot", "old", "--format", "svg"}, []string{"lock-drain-embedded-costs svg"}, "plots/out/lock-drain-embedded-costs.svg"},
		{"files of one run", append([]string{"plot", "--format", "svg", "--out", "some"}, files...), []string{"lock-drain-embedded-costs svg"}, "some/lock-drain-embedded-costs.svg"},
		{"two runs", []string{"plot", "old", "new", "--format", "svg", "--out", "both"}, []string{"lock-drain-compared-1-values svg", "`zkbench compare` prints the numbers"}, "both/lock-drain-compared-1-ratios.svg"},
		{"a page", []string{"report", "old", "--html", "one.html"}, []string{"one.html ("}, "one.html"},
		{"a page of two runs", []string{"report", "old", "new", "--html", "two.html"}, []string{"two.html ("}, "two.html"},
	} {
		hasAll(t, prints(t, outcome.CodePass, "", tt.args...), tt.want...)
		if info, err := os.Stat(tt.file); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	text, err := os.ReadFile("two.html")
	if err != nil || !strings.Contains(string(text), "The runs compared") || !strings.Contains(string(text), "Source:") && !strings.Contains(string(text), "lock/znode (naive)") {
		t.Errorf("the page of two runs has no comparison, or does not explain the variants: %v", err)
	}
	says(t, outcome.CodeUsage, "name both", "plot", "old", "--across", "zookeeper")
}
