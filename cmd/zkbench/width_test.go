package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/table"
)

// No line on standard output is wider than the terminal, or than 80 columns where there is none. Paths cannot be broken.
func TestWidths(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("COLUMNS", "80")
	stdout, stderr, code := inMemory(t, embedded.Config{}, "run", "lock-contention", "--clients", "3", "--repeats", "2", "--duration", "100ms",
		"--warm-up", "0s", "--out", "r")
	if code != outcome.CodePass {
		t.Fatal(stderr)
	}
	atMost(t, stdout, 80)
	lines := map[string][]string{
		"report": {"report", "r"}, "overview": {"report", "--overview", "r"}, "compare": {"compare", "r"},
		"gate": {"gate", "r"}, "verbose gate": {"gate", "--verbose", "r"},
		"explain a scenario": {"explain", "lock-contention"},
		"explain a recipe":   {"explain", "lock"}, "explain a metric": {"explain", metric.HerdMax},
		"list": {"list"}, "list variants": {"list", "variants"}, "list scenarios": {"list", "scenarios"},
	}
	addHelp(lines, rootCommand(&app{}))
	for _, v := range allVariants() {
		lines["explain "+v] = []string{"explain", v}
	}
	for _, width := range []int{0, 80, 100, 120} {
		t.Setenv("COLUMNS", strconv.Itoa(width))
		for name, args := range lines {
			t.Run(fmt.Sprintf("%s/%d", name, width), func(t *testing.T) {
				stdout, stderr, _ := command(t.Context(), args...)
				if stdout == "" {
					t.Fatalf("no output: %s", stderr)
				}
				atMost(t, stdout, max(width, 80))
			})
		}
	}
}

func atMost(t *testing.T, text string, width int) {
	t.Helper()
	for line := range strings.Lines(text) {
		if n := table.Width(strings.TrimRight(line, "\n")); n > width {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
}

func allVariants() (names []string) {
	for _, r := range (&app{everyLibrary: true}).recipes() {
		for _, v := range r.Variants {
			names = append(names, r.Name+"/"+v.Name)
		}
	}
	return names
}
