package main

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
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/strict"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

// defaultCampaigns is the folder for pairs of runs.
const defaultCampaigns = "results/campaigns"

// pairFlags are the flags of `zkbench gate --run` and `zkbench calibrate`.
type pairFlags struct {
	base, head     string
	pairs, confirm int
	metrics        []string
	seed           uint64
	out            string
	cache          string
	load           loadFlags
	ensemble       ensembleFlags
}

func (f *pairFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.pairs, "pairs", 10, "pairs of runs to measure")
	flags.Uint64Var(&f.seed, "order-seed", 0, "seed of the order within pairs (default random)")
	flags.StringVar(&f.out, "out", "", "folder for runs (default "+defaultCampaigns+"/…)")
	flags.StringVar(&f.cache, "cache", "", "`file` with calibrations\n(default in the user's cache folder)")
	f.load = bindLoad(cmd)
	f.ensemble.bind(cmd)
}

// cacheFile returns the path of the file with calibrations.
func (f *pairFlags) cacheFile() (string, error) {
	if f.cache != "" {
		return f.cache, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", usage(fmt.Errorf("%w: name a file for calibrations with --cache", err))
	}
	return filepath.Join(dir, "zkbench", "calibration.json"), nil
}

// startFunc runs a zkbench binary until it exits, writes its output to log, and returns its exit code.
type startFunc func(ctx context.Context, binary string, args []string, log io.Writer) (code int, err error)

// campaign is a series of pairs of runs, one run of each of two builds, on one ensemble.
type campaign struct {
	base, head string
	scenario   string
	load       loadFlags // of all runs
	where      []string  // flags by which a run finds the ensemble
	dir        string
	random     *rand.Rand
	progress   io.Writer
	start      startFunc
	checkPair  func(pair [2][]*results.Document) error // called with the first pair; nil accepts all pairs

	done       int      // the number of pairs so far, including the current one
	orders     []string // which side of each pair came first
	unreadable []error
}

// measure measures further pairs. If it fails, it returns the pairs so far, and the last of them may lack one side.
// changed replaces flags of the load.
func (c *campaign) measure(ctx context.Context, pairs int, changed loadFlags) ([][2][]*results.Document, error) {
	var out [][2][]*results.Document
	last := c.done + pairs
	for range pairs {
		c.done++
		first := c.random.IntN(2) // random, so that neither drift nor periodic load favours one side
		seed := strconv.FormatUint(c.random.Uint64(), 10)
		c.orders = append(c.orders, gate.Sides()[first]+" first")
		var pair [2][]*results.Document
		for _, side := range []int{first, 1 - first} {
			fmt.Fprintf(c.progress, "%s [pair %d/%d] %s\n", c.scenario, c.done, last, gate.Sides()[side])
			docs, err := c.run(ctx, side, c.load.with(changed).with(loadFlags{"repeats": {"1"}, "seed": {seed}}))
			pair[side] = docs
			if err != nil {
				return append(out, pair), err
			}
		}
		out = append(out, pair)
		if c.done == 1 && c.checkPair != nil {
			if err := c.checkPair(pair); err != nil {
				return out, exitError{outcome.CodeInvalid, fmt.Errorf("stopped, as further pairs cannot correct this: %w (%s)", err, c.dir)}
			}
		}
	}
	return out, nil
}

// run measures one side of the current pair and returns its documents. It returns no error for invalid results and
// broken recipes, because the gate finds them in the documents. Exception: if the head's exit code reports a broken
// recipe that is in no document, run returns an error.
func (c *campaign) run(ctx context.Context, side int, load loadFlags) ([]*results.Document, error) {
	dir := filepath.Join(c.dir, fmt.Sprintf("pair-%02d", c.done), gate.Sides()[side])
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	log, err := os.Create(dir + ".log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	binary := []string{c.base, c.head}[side]
	args := slices.Concat([]string{"run", c.scenario, "--out", dir}, c.where, load.arguments())
	code, err := c.start(ctx, binary, args, log)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	case !slices.Contains([]int{outcome.CodePass, outcome.CodeRegression, outcome.CodeBroken, outcome.CodeInvalid}, code):
		return nil, fmt.Errorf("%s %s exited with %d:\n%s", binary, strings.Join(args, " "), code, lastLines(log.Name()))
	}
	evidence := gate.Read([]string{dir})
	c.unreadable = append(c.unreadable, evidence.Unreadable...)
	broken := slices.ContainsFunc(evidence.Documents, (*results.Document).Broken)
	if gate.Sides()[side] == "head" && code == outcome.CodeBroken && !broken {
		return nil, exitError{outcome.CodeBroken, fmt.Errorf("a recipe broke its promise: see %s", log.Name())}
	}
	return evidence.Documents, nil
}

// lastLines returns the last five lines of a log.
func lastLines(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(len(lines)-5, 0):], []byte("\n")))
}

// startProcess runs a binary in its own process group. A Ctrl-C on the terminal then interrupts it once, through ctx. A
// second interrupt would make it exit before it has taken down its ensemble.
func startProcess(ctx context.Context, binary string, args []string, log io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	err := cmd.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return outcome.CodePass, err
}

