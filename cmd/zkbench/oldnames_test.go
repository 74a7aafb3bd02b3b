package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results/outcome"
)

// Each command that reads results names the former names in them once, on stderr.
func TestFormerNamesAreSaidOnce(t *testing.T) {
	result, err := filepath.Abs("../../results/testdata/schema2.json")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"report", result}, {"plot", result, "--format", "svg"}, {"compare", result}, {"gate", result}, {"baseline", "save", result, "--dir", t.TempDir()},
	} {
		_, stderr, code := command(t.Context(), args...)
		if n := strings.Count(stderr, "mode drain is now lockstep"); n != 1 || code != outcome.CodePass && args[0] != "compare" {
			t.Errorf("%v: exit code %d, the new name of a mode %d times in\n%s", args, code, n, stderr)
		}
	}
}
