package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/campaign"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

const bisectFlag = "bisect"

type gateFlags struct {
	rules, baseline   string
	outputs           map[string]*string // files to write, by flag
	require           []string
	selfTest, verbose bool
	scenario          string
	pairs             pairFlags
}

func gateCommand(a *app) *cobra.Command {
	var f gateFlags
	cmd := &cobra.Command{
		Use: "gate [RESULT…]", Short: "Check results: pass, regression or inconclusive",
		Long: `Check results, such as in CI. A RESULT is a run's folder or single files of it,
or the folder or JSON file of 'zkbench capacity'. Without one, the newest run in
` + defaultRuns + ` is checked, except in CI (the variable CI is set), where a RESULT
must be named.

Each result must have kept its recipe's promise, be valid and complete, and
agree with the servers' own counters. If a scenario ran unchanged, its own
claims (expect:) are checked. --rules adds your claims, and --baseline checks
the counts that 'zkbench baseline save' has stored. The verdict and what
decided it are printed; --verbose lists all checks.

With --run, another build is measured beside this one, in pairs of runs on one
ensemble. What differs is measured again in further pairs; only what both blocks
show is a regression. docs/statistics.md has the tests and what they can detect.

Exit codes, first that applies: 4 a recipe broke its promise; 1 could not run;
5 invalid, inconclusive, or no results; 3 regression; 0 pass. Mistakes in flags
and files are 2.`,
		Example: `  zkbench gate
  zkbench gate results/runs/20260102T030405Z-ab12 --baseline results/baselines
  zkbench gate --rules objectives.yaml --junit gate.xml --json gate.json
  zkbench gate out/capacity --rules objectives.yaml
  zkbench gate --run lock-contention --base-binary ./zkbench-main --clients 20
  git bisect run sh -c './measure.sh out; zkbench gate out --bisect'
  zkbench gate --self-test`,
		// The files of an earlier gate go before any other check.
		Args:              func(_ *cobra.Command, args []string) error { return f.clearOutputs(args) },
		ValidArgsFunction: runFolders,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.gate(cmd, args, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.rules, "rules", "", "YAML `file` with claims to check")
	flags.StringVar(&f.baseline, "baseline", "", "`folder` with baselines of counts")
	flags.StringSliceVar(&f.require, "require", nil, "scenarios that must have a result, or a group\nof scenarios such as exact")
	f.outputs = map[string]*string{
		"json":     flags.String("json", "", "write the verdict to this JSON `file`"),
		"junit":    flags.String("junit", "", "write it to this JUnit XML `file`"),
		"markdown": flags.String("markdown", "", "write it to this Markdown `file`"),
		"benchfmt": flags.String("benchfmt", "", "write the metrics to this `file` for benchstat"),
	}
	for _, format := range report.TrendFormats() {
		f.outputs[format] = flags.String(format, "", "write counts to this `file`, for a chart over\ncommits by the program of this name")
	}
	putInGroup(cmd, outputFlags, slices.Collect(maps.Keys(f.outputs))...)
	flags.Bool(bisectFlag, false, "for 'git bisect run': exit with 125 (skip) in place\nof 1, 2 and 5")
	flags.BoolVar(&f.verbose, "verbose", false, "also list the checks that passed, and all notes")
	flags.BoolVar(&f.selfTest, "self-test", false, "check the gate with synthetic results")
	putInGroup(cmd, checkFlags)
	flags.StringVar(&f.scenario, "run", "", "measure this `scenario` with both builds")
	f.pairs.bind(a, cmd, "metrics to compare (default: requests,\nnotifications, throughput, p50 and p90)")
	flags.IntVar(&f.pairs.rules.Rule.ConfirmPairs, "confirm", 20, "pairs that confirm a difference")
	flags.StringVar(&f.pairs.series.Base, "base-binary", "", "the build to compare with, for --run")
	flags.StringVar(&f.pairs.series.Head, "head-binary", "", "the build to check (default this one)")
	putInGroup(cmd, pairedFlags)
	return cmd
}

func (f gateFlags) check(cmd *cobra.Command, args []string) error {
	withoutRun := slices.AppendSeq([]string{"run", "rules", "baseline", "require", "self-test", "verbose", bisectFlag}, maps.Keys(f.outputs))
	pairsOnly := given(cmd, func(flag *pflag.Flag) bool { return !slices.Contains(withoutRun, flag.Name) })
	others := given(cmd, func(flag *pflag.Flag) bool { return flag.Name != "self-test" })
	isSet := func(name string) bool { return os.Getenv(name) != "" && os.Getenv(name) != "false" }
	switch {
	case f.selfTest && len(args)+len(others) > 0:
		return errors.New("--self-test checks synthetic results: give neither results nor other flags")
	case f.scenario == "" && len(pairsOnly) > 0:
		return fmt.Errorf("%s: for --run only", strings.Join(pairsOnly, ", "))
	case f.scenario != "" && len(args) > 0:
		return errors.New("--run measures the results that it checks: give no results")
	case f.scenario != "" && f.pairs.series.Base == "":
		return errors.New("--run needs --base-binary, the build to compare with")
	case f.scenario != "" && len(f.baseline+f.rules)+len(f.require) > 0:
		return errors.New("--run compares two builds: use --rules, --baseline and --require in a separate call")
	case !f.selfTest && f.scenario == "" && len(args) == 0 && (isSet("CI") || isSet("GITHUB_ACTIONS")):
		return errors.New("which RESULT? in CI ($CI, $GITHUB_ACTIONS) the newest run may come from an earlier job: name a folder or files")
	}
	return nil
}

// clearOutputs removes the files of an earlier gate. If this gate fails, a reader could otherwise take them for its verdict.
func (f gateFlags) clearOutputs(args []string) error {
	read := []string{f.rules, f.pairs.series.Base, f.pairs.series.Head, f.pairs.cache}
	for _, arg := range args {
		read = append(append(read, arg), gate.Files(arg)...)
	}
	sameFile := func(a, b string) bool {
		x, errX := os.Stat(a)
		y, errY := os.Stat(b)
		return errX == nil && errY == nil && os.SameFile(x, y)
	}
	used := map[string]string{} // flags by the file that they write
	for _, flag := range slices.Sorted(maps.Keys(f.outputs)) {
		path := *f.outputs[flag]
		if path == "" {
			continue
		}
		if slices.ContainsFunc(read, func(file string) bool { return sameFile(file, path) }) {
			return usage(fmt.Errorf("--%s %s is also an input: choose another file", flag, path))
		}
		if other := used[filepath.Clean(path)]; other != "" {
			return usage(fmt.Errorf("--%s and --%s would write to one file: choose two files", flag, other))
		}
		used[filepath.Clean(path)] = flag
	}
	for _, flag := range slices.Sorted(maps.Keys(f.outputs)) {
		if err := removeFormer(flag, *f.outputs[flag]); err != nil { // the path as it was given: a cleaned one may be another file
			return err
		}
	}
	return nil
}

func (a *app) gate(cmd *cobra.Command, args []string, f gateFlags) error {
	if err := f.check(cmd, args); err != nil {
		return usage(err)
	}
	if f.selfTest {
		return a.selfTest()
	}
	rules, err := f.read(cmd.Context())
	if err != nil {
		return usage(err)
	}
	var evidence gate.Evidence
	var notes []string
	if f.scenario != "" {
		evidence, notes, err = a.measurePairs(cmd, f.scenario, &f.pairs)
		rules.Paired = f.pairs.rules
	} else {
		evidence, notes, err = existing(args)
	}
	if err != nil && len(evidence.Head()) == 0 {
		return err
	}
	held, skipped := scenarios.Expectations(evidence.Head(), catalog.Recipes())
	for _, e := range held {
		rules.Assertions = append(rules.Assertions, gate.Assertion{Claim: e.Claim, Source: gate.FromScenario, Scenario: e.Scenario})
	}
	verdict := gate.Evaluate(evidence, rules)
	verdict.Notes = slices.Concat(notes, verdict.Notes, skipped)
	return errors.Join(err, a.deliver(cutShort(verdict, err), evidence, f))
}

// read reads rules and baselines. Its error lists all mistakes in them.
func (f gateFlags) read(ctx context.Context) (gate.Rules, error) {
	required, err := requiredNames(f.require)
	rules := gate.Rules{Required: required, VariantsOf: variantsOf, Names: gateNames(), Verbose: f.verbose}
	if f.rules != "" {
		text, mistake := store.ReadText(ctx, f.rules)
		if mistake == nil {
			rules.Assertions, mistake = gate.ParseRules(f.rules, text, rules.Names)
		}
		err = errors.Join(err, mistake)
	}
	if f.baseline != "" {
		baselines, mistake := gate.ReadBaselines(f.baseline)
		rules.Baselines, err = baselines, errors.Join(err, mistake)
	}
	for flag, path := range f.outputs {
		err = errors.Join(err, checkFile(flag, *path))
	}
	return rules, err
}

func requiredNames(given []string) (names []string, err error) {
	for _, name := range list.Distinct(given) {
		group, groupErr := scenarios.Group(name, catalog.Recipes())
		err = errors.Join(err, groupErr)
		members := list.Map(group, func(s scenarios.Scenario) string { return s.Name })
		if members == nil {
			members = []string{name}
		}
		names = list.AppendNew(names, members...)
	}
	return names, err
}

// gateNames returns the names that rules may use: of the embedded scenarios, and for any other the variants and metrics of all recipes.
func gateNames() gate.Names {
	names := gate.Names{Scenarios: map[string]gate.Subject{}}
	ofRecipe := map[string]gate.Subject{}
	for _, recipe := range catalog.Recipes() {
		s := gate.Subject{
			Metrics:  append(scenarios.MetricNames(recipe), metric.Capacity),
			Variants: list.Map(recipe.All(), func(v variants.Variant) string { return v.Name }),
		}
		ofRecipe[recipe.Name] = s
		names.Any.Variants = append(names.Any.Variants, s.Variants...)
		names.Any.Metrics = append(names.Any.Metrics, s.Metrics...)
	}
	for _, name := range scenarios.Names() {
		if s, err := scenarios.Load(name, catalog.Recipes()); err == nil {
			names.Scenarios[name] = ofRecipe[s.Recipe]
		}
	}
	return names
}

func variantsOf(d *results.Document) []string {
	s := scenarios.Scenario{Scenario: results.Scenario{Mode: d.Scenario.Mode}, Recipe: d.Recipe}
	return list.Map(s.SelectedAmong(catalog.Recipes()), func(v variants.Variant) string { return v.Name })
}

// measurePairs measures pairs of runs of a scenario. After a failure, it returns the evidence that it has.
func (a *app) measurePairs(cmd *cobra.Command, scenario string, f *pairFlags) (evidence gate.Evidence, notes []string, err error) {
	if err = f.complete(cmd.Context(), scenario); err == nil {
		f.rules.Calibration, err = gate.ReadCalibration(f.cache)
	}
	if err != nil {
		return evidence, nil, usage(err)
	}
	err = a.withSeries(cmd, scenario, *f, func(ctx context.Context, s *campaign.Series) error {
		if s.SameBuild() {
			notes = append(notes, "both sides are the same build (an A/A comparison)")
		}
		pairs, err := s.Compare(ctx, f.rules)
		evidence = gate.Evidence{Pairs: &pairs, Unreadable: s.Unreadable}
		return err
	})
	return evidence, notes, err
}

func cutShort(report gate.Report, err error) gate.Report {
	if err == nil {
		return report
	}
	c := gate.Check{Rule: "all pairs measured", Source: gate.FromPairs, Outcome: outcome.Error, Why: err.Error()}
	switch codes := outcome.CodesOf(err); {
	case errors.Is(err, context.Canceled):
		c.Why = "interrupted"
	case slices.Contains(codes, outcome.CodeBroken):
		c.Outcome = outcome.Violation
	case !slices.ContainsFunc(codes, func(code int) bool { return code != outcome.CodeInvalid }):
		c.Outcome = outcome.Inconclusive
	}
	cut := gate.NewReport(append(report.Checks, c), report.Notes)
	if errors.Is(err, context.Canceled) {
		cut.Code = outcome.CodeInterrupted
	}
	return cut
}

// existing reads results. If none are named, it reads the newest run and returns a note with its name.
func existing(paths []string) (evidence gate.Evidence, notes []string, err error) {
	found, err := orNewest(paths)
	if err != nil {
		return evidence, nil, err
	}
	evidence = gate.Read(found)
	if len(paths) > 0 {
		return evidence, nil, nil
	}
	note := "checked " + found[0]
	if docs := slices.Concat(evidence.Documents, evidence.Trials); len(docs) > 0 {
		note += ", measured at " + docs[0].Started.UTC().Format(time.DateTime) + " UTC"
	}
	return evidence, []string{note}, nil
}

func (a *app) deliver(verdict gate.Report, evidence gate.Evidence, f gateFlags) (err error) {
	verdict.WriteText(a.stdout, a.width(), f.verbose)
	if os.Getenv("GITHUB_ACTIONS") == "true" {
		verdict.WriteAnnotations(a.stdout)
	}
	write := map[string]func(path string) error{
		"json": verdict.WriteJSON, "junit": verdict.WriteJUnit, "markdown": verdict.WriteMarkdown, "benchfmt": evidence.WriteBenchfmt,
	}
	for _, format := range report.TrendFormats() {
		write[format] = func(path string) error { return writeTrend(path, format, evidence.Head()) }
	}
	for flag, write := range write {
		if path := *f.outputs[flag]; path != "" {
			err = errors.Join(err, write(path))
		}
	}
	if verdict.Code != outcome.CodePass {
		err = errors.Join(err, outcome.With(verdict.Code, nil)) // the table has the reasons
	}
	return err
}

func writeTrend(path, format string, docs []*results.Document) error {
	var text bytes.Buffer
	if err := report.WriteTrend(&text, format, summary.Of(docs)); err != nil {
		return err
	}
	return store.WriteFile(path, text.Bytes())
}

func (a *app) selfTest() error {
	t := table.New(table.Left("case", "must exit", "exits", "verdict", "")...)
	missed := 0
	for _, c := range gate.SelfTest(time.Now()) {
		mark := "correct"
		if c.Report.Code != c.Want {
			mark = "WRONG"
			missed++
		}
		t.Row(c.Name, c.Want, c.Report.Code, c.Report.Verdict, mark)
	}
	fmt.Fprintln(a.stdout, t)
	if missed > 0 {
		return fmt.Errorf("%d verdicts of the self-test are wrong: do not rely on this gate", missed)
	}
	return nil
}
