package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/auto"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/recorder/recordertest"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/scenarios"
)

// scripted returns a series whose runs leave nothing but an entry in calls.
func scripted(t *testing.T, code int, err error) (s *Series, calls *[][]string) {
	t.Helper()
	calls = &[][]string{}
	s = &Series{Base: "base", Head: "head", Scenario: "s", Load: scenarios.Overrides{"clients": {"1,2"}, "hold": {"1ms"}}, Folder: t.TempDir(),
		Seed: 1, Progress: io.Discard}
	s.start = func(_ context.Context, binary string, args []string, log io.Writer) (int, error) {
		*calls = append(*calls, append([]string{binary}, args...))
		_, _ = io.WriteString(log, "its last words\n")
		return code, err
	}
	return s, calls
}

// Both sides of a pair have the same seed, and their order is drawn. The variants to confirm replace those of the user.
func TestPairs(t *testing.T) {
	s, calls := scripted(t, 0, nil)
	must.Get(s.Measure(t.Context(), 20, s.Load.With(scenarios.Overrides{"clients": {"2"}}), nil))(t)
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
	if len(s.Unreadable) != 40 { // runs that leave nothing are evidence of nothing
		t.Errorf("%d unreadable folders", len(s.Unreadable))
	}
}

func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		name string
		code int
		err  error
		want int // its exit code
		says string
	}{
		{"a run that could not start", 0, errors.New("no such file"), outcome.CodeFailed, "no such file"},
		{"a run that failed", outcome.CodeFailed, nil, outcome.CodeFailed, "its last words"},
		{"a mistake in flags", outcome.CodeUsage, nil, outcome.CodeFailed, "its last words"},
		{"a broken promise without a result", outcome.CodeBroken, nil, outcome.CodeBroken, "broke its promise"},
	} {
		s, _ := scripted(t, tt.code, tt.err)
		_, err := s.Measure(t.Context(), 5, s.Load, nil)
		if err == nil || !slices.Equal(outcome.CodesOf(err), []int{tt.want}) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	s, calls := scripted(t, 0, nil)
	useless := func(Pair) error { return errors.New("no such metric") }
	if _, err := s.Measure(t.Context(), 5, s.Load, useless); !slices.Equal(outcome.CodesOf(err), []int{outcome.CodeInvalid}) || len(*calls) != 2 {
		t.Errorf("nothing to judge: %v after %d runs", err, len(*calls))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, calls = scripted(t, 1, nil)
	if _, err := s.Measure(ctx, 5, s.Load, nil); !errors.Is(err, context.Canceled) || len(*calls) != 1 {
		t.Errorf("interrupted: %v after %d runs", err, len(*calls))
	}
}

func measured(t *testing.T) *results.Document {
	t.Helper()
	d := &results.Document{
		Schema: results.Schema, Run: "r", Started: time.Unix(0, 0), Recipe: "lock", Variant: "znode", Kind: "naive", Clients: 1, Repeat: 1,
		Scenario:    results.Scenario{Name: "s", Mode: results.ClosedMode, Size: 1, Operations: 1, Clients: []int{1}, Repeats: 1},
		Environment: results.Environment{Engine: "container", Servers: []string{"a:1"}, SessionTimeout: time.Second},
		Phases:      []string{"handoff"}, Operation: "handoff", Batch: 1, Waiting: []string{}, UntimedPhases: []string{}, Shares: []results.Share{},
		Counts:   results.Counts{Requests: map[string]int64{"exists": 4}, Failed: map[string]int64{}},
		Expected: results.Expected{Costs: map[string]results.Cost{}},
		Oracle:   results.Oracle{Checked: true},
		Warnings: []string{}, Invalid: []string{},
	}
	m := recordertest.Measurement{Window: recordertest.Stretch{End: time.Second}}
	m.Spans = append(m.Spans, recordertest.Span{Phase: "handoff", End: time.Second})
	m.Complete(d)
	return d
}

// The results of one side are kept if the other one fails.
func TestKeepsWhatItFound(t *testing.T) {
	s, _ := scripted(t, 0, nil)
	runs := 0
	s.start = func(_ context.Context, _ string, args []string, _ io.Writer) (int, error) {
		if runs++; runs == 4 {
			return 0, errors.New("out of memory")
		}
		d := measured(t)
		d.Violations = []results.Violation{{Text: "two holders"}}
		d.Metrics[metric.Violations] = results.Metric{Value: 1, Unit: "violations"}
		dir := args[slices.Index(args, "--out")+1]
		return outcome.CodeBroken, errors.Join(os.MkdirAll(dir, 0o755), store.Write(d, dir))
	}
	pairs, err := s.Measure(t.Context(), 5, s.Load, nil)
	if err == nil || len(pairs) != 2 || len(pairs[0][0]) != 1 || len(pairs[0][1]) != 1 || len(pairs[1][0])+len(pairs[1][1]) != 1 {
		t.Errorf("%v, %v", pairs, err)
	}
}

// A build whose results cannot be read ends the series, and measuring again would not help.
func TestAnotherSchema(t *testing.T) {
	s, calls := scripted(t, 0, nil)
	s.start = func(_ context.Context, binary string, args []string, _ io.Writer) (int, error) {
		*calls = append(*calls, args)
		dir := args[slices.Index(args, "--out")+1]
		if binary == "base" {
			return outcome.CodePass, errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "s_lock-znode_n1_r1.json"), []byte(`{"schema": 1}`), 0o600))
		}
		return outcome.CodePass, errors.Join(os.MkdirAll(dir, 0o755), store.Write(measured(t), dir))
	}
	_, err := s.Measure(t.Context(), 5, s.Load, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "the base build writes results of another schema") || len(*calls) > 2 || len(s.Unreadable) > 0 ||
		!slices.Equal(outcome.CodesOf(err), []int{outcome.CodeInvalid}) {
		t.Errorf("after %d runs: %v, %v", len(*calls), err, s.Unreadable)
	}
}

