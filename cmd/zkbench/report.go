package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/plots/page"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/claim"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/grouping"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/progress"
	"github.com/zkbench/zkbench/variants/catalog"
)

func reportCommand(a *app) *cobra.Command {
	var overview bool
	var html, format string
	cmd := &cobra.Command{
		Use: "report [RESULT…]", Short: "Show the tables of results again",
		Long: `Show what 'zkbench run' printed: the comparison of the variants, and warnings
about the numbers. A RESULT is a run's folder or single files of it. Without
one, the newest run in ` + defaultRuns + ` is shown.

With --format csv or json, each variant under each load is one row, with all its
metrics, for scripts and notebooks; docs/report.md has examples.

With --overview, only the answers are shown: how the two variants of each
scenario's pair differ at the largest number of clients. The scenario's field
overview: selects the pair and the metrics. --format markdown writes a table.

With --html, everything is written as one page for a browser, which needs
nothing else. With two or more runs, the page also compares them under the rules
of 'zkbench compare'.`,
		Example: `  zkbench report
  zkbench report --format csv > rows.csv
  zkbench report --html report.html
  zkbench report --html report.html results/runs/OLD results/runs/NEW
  zkbench report results/runs/20260102T030405Z-ab12 --overview
  zkbench run all && zkbench report --overview --format markdown`,
		ValidArgsFunction: runFolders,
		RunE: func(_ *cobra.Command, args []string) error {
			if overview && format != "text" && format != "markdown" {
				return usage(fmt.Errorf("--overview has the formats text and markdown, and not %s", format))
			}
			if html != "" {
				return a.writePage(args, html)
			}
			docs, err := a.readResults(args)
			if err != nil {
				return err
			}
			rows := summary.Of(docs)
			switch {
			case overview:
				a.printOverview(rows, format)
			case format == "json":
				return report.WriteJSON(a.stdout, rows)
			case slices.Contains(report.TrendFormats(), format):
				return report.WriteTrend(a.stdout, format, rows)
			case format == "csv":
				report.WriteCSV(a.stdout, rows)
			case format == "markdown":
				a.printMarkdown(docs, rows)
			default:
				a.printTables(docs, rows)
				a.printAnswers(rows)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&overview, "overview", false, "show only the answers")
	formats := slices.Concat(table.Formats(), report.TrendFormats())
	cmd.Flags().StringVar(&format, "format", formats[0], strings.Join(table.Formats(), ", ")+",\nfor trends: "+strings.Join(report.TrendFormats(), ", "))
	cmd.Flags().StringVar(&html, "html", "", "write a page for a browser to this `file`")
	allow(cmd, "format", formats)
	cmd.MarkFlagsMutuallyExclusive("html", "format")
	cmd.MarkFlagsMutuallyExclusive("html", "overview")
	return cmd
}

func (a *app) printOverview(rows []summary.Row, format string) {
	switch {
	case len(report.Pairings(rows)) == 0:
		fmt.Fprintln(a.stdout, "no overview: these results do not have both variants of a scenario's pair (field overview:)")
	case format == "markdown":
		report.WriteOverviewMarkdown(a.stdout, rows)
	default:
		a.printAnswers(rows)
	}
}

func (a *app) printMarkdown(docs []*results.Document, rows []summary.Row) {
	var findings strings.Builder
	report.WriteVerdict(&findings, docs)
	a.printTags(docs)
	report.WriteMarkdown(a.stdout, rows)
	for line := range strings.Lines(findings.String()) {
		fmt.Fprint(a.stdout, "- ", strings.TrimLeft(line, " "))
	}
}

func (a *app) printTags(docs []*results.Document) {
	if tags := results.TagsText(docs); tags != "" {
		fmt.Fprintf(a.stdout, "%s\n\n", table.Wrap(table.Escaped("tags: "+tags), a.width()))
	}
}

func (a *app) readResults(paths []string) ([]*results.Document, error) {
	paths, err := orNewest(paths)
	if err != nil {
		return nil, err
	}
	return store.ReadAll(paths)
}

// report prints the comparison of a run's variants and, unless runErr says that the run failed, its claims. It returns an error if the
// results are broken or invalid, if counts deviate, or if a claim does not hold.
func (a *app) report(docs []*results.Document, selected []scenarios.Scenario, f runFlags, runErr error) error {
	if len(docs) == 0 {
		_ = os.Remove(f.out)
		return nil
	}
	rows := summary.Of(docs)
	fmt.Fprintln(a.stdout)
	a.printTables(docs, rows)
	err := verdict(docs)
	if runErr == nil {
		err = errors.Join(err, a.checkClaims(docs, selected))
	}
	a.printAnswers(rows)
	kept, keptErr := store.Kept(f.out, docs)
	switch {
	case kept == 0:
		fmt.Fprintf(a.stdout, "\nno results are kept in %s\n", f.out)
	case keptErr != nil || runErr != nil:
		fmt.Fprintf(a.stdout, "\npartial results in %s: %d %s; `zkbench plot %s` draws them\n",
			f.out, kept, table.Plural(kept, "measurement"), f.out)
	default:
		fmt.Fprintf(a.stdout, "\nresults in %s; `zkbench plot %s` draws them\n", f.out, f.out)
	}
	return errors.Join(err, keptErr)
}

// soFar prints a scenario's table after the first of several repeats.
func (a *app) soFar(docs []*results.Document, s scenarios.Scenario, p *progress.Progress) {
	first := list.Where(docs, func(d *results.Document) bool { return d.Scenario.Name == s.Name && d.Repeat == 1 })
	if s.Repeats < 2 || docs[len(docs)-1].Repeat != 1 || len(first) != s.Measurements(a.recipes()) {
		return
	}
	p.Pause()
	fmt.Fprintf(a.stdout, "\nafter 1 of %d repeats:\n\n", s.Repeats)
	report.WriteTable(a.stdout, summary.Of(first), a.width())
	fmt.Fprintln(a.stdout)
}

func (a *app) printTables(docs []*results.Document, rows []summary.Row) {
	a.printTags(docs)
	report.WriteTable(a.stdout, rows, a.width())
	columns := list.Map(scenarios.MatrixFaults(), func(f scenarios.MatrixFault) string { return f.Name })
	byFault := map[string][]*results.Document{}
	for _, d := range docs {
		fault := scenarios.FaultOfMatrix(d.Scenario.Name)
		byFault[fault] = append(byFault[fault], d)
	}
	report.WriteMatrix(a.stdout, a.width(), columns, byFault)
	fmt.Fprintln(a.stdout)
	var findings strings.Builder
	report.WriteVerdict(&findings, docs)
	fmt.Fprintln(a.stdout, table.Wrap(strings.TrimSpace(findings.String()), a.width()))
}

// printAnswers prints the answer of each scenario. The hint names the scenario that measures the client libraries of the recipe, if another
// one was measured.
func (a *app) printAnswers(rows []summary.Row) {
	report.WriteAnswers(a.stdout, rows, func(d *results.Document) string {
		s, err := scenarios.Load(d.Recipe+"-libraries", a.recipes())
		if err != nil || s.Name == d.Scenario.Name || d.Scenario.Mode == results.ObservedMode || d.Scenario.Faulty() || d.Rate > 0 {
			return ""
		}
		return fmt.Sprintf("%s zkbench run %s --clients %d", s.Question, s.Name, d.Clients)
	}, a.width())
}

func verdict(docs []*results.Document) error {
	deviate, uncertain := false, ""
	for _, group := range grouping.Repeats(docs) {
		for _, v := range slices.Concat(list.Map(group, doubts.Deviations)...) {
			deviate, uncertain = true, cmp.Or(uncertain, doubts.Disturbed(group, v.Metric, v.Exact, doubts.Repeat))
		}
	}
	switch {
	case slices.ContainsFunc(docs, (*results.Document).Broken):
		return outcome.With(outcome.CodeBroken, errors.New("a recipe broke its promise"))
	case slices.ContainsFunc(docs, func(d *results.Document) bool { return len(d.Invalid) > 0 }):
		return outcome.With(outcome.CodeInvalid, errors.New("the run is invalid: its numbers must not be used"))
	case uncertain != "":
		return outcome.With(outcome.CodeInvalid, fmt.Errorf("counts deviate from the variants' formulas, and this is not certain: %s", uncertain))
	case deviate:
		return outcome.With(outcome.CodeRegression,
			errors.New("counts deviate from the variants' formulas: correct the recipe, or the formula if this is meant"))
	default:
		return nil
	}
}

// checkClaims prints the result of each claim, without those that the servers cannot decide, and returns an error with the deciding code.
func (a *app) checkClaims(docs []*results.Document, selected []scenarios.Scenario) error {
	var checks []claim.Check
	var codes []int
	for _, s := range selected {
		own := list.Where(docs, func(d *results.Document) bool { return d.Scenario.Name == s.Name })
		for _, c := range claim.Of(own).Check(s.Claims()...) {
			checks = append(checks, c)
			if c.Undecidable {
				continue
			}
			codes = append(codes, c.Outcome.Code())
			if c.Outcome != outcome.Pass {
				table.Line(a.stdout, "CLAIM %s: %s: %s: %s", strings.ToUpper(c.Verdict()), s.Name, c.Claim, c.Why)
			}
		}
	}
	if len(checks) > 0 {
		fmt.Fprintln(a.stdout, claim.Tally(checks))
	}
	switch code := outcome.Deciding(codes...); code {
	case outcome.CodePass:
		return nil
	case outcome.CodeRegression:
		return outcome.With(code, errors.New("a claim of a scenario does not hold"))
	default:
		return outcome.With(code, errors.New("a claim of a scenario is not decided"))
	}
}

func (a *app) writePage(args []string, path string) error {
	if err := checkFile("html", path); err != nil {
		return err
	}
	var f sidesFlags
	sides, err := f.read(args)
	if err != nil {
		return err
	}
	report := page.Report{Sides: oneSideOfEachRun(sides), Explain: explanation}
	if len(report.Sides) > 1 {
		c, err := compare.Runs(report.Sides, f.Options)
		if err != nil {
			return usage(err)
		}
		report.Comparison = &c
	}
	var text bytes.Buffer
	if err := page.Write(&text, report); err != nil {
		return err
	}
	if err = store.WriteFile(path, []byte(table.Printable(text.String()))); err == nil {
		fmt.Fprintf(a.stdout, "%s (%s)\n", path, table.Bytes(float64(text.Len())))
	}
	return err
}

// explanation returns the text of `zkbench explain` for a variant. It is empty for a variant that this zkbench does not know.
func explanation(recipe, variant string) string {
	r, v, known := catalog.Variant(recipe + "/" + variant)
	var text strings.Builder
	if !known || (&app{stdout: &text}).explainVariant(r, v) != nil {
		return ""
	}
	return text.String()
}
