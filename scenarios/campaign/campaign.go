// Package campaign measures pairs of runs of two builds of zkbench on one ensemble.
//
// It takes one position: only the build may differ within a pair. Both runs have the same flags and the same seed, and a
// random draw decides which one comes first, so that neither drift nor an intermittent load favours one side.
package campaign

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/scenarios"
)

// Pair has the documents of both sides, the base first.
type Pair = [2][]*results.Document

// Series is a series of pairs of runs, one run of each of two builds.
type Series struct {
	Base, Head string // executables
	Scenario   string
	Load       scenarios.Overrides // of all runs
	Where      []string            // the flags by which a run finds the ensemble, see [Share]
	Folder     string              // for the results and logs
	Seed       uint64              // decides the order within pairs and the seeds of the runs
	Progress   io.Writer           // gets a line for each run

	Unreadable []error // results that could not be read

	start  func(ctx context.Context, binary string, args []string, log io.Writer) (exitCode int, err error) // nil starts a process
	random *rand.Rand
	orders []string // which side of each pair came first
}

// SameBuild reports whether both sides are the same build.
func (s *Series) SameBuild() bool {
	base, errBase := os.ReadFile(s.Base)
	head, errHead := os.ReadFile(s.Head)
	return errBase == nil && errHead == nil && bytes.Equal(base, head)
}

// Compare measures the pairs that the rules ask for, and further pairs of flagged variants. If it fails, it returns the pairs so far.
func (s *Series) Compare(ctx context.Context, rules gate.PairRules) (pairs gate.Pairs, err error) {
	rule := rules.Rule
	if pairs.Screen, err = s.Measure(ctx, rule.ScreenPairs, s.Load, rules.CheckPair); err != nil {
		return pairs, err
	}
	if metrics, variants, clients := pairs.Flagged(rules); len(metrics) > 0 {
		fmt.Fprintf(s.Progress, "the first %d pairs suggest that %s got worse with %s: measuring %d further pairs to confirm it\n",
			rule.ScreenPairs, strings.Join(metrics, ", "), strings.Join(variants, ", "), rule.ConfirmPairs)
		load := s.Load.With(scenarios.Overrides{"variants": variants, "clients": list.Map(clients, strconv.Itoa)})
		pairs.Confirm, err = s.Measure(ctx, rule.ConfirmPairs, load, nil)
	}
	return pairs, err
}

// Measure measures further pairs of a series. It ends, with [outcome.CodeInvalid], if check refuses the first one. If it fails,
// it returns the pairs so far, and the last of them may lack one side.
func (s *Series) Measure(ctx context.Context, pairs int, load scenarios.Overrides, check func(Pair) error) ([]Pair, error) {
	var out []Pair
	last := len(s.orders) + pairs
	for range pairs {
		pair, err := s.pair(ctx, last, load)
		out = append(out, pair)
		if err != nil {
			return out, err
		}
		if len(out) == 1 && check != nil {
			if err := check(pair); err != nil {
				err = fmt.Errorf("stopped, as further pairs cannot correct this: %w (%s)", err, s.Folder)
				return out, outcome.With(outcome.CodeInvalid, err)
			}
		}
	}
	return out, nil
}

// pair measures the next pair. last is the number of planned pairs.
func (s *Series) pair(ctx context.Context, last int, load scenarios.Overrides) (pair Pair, err error) {
	if s.random == nil {
		s.random = rand.New(rand.NewPCG(s.Seed, 0))
	}
	first := s.random.IntN(2)
	load = load.With(scenarios.Overrides{"repeats": {"1"}, "seed": {strconv.FormatUint(s.random.Uint64(), 10)}})
	s.orders = append(s.orders, gate.Sides()[first]+" first")
	for _, side := range []int{first, 1 - first} {
		fmt.Fprintf(s.Progress, "%s [pair %d/%d] %s\n", s.Scenario, len(s.orders), last, gate.Sides()[side])
		if pair[side], err = s.run(ctx, side, load); err != nil {
			break
		}
	}
	return pair, err
}

// run measures one side of the current pair and returns its documents. Invalid results and broken recipes are not errors, because the
// gate finds them in the documents, unless only the head's exit code reports a broken recipe.
func (s *Series) run(ctx context.Context, side int, load scenarios.Overrides) ([]*results.Document, error) {
	dir := filepath.Join(s.Folder, fmt.Sprintf("pair-%02d", len(s.orders)), gate.Sides()[side])
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	log, err := os.Create(dir + ".log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	binary := []string{s.Base, s.Head}[side]
	args := slices.Concat([]string{"run", s.Scenario, "--out", dir}, s.Where, load.Arguments())
	start := s.start
	if start == nil {
		start = startProcess
	}
	code, err := start(ctx, binary, args, log)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case !slices.Contains([]int{outcome.CodePass, outcome.CodeRegression, outcome.CodeBroken, outcome.CodeInvalid}, code):
		return nil, fmt.Errorf("%s %s exited with %d:\n%s", binary, strings.Join(args, " "), code, lastLines(log.Name()))
	}
	evidence := gate.Read([]string{dir})
	if errors.Is(errors.Join(evidence.Unreadable...), store.ErrSchema) {
		err := fmt.Errorf("the %s build writes results of another schema than this zkbench: both builds must write the same", gate.Sides()[side])
		return nil, outcome.With(outcome.CodeInvalid, err)
	}
	s.Unreadable = append(s.Unreadable, evidence.Unreadable...)
	broken := slices.ContainsFunc(evidence.Documents, (*results.Document).Broken)
	if gate.Sides()[side] == "head" && code == outcome.CodeBroken && !broken {
		return nil, outcome.With(outcome.CodeBroken, fmt.Errorf("a recipe broke its promise: see %s", log.Name()))
	}
	return evidence.Documents, nil
}

func lastLines(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(len(lines)-5, 0):], []byte("\n")))
}

// startProcess runs a binary in its own process group until it exits, or, on Linux, until zkbench is killed. A Ctrl-C on the terminal then
// interrupts it once, through ctx. A second interrupt would make it exit before it has taken down its ensemble.
func startProcess(ctx context.Context, binary string, args []string, log io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = ensemble.ChildAttributes()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	err := cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return outcome.CodePass, err
}

// Arguments returns the flags that all runs have.
func (s *Series) Arguments() []string { return slices.Concat(s.Load.Arguments(), s.Where) }

// Record stores in the folder how the pairs were measured.
func (s *Series) Record() error {
	return store.WriteSealed(filepath.Join(s.Folder, "campaign.json"), map[string]any{
		"scenario": s.Scenario, "base": s.Base, "head": s.Head, "args": s.Arguments(), "order_seed": s.Seed, "orders": s.orders,
	})
}
