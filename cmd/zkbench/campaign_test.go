package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
)

// The way of a campaign with real processes, each with an embedded server of its own. What it finds depends on the machine;
// that it has judged all pairs does not. A barrier has every phase in each round, whereas nobody may wait for a lock.
func TestCampaign(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(asBinary, "1")
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	load := []string{"--ensemble", "embedded", "--name", testName("pairs"), "--clients", "2", "--variants", "counted", "--operations", "20", "--warm-up", "0s",
		"--pairs", "6", "--cache", "cache/c.json"}
	stdout, stderr, code := command(t.Context(), append([]string{"gate", "--run", "doublebarrier-rounds", "--base-binary", own, "--confirm", "7", "--out", "c", "--json", "g.json"}, load...)...)
	if !slices.Contains([]int{outcome.CodePass, outcome.CodeRegression, outcome.CodeInvalid}, code) || !strings.Contains(stdout, "pairs checks passed") || !strings.Contains(stdout, "not calibrated") || !strings.Contains(stdout, "an A/A") {
		t.Errorf("exit code %d: %s\n%s", code, stderr, stdout)
	}
	for _, pattern := range []string{"c/pair-0[1-6]/base/*.json", "c/pair-0[1-6]/head/*.json"} {
		if files, err := filepath.Glob(pattern); err != nil || len(files) != 6 {
			t.Errorf("%s: %v, %v", pattern, files, err)
		}
	}
	if _, err := os.Stat("c/campaign.json"); err != nil {
		t.Error(err)
	}
	if _, stderr, code := command(t.Context(), append([]string{"gate", "--run", "doublebarrier-rounds", "--base-binary", own, "--out", "c"}, load...)...); code != outcome.CodeUsage || !strings.Contains(stderr, "not empty") {
		t.Errorf("over other results: exit code %d, %s", code, stderr)
	}
	stdout, stderr, code = command(t.Context(), append([]string{"calibrate", "doublebarrier-rounds", "--out", "d"}, load...)...)
	if code == outcome.CodeInvalid && strings.Contains(stderr, "out of CPU") {
		t.Skip("a control group that throttles cannot be calibrated")
	}
	if _, err := os.Stat("cache/c.json"); err != nil || code != outcome.CodePass || !strings.Contains(stdout, "enter-p50-ns") {
		t.Errorf("calibrate: exit code %d, %v: %s\n%s", code, err, stderr, stdout)
	}
}

// scripted returns a campaign whose runs leave nothing but an entry in calls.
func scripted(t *testing.T, code int, err error) (c *campaign, calls *[][]string) {
	t.Helper()
	calls = &[][]string{}
	c = &campaign{base: "base", head: "head", scenario: "s", load: loadFlags{"clients": {"1,2"}, "hold": {"1ms"}}, dir: t.TempDir(),
		random: rand.New(rand.NewPCG(1, 2)), progress: io.Discard}
	c.start = func(_ context.Context, binary string, args []string, log io.Writer) (int, error) {
		*calls = append(*calls, append([]string{binary}, args...))
		_, _ = io.WriteString(log, "its last words\n")
		return code, err
	}
	return c, calls
}

// Both sides of a pair have the same seed; their order is drawn, and what is confirmed takes the place of what was asked for.
func TestCampaignPairs(t *testing.T) {
	c, calls := scripted(t, 0, nil)
	if _, err := c.measure(t.Context(), 20, loadFlags{"clients": {"2"}}); err != nil {
		t.Fatal(err)
	}
	first := map[string]int{}
	for i := 0; i < len(*calls); i += 2 {
		one, other := (*calls)[i], (*calls)[i+1]
		first[one[0]]++
		if one[0] == other[0] || one[len(one)-1] != other[len(other)-1] {
			t.Errorf("a pair of %v and %v", one, other)
		}
	}
	if first["base"] < 3 || first["head"] < 3 {
		t.Errorf("first were: %v", first)
	}
	if got := strings.Join((*calls)[0], " "); strings.Contains(got, "1,2") || !strings.Contains(got, "--clients=2 --hold=1ms --repeats=1 --seed=") {
		t.Errorf("started %s", got)
	}
	if len(c.unreadable) != 40 { // runs that leave nothing are evidence of nothing
		t.Errorf("%d unreadable folders", len(c.unreadable))
	}
}

