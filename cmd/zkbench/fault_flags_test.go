package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

func scenarioOf(t *testing.T, name string, args ...string) (scenarios.Scenario, error) {
	t.Helper()
	cmd := &cobra.Command{Use: "run"}
	f := bindLoad(cmd, false)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	s, err := scenarios.Read(t.Context(), name, catalog.Recipes())
	if err != nil {
		return s, err
	}
	err = override(&s, f, catalog.Recipes())
	return s, err
}

func TestFaultFlags(t *testing.T) {
	s, err := scenarioOf(t, "lock-contention", "--fault", "kill: leader, at: 500ms, for: 1s", "--fault", "{cut: any, after: create, every: 500ms}",
		"--session-timeout", "5s", "--roam")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range s.Faults {
		got = append(got, f.String())
	}
	if want := []string{"kill: leader, at: 500ms, for: 1s", "cut: any, after: create, every: 500ms"}; !slices.Equal(got, want) {
		t.Errorf("faults %q, want %q", got, want)
	}
	if s.EffectiveSessionTimeout().String() != "5s" || !s.Roam || s.QuorumLoss || s.Expect != nil {
		t.Errorf("got %+v", s)
	}
	s, err = scenarioOf(t, "lock-contention", "--fault", "kill: any, at: 1s", "--fault", "kill: any, at: 1s", "--duration", "50s", "--quorum-loss")
	if err != nil || !s.QuorumLoss {
		t.Errorf("the quorum may not be lost: %v", err)
	}
}

// The flag replaces the schedule of a scenario, and its permission to lose the quorum.
func TestFaultFlagsReplaceTheSchedule(t *testing.T) {
	const file = "../../scenarios/testdata/faults-sound.yaml"
	for _, tt := range []struct {
		flags  []string
		faults int
		loss   bool
	}{
		{nil, 3, true},
		{[]string{"--session-timeout", "5s"}, 3, true},
		{[]string{"--fault", "cut: any, at: 1s"}, 1, false},
		{[]string{"--fault", "none"}, 0, false},
	} {
		s, err := scenarioOf(t, file, tt.flags...)
		if err != nil || len(s.Faults) != tt.faults || s.QuorumLoss != tt.loss {
			t.Errorf("%v: %v, %d faults, the quorum may be lost: %v; want %d, %v", tt.flags, err, len(s.Faults), s.QuorumLoss, tt.faults, tt.loss)
		}
	}
}

// Faults that cannot be read, cannot happen, or that an engine cannot cause are refused before the run.
func TestRefusedFaults(t *testing.T) {
	for _, tt := range []struct {
		args string // separated by |
		want string
	}{
		{"lock-contention|--fault|kil: leader, at: 1s", `--fault "kil: leader, at: 1s": there is no field "kil"; did you mean "kill"?`},
		{"lock-contention|--fault|kill: leader|--fault|cut: any", `--fault "cut: any": when? at or every is missing`},
		{"lock-contention|--fault|", "--fault is empty"},
		{"lock-contention|--fault|none|--fault|cut: any, at: 1s", `--fault "none": there is no field "none"`},
		{"lock-contention|--fault|cut: any, at: 1h", "lock-contention, --fault: `cut: any, at: 1h`: happens first at 1h, but the window ends at 1.7s"},
		{"lock-contention|--session-timeout|50s", "lock-contention, --session-timeout: wants 100ms to 40s, not 50s"},
		{"lock-contention|--quorum-loss", "lock-contention, --quorum-loss: means nothing without faults of servers"},
		{"lock-drain|--fault|cut: any, at: 1s", "lock-drain, --fault: means nothing in a lockstep run"},
		{"lock-contention|--ensemble|embedded|--fault|kill: leader, at: 1s", "lock-contention: `kill: leader, at: 1s`: the servers of engine embedded cannot fail this way"},
		{"lock-contention|--ensemble|embedded|--session-timeout|1s", "lock-contention: session-timeout: engine embedded grants at least 4s, not 1s"},
		{"lock-contention|--servers|127.0.0.1:1|--fault|pause: any, at: 1s", "the servers of engine external cannot fail this way"},
	} {
		_, stderr, code := command(t.Context(), append([]string{"run", "--out", t.TempDir()}, strings.Split(tt.args, "|")...)...)
		if code != outcome.CodeUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit code %d, got\n%s\nwant %s", tt.args, code, stderr, tt.want)
		}
	}
}

// The runs of a campaign get the flags as they were given.
func TestCampaignPassesFaults(t *testing.T) {
	cmd := &cobra.Command{Use: "gate"}
	f := bindLoad(cmd, false)
	if err := cmd.ParseFlags([]string{"--clients", "1,2", "--fault", "kill: any, at: 1s", "--fault", "none", "--roam"}); err != nil {
		t.Fatal(err)
	}
	args := f.Arguments()
	if want := []string{"--clients=1,2", "--fault=kill: any, at: 1s", "--fault=none", "--roam=true"}; !slices.Equal(args, want) {
		t.Errorf("got %q, want %q", args, want)
	}
}
