package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/variants/catalog"
)

// The flag replaces the background of a scenario, or removes it. Claims are about the scenario's own load.
func TestBackgroundFlag(t *testing.T) {
	for _, tt := range []struct {
		scenario string
		flags    []string
		want     string // the background as text; empty for none
		claims   bool
	}{
		{"lock-contention", nil, "", true},
		{"lock-contention", []string{"--background", "reads: 500, writes: 100"}, "reads: 500, writes: 100, bytes: 1024, znodes: 1000", false},
		{"lock-drain", []string{"--background", "{writes: 10, sessions: 6}"}, "writes: 10, bytes: 1024, znodes: 1000, sessions: 6", false},
		{"lock-busy", nil, "reads: 300, writes: 60, bytes: 1024, znodes: 1000", true},
		{"lock-busy", []string{"--background", "none"}, "", false},
		{"lock-busy", []string{"--background", "writes: 10"}, "writes: 10, bytes: 1024, znodes: 1000", false}, // its overview is about reads
	} {
		s, err := scenarioOf(t, tt.scenario, tt.flags...)
		if err != nil {
			t.Errorf("%s %v: %v", tt.scenario, tt.flags, err)
			continue
		}
		got := ""
		if s.Background != nil {
			got = s.Background.String()
		}
		if got != tt.want || (s.Expect != nil) != tt.claims {
			t.Errorf("%s %v: background %q, want %q; claims %v", tt.scenario, tt.flags, got, tt.want, s.Expect)
		}
		if problems := s.Validate(catalog.Recipes()); len(problems) > 0 {
			t.Errorf("%s %v: %+v", tt.scenario, tt.flags, problems)
		}
	}
}

// Backgrounds that cannot be read, or make no sense, are refused before the run.
func TestRefusedBackgrounds(t *testing.T) {
	for _, tt := range []struct {
		args string // separated by |
		want string
	}{
		{"lock-contention|--background|reds: 500", `--background "reds: 500": there is no field "reds"; did you mean "reads"?`},
		{"lock-contention|--background|bytes: 0, znodes: 0, reads: 1", "bytes: wants 1 to 1000000, not 0"},
		{"lock-contention|--background|", "--background is empty"},
		{"lock-contention|--background|writes: 60000", "writes: wants 0 to 50000 per second, not 60000"},
		{"watch-memory|--background|reads: 10", "watch-memory, --heap: cannot be measured beside a background"},
	} {
		_, stderr, code := command(t.Context(), append([]string{"run", "--out", t.TempDir()}, strings.Split(tt.args, "|")...)...)
		if code != outcome.CodeUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, got\n%s\nwant %s", tt.args, code, stderr, tt.want)
		}
	}
}

// A background that the servers cannot answer makes a run inconclusive.
func TestSaturatedRun(t *testing.T) {
	stdout, _, code := inMemory(t, embedded.Config{WriteDelay: 50 * time.Millisecond}, "run", "lock-uncontended", "--variants", "znode",
		"--background", "writes: 40, znodes: 10", "--out", t.TempDir())
	if code != outcome.CodeInvalid || !strings.Contains(stdout, "INVALID: the background alone saturates the ensemble") {
		t.Errorf("exit code %d, got\n%s", code, stdout)
	}
}

// The runs of a campaign get the background as it was given.
func TestCampaignPassesTheBackground(t *testing.T) {
	cmd := &cobra.Command{Use: "gate"}
	f := bindLoad(cmd, false)
	if err := cmd.ParseFlags([]string{"--background", "reads: 1, writes: 2"}); err != nil {
		t.Fatal(err)
	}
	if got, want := f.Arguments(), []string{"--background=reads: 1, writes: 2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