func TestCampaignFailures(t *testing.T) {
	for _, tt := range []struct {
		name string
		code int
		err  error
		want int
		says string
	}{
		{"a run that could not start", 0, errors.New("no such file"), outcome.CodeFailed, "no such file"},
		{"a run that failed", outcome.CodeFailed, nil, outcome.CodeFailed, "its last words"},
		{"a mistake in flags", outcome.CodeUsage, nil, outcome.CodeFailed, "its last words"},
		{"a broken promise without a result", outcome.CodeBroken, nil, outcome.CodeBroken, "broke its promise"},
	} {
		c, _ := scripted(t, tt.code, tt.err)
		_, err := c.measure(t.Context(), 5, nil)
		if exitCode(t.Context(), err) != tt.want || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	c, calls := scripted(t, 0, nil)
	c.checkPair = func([2][]*results.Document) error { return errors.New("no such metric") }
	if _, err := c.measure(t.Context(), 5, nil); exitCode(t.Context(), err) != outcome.CodeInvalid || len(*calls) != 2 {
		t.Errorf("nothing to judge: %v after %d runs", err, len(*calls))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c, calls = scripted(t, 1, nil)
	if _, err := c.measure(ctx, 5, nil); !errors.Is(err, context.Canceled) || len(*calls) != 1 {
		t.Errorf("interrupted: %v after %d runs", err, len(*calls))
	}
}

// What one side has shown stands, although the other one fails.
func TestCampaignKeepsWhatItFound(t *testing.T) {
	c, _ := scripted(t, 0, nil)
	runs := 0
	c.start = func(_ context.Context, _ string, args []string, _ io.Writer) (int, error) {
		if runs++; runs == 4 {
			return 0, errors.New("out of memory")
		}
		d := closedDocument(t, "r", "lock-contention", "znode", 1, 1, 4)
		d.Violations = []results.Violation{{Text: "two holders"}}
		d.Metrics[metric.Violations] = results.Metric{Value: 1, Unit: "violations"}
		dir := args[slices.Index(args, "--out")+1]
		return outcome.CodeBroken, errors.Join(os.MkdirAll(dir, 0o755), store.Write(d, dir))
	}
	pairs, err := c.measure(t.Context(), 5, nil)
	if err == nil || len(pairs) != 2 || len(pairs[0][0]) != 1 || len(pairs[0][1]) != 1 || len(pairs[1][0])+len(pairs[1][1]) != 1 {
		t.Errorf("%v, %v", pairs, err)
	}
}

// An error late in a campaign makes no violation undone, and no pass.
func TestCutShort(t *testing.T) {
	for _, tt := range []struct {
		found outcome.Outcome
		err   error
		want  int
	}{
		{outcome.Pass, nil, outcome.CodePass},
		{outcome.Pass, errors.New("x"), outcome.CodeFailed},
		{outcome.Regression, errors.New("x"), outcome.CodeFailed},
		{outcome.Violation, context.Canceled, outcome.CodeInterrupted},
		{outcome.Violation, errors.New("x"), outcome.CodeBroken},
		{outcome.Pass, exitError{outcome.CodeBroken, errors.New("x")}, outcome.CodeBroken},
		{outcome.Regression, exitError{outcome.CodeInvalid, errors.New("x")}, outcome.CodeInvalid},
		{outcome.Pass, errors.Join(exitError{outcome.CodeInvalid, errors.New("x")}, errors.New("y")), outcome.CodeFailed},
	} {
		r := cutShort(gate.NewReport([]gate.Check{{Outcome: tt.found}}, nil), tt.err)
		if r.Code != tt.want {
			t.Errorf("%s, then %v: exit code %d, want %d", tt.found, tt.err, r.Code, tt.want)
		}
	}
}

// Without a real ensemble, the embedded server is used only if the command line names it.
func TestCampaignDoesNotFallBack(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv(asBinary, "1") // should one fall back after all, its runs must be short ones, and not this test again
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	t.Setenv("ZOOKEEPER_HOME", t.TempDir())
	for _, args := range [][]string{{"gate", "--run", "lock-contention", "--base-binary", own}, {"calibrate", "lock-contention"}} {
		_, stderr, code := command(t.Context(), append(args, "--cache", "c.json", "--clients", "1", "--variants", "znode", "--operations", "1", "--warm-up", "0s", "--pairs", "6")...)
		if code != outcome.CodeUsage || !strings.Contains(stderr, "or choose --ensemble embedded") {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// What another run has under the name is neither used nor taken down.
func TestCampaignLeavesOthersAlone(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var said strings.Builder
	a := app{stdout: io.Discard, stderr: &said}
	f := ensembleFlags{engine: string(ensemble.Process), name: testName("theirs"), home: t.TempDir()}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(cache, "zkbench", "process", f.name)
	if err := os.MkdirAll(theirs, 0o755); err != nil {
		t.Fatal(err)
	}
	claim, err := ensemble.TryLock("process-" + f.name)
	if err != nil {
		t.Fatal(err)
	}
	if _, down, err := a.share(t.Context(), f, true); !errors.Is(err, ensemble.ErrBusy) || strings.Count(err.Error(), ensemble.ErrBusy.Error()) != 1 || down != nil {
		t.Errorf("shared what another one has, or tried to take it down: %v", err)
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error(err)
	}
	if err := claim.Release(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "`zkbench ensemble down --name "+f.name+"`") {
		t.Errorf("said %q", said.String())
	}
}