// measurePairs measures pairs of runs of a scenario. If the first pairs flag variants, it measures further pairs of
// these.
func (a *app) measurePairs(cmd *cobra.Command, scenario string, f *pairFlags, rules *gate.PairRules) (evidence gate.Evidence, notes []string, err error) {
	rules.Rule.ScreenPairs, rules.Rule.ConfirmPairs, rules.Metrics = f.pairs, f.confirm, list.Map(f.metrics, metric.WithUnit)
	if err := rules.Validate(); err != nil {
		return evidence, nil, usage(err)
	}
	cache, err := f.cacheFile()
	if err != nil {
		return evidence, nil, err
	}
	if rules.Calibration, err = gate.ReadCalibration(cache); err != nil {
		return evidence, nil, usage(err)
	}
	err = a.withCampaign(cmd, scenario, f, func(ctx context.Context, c *campaign) (err error) {
		if sameContent(c.base, c.head) {
			notes = append(notes, "both sides are the same build (an A/A comparison)")
		}
		c.checkPair = rules.CheckPair
		p := &gate.Pairs{}
		defer func() { evidence = gate.Evidence{Pairs: p, Unreadable: c.unreadable} }() // after a failure, too
		if p.Screen, err = c.measure(ctx, f.pairs, nil); err != nil {
			return err
		}
		if variants, clients := p.Flagged(*rules); len(variants) > 0 {
			fmt.Fprintf(a.stderr, "the first %d pairs suggest a slowdown of %s: measuring %d further pairs to confirm it\n",
				f.pairs, strings.Join(variants, ", "), f.confirm)
			p.Confirm, err = c.measure(ctx, f.confirm, loadFlags{"variants": variants, "clients": list.Map(clients, strconv.Itoa)})
		}
		return err
	})
	return evidence, notes, err
}

// sameContent reports whether two files can be read and are equal.
func sameContent(a, b string) bool {
	x, errX := os.ReadFile(a)
	y, errY := os.ReadFile(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// checkMetrics returns an error for a metric that no measurement of the recipe has. Those of percentiles that documents do not list,
// such as acquire-p99.9, are computed from histograms.
func checkMetrics(recipe variants.Recipe, metrics []string) error {
	known := scenarios.MetricNames(recipe)
	for _, name := range metrics {
		m := metric.Named(metric.WithUnit(name))
		ofTimes := m.Kind == metric.KindTime && slices.Contains(known, metric.Quantile(m.Phase, 99))
		if !slices.Contains(known, m.Name) && !ofTimes {
			return fmt.Errorf("--metrics: recipe %s has no metric %q%s", recipe.Name, name, strict.Nearest(m.Name, known))
		}
	}
	return nil
}

// joined returns the numbers with the separator between them.
func joined(numbers []int, separator string) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", separator), "[]")
}

// withCampaign prepares a campaign, starts its ensemble, calls measure, and takes the ensemble down.
func (a *app) withCampaign(cmd *cobra.Command, scenario string, f *pairFlags, measure func(context.Context, *campaign) error) (err error) {
	c, err := a.newCampaign(cmd, scenario, f)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	where, down, err := a.share(ctx, f.ensemble, cmd.Flags().Changed("name"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, down(context.WithoutCancel(ctx))) }()
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	c.where = where
	args := slices.Concat(c.load.arguments(), where)
	fmt.Fprintf(a.stderr, "results and logs are kept in %s; all runs have the flags %s\n", c.dir, strings.Join(args, " "))
	err = measure(ctx, c)
	return errors.Join(err, store.WriteSealed(filepath.Join(c.dir, "campaign.json"), map[string]any{
		"scenario": scenario, "base": c.base, "head": c.head, "args": args, "order_seed": f.seed, "orders": c.orders,
	}))
}

// newCampaign checks flags and files, and returns a campaign without an ensemble.
func (a *app) newCampaign(cmd *cobra.Command, scenario string, f *pairFlags) (*campaign, error) {
	if err := f.ensemble.check(); err != nil {
		return nil, err
	}
	s, err := f.load.scenario(scenario, catalog.Recipes())
	if err == nil {
		err = checkMetrics(*s.RecipeAmong(catalog.Recipes()), f.metrics)
	}
	if err != nil {
		return nil, usage(err)
	}
	own, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &campaign{base: f.base, head: f.head, scenario: scenario, load: f.load, dir: f.out, progress: a.stderr, start: startProcess}
	for _, binary := range []*string{&c.base, &c.head} {
		if *binary == "" {
			*binary = own
		}
		if *binary, err = exec.LookPath(*binary); err != nil {
			return nil, usage(fmt.Errorf("%w: name an executable zkbench, such as ./old-zkbench", err))
		}
	}
	if c.dir == "" {
		c.dir = filepath.Join(defaultCampaigns, newRun())
	}
	if entries, err := os.ReadDir(c.dir); err == nil && len(entries) > 0 {
		return nil, usage(fmt.Errorf("--out %s is not empty: choose another folder", c.dir))
	}
	if !cmd.Flags().Changed("order-seed") {
		f.seed = rand.Uint64() //nolint:gosec // no secret
	}
	c.random = rand.New(rand.NewPCG(f.seed, 0)) //nolint:gosec // no secret
	return c, checkFolder("out", c.dir)
}
