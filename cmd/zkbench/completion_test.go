package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// completed returns what a shell offers for the last argument, and whether it offers files instead if none of that fits.
func completed(t *testing.T, args ...string) (offered []string, files bool) {
	t.Helper()
	stdout := prints(t, outcome.CodePass, ":", append([]string{"__complete"}, args...)...)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	directive := lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		word, _, _ := strings.Cut(line, "\t")
		if strings.HasPrefix(word, args[len(args)-1]) { // as shells do
			offered = append(offered, word)
		}
	}
	return offered, directive == ":0" || directive == ":32"
}

func TestCompletions(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // they ask no Docker
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		args  string // the last one, behind the last space, is completed
		want  string // some of what is offered
		never string // not offered
		files bool
	}{
		{"run lock-d", "lock-drain", "", true},
		{"run ./mine", "", "lock-drain", true},
		{"run lock-drain --variants ", "znode predecessor-watch", "lock-and-claim", false},
		{"run lock-drain queue-drain --variants ", "znode lock-and-claim", "", false},
		{"run lock-drain --variants znode,", "znode,predecessor-watch", "znode,znode", false},
		{"run ./mine.yaml --variants ", "znode lock-and-claim", "", false},
		{"run exact --variants ", "znode lock-and-claim", "", false},
		{"gate --run queue-drain --variants ", "lock-and-claim", "znode", false},
		{"compare --base ", "znode lock-and-claim", "", false},
		{"compare --metrics requests/op,", "requests/op,acquire-p99-ns", "requests/op,requests/op", false},
		{"calibrate queue-drain --metrics ", "requests/op", "acquire-p99-ns", false},
		{"capacity lock-drain --objective ", "acquire-p99-ns< response-p99-ns<", "ops/s> ops/s< acquire-p99-ns> capacity<", false},
		{"capacity lock-drain --by clients --objective ", "acquire-p99-ns< ops/s>", "response-p99-ns<", false},
		{"run lock-drain --mode ", "closed open lockstep", "", false},
		{"run lock-drain --arrivals p", "poisson", "", false},
		{"run lock-drain --fault no", "none", "", false},
		{"run lock-drain --background no", "none", "", false},
		{"run lock-drain --ensemble ", "auto container process embedded", "", false},
		{"run lock-drain --txn-log ", "disk memory", "", false},
		{"plot --format ", "png svg", "", false},
		{"plot --format png,", "png,svg", "png,png", false},
		{"report --format ", "csv json", "png", false},
		{"gate --require exact,", "exact,overview exact,lock-drain", "exact,exact", false},
		{"ensemble kill ", "zoo1 zoo2 zoo3 leader follower", "", false},
		{"ensemble heal ", "zoo1 zoo2 zoo3", "leader", false},
		{"ensemble kill zoo1 ", "", "zoo1 leader", false},
		{"report --format csv,", "", "csv,json", false},
	} {
		offered, files := completed(t, strings.Split(tt.args, " ")...)
		for _, word := range strings.Fields(tt.want) {
			if !slices.Contains(offered, word) {
				t.Errorf("%s: %q is not offered, but %q", tt.args, word, offered)
			}
		}
		for _, word := range strings.Fields(tt.never) {
			if slices.Contains(offered, word) {
				t.Errorf("%s: offers %q", tt.args, word)
			}
		}
		if files != tt.files {
			t.Errorf("%s: offers files: %t", tt.args, files)
		}
	}
}

// The faults and backgrounds that shells offer are valid.
func TestCompletedLoadsAreValid(t *testing.T) {
	for flag, field := range map[string]string{"--fault": "faults", "--background": "background", "--mode": "mode", "--arrivals": "arrivals"} {
		offered, _ := completed(t, "run", "lock-contention", flag, "")
		if len(offered) < 2 {
			t.Errorf("%s: %q", flag, offered)
		}
		for _, value := range offered {
			s := must.Get(scenarios.Load("lock-contention", catalog.Recipes()))(t)
			if err := s.Override(scenarios.Overrides{field: {value}}); err != nil {
				t.Errorf("%s %q: %v", flag, value, err)
			}
		}
	}
}

// A flag whose values are checked against a list offers the list.
func TestAllowedValuesAreCompleted(t *testing.T) {
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if values := f.Annotations[allowed]; values != nil {
				offered, _ := completed(t, append(strings.Fields(cmd.CommandPath())[1:], "--"+f.Name, "")...)
				if !slices.Equal(offered, values) {
					t.Errorf("%s --%s: %q, want %q", cmd.CommandPath(), f.Name, offered, values)
				}
			}
		})
		for _, below := range cmd.Commands() {
			check(below)
		}
	}
	check(rootCommand(&app{}))
}

// Runs are offered from the newest to the oldest, then those with other names. Folders without documents are not offered.
func TestRunsAreCompleted(t *testing.T) {
	t.Chdir(t.TempDir())
	const old, latest, counts = "results/runs/20260102T030405Z-ab12", "results/runs/20260203T030405Z-0001", "results/runs/counts"
	for _, dir := range []string{old, latest, counts} {
		must.Do(t, os.MkdirAll(dir, 0o755))
		must.Do(t, os.WriteFile(filepath.Join(dir, "lock-drain_lock-znode_n2_r1.json"), nil, 0o600))
	}
	must.Do(t, os.MkdirAll("results/runs/20260304T030405Z-empty", 0o755))
	must.Do(t, os.WriteFile("results/runs/file", nil, 0o600))
	for _, cmd := range []string{"report", "plot", "compare", "gate", "baseline save"} {
		for given, want := range map[string][]string{"": {latest, old, counts}, latest: {old, counts}} {
			args := append(strings.Fields(cmd+" "+given), "")
			if offered, files := completed(t, args...); !slices.Equal(offered, want) || !files {
				t.Errorf("%q: %q, files %t, want %q", args, offered, files, want)
			}
		}
	}
	if offered, _ := completed(t, "report", "other/"); len(offered) > 0 {
		t.Errorf("offered %q below another folder", offered)
	}
}