// Another run's ensemble with the same name is neither used nor taken down.
func TestShareLeavesOthersAlone(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var said strings.Builder
	opts := ensemble.Options{Name: fmt.Sprintf("test-theirs-%d", os.Getpid()), Home: t.TempDir(), Progress: &said}
	started := 0
	starts := func(ensemble.Engine) (done func()) { started++; return func() { started-- } }
	cache := must.Get(os.UserCacheDir())(t)
	theirs := filepath.Join(cache, "zkbench", "process", opts.Name)
	must.Do(t, os.MkdirAll(theirs, 0o755))
	claim := must.Get(ensemble.TryLock("process-" + opts.Name))(t)
	choice := auto.Choice{Engine: string(ensemble.Process)}
	if _, down, err := Share(t.Context(), choice, opts, starts); !errors.Is(err, ensemble.ErrBusy) || strings.Count(err.Error(), ensemble.ErrBusy.Error()) != 1 || down != nil {
		t.Errorf("shared what another one has, or tried to take it down: %v", err)
	}
	must.Get(os.Stat(theirs))(t)
	must.Do(t, claim.Release())
	if said.Len() > 0 { // such as a command that removes it
		t.Errorf("said %q", said.String())
	}
	if started != 0 {
		t.Errorf("%d ensembles count as started", started)
	}
}

// The runs on servers that are up get the flags that find them, and what others have started is not taken down.
func TestShareFindsServers(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{})
	opts := ensemble.Options{Name: "test-found", Voters: 3, Lag: time.Second, Progress: io.Discard}
	for _, tt := range []struct {
		choice auto.Choice
		want   string
	}{
		{auto.Choice{Servers: server.Addr()}, "--servers " + server.Addr()},
		{auto.Choice{Engine: string(ensemble.Embedded)}, "--ensemble embedded --name test-found --voters 3 --lag 1s"},
	} {
		where, down, err := Share(t.Context(), tt.choice, opts, func(ensemble.Engine) (done func()) { return func() {} })
		if err != nil || strings.Join(where, " ") != tt.want {
			t.Errorf("%v, %v; want %s", where, err, tt.want)
		}
		must.Do(t, down(t.Context()))
	}
	must.Get(ensemble.Srvr(t.Context(), server.Servers()[0]))(t)
}
