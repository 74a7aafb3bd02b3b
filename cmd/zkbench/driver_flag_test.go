package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios"
)

// A driver that the command line gives runs beside the scenario's variants, or the error says why it cannot.
func TestDriverFlag(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my_lock.py")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var a app
	if err := a.useDrivers([]string{file, file + " fair"}, nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"lock-crash":          "my-lock my-lock-fair",
		"rwlock-mixed":        "my-lock my-lock-fair",
		"queue-libraries":     "my-lock my-lock-fair",
		"lock-drain":          "in which no driver can take part",
		"lock-threads":        "size: must be 1",
		"doublebarrier-crash": "no client of the recipe can join again",
		"barrier-rounds":      "takes no drivers; these do: lock, rwlock",
	} {
		s, err := scenarios.Load(name, a.recipes())
		if err != nil {
			t.Fatal(err)
		}
		before := s.Selected(*s.RecipeAmong(a.recipes()))
		if err = a.change(&s, runFlags{}); err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
			continue
		}
		var added []string
		selected := s.Selected(*s.RecipeAmong(a.recipes()))
		for _, v := range selected {
			if strings.Contains(v.Summary, file) {
				added = append(added, v.Name)
			}
		}
		if !slices.Equal(added, strings.Fields(want)) || len(selected) != len(before)+len(added) || len(s.Expect) > 0 {
			t.Errorf("%s: %d variants with %v, %d before; claims %v", name, len(selected), added, len(before), s.Expect)
		}
	}
}
