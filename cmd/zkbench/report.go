package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

func reportCommand(a *app) *cobra.Command {
	var overview, markdown bool
	cmd := &cobra.Command{
		Use:   "report [RESULT…]",
		Short: "Show results again: how the variants compare",
		Long: `Show what 'zkbench run' printed: how the variants compare, and what speaks
against the numbers. A RESULT is a run's folder or single files of it; without
one, the newest run in ` + defaultRuns + ` is shown.

With --overview there is one pair per recipe instead: what its naive and its
optimized variant cost at the largest number of clients, and what is gained.
Which two are compared, and by which metric, is the scenario's choice.`,
		Example: `  zkbench report
  zkbench report results/runs/20260102T030405Z-ab12 --overview
  zkbench run all && zkbench report --markdown`,
		RunE: func(_ *cobra.Command, args []string) error {
			docs, err := readResults(args)
			if err != nil {
				return err
			}
			summary := results.Summarize(docs)
			switch {
			case markdown:
				return summary.WriteOverviewMarkdown(a.stdout)
			case overview:
				return summary.WriteOverview(a.stdout)
			default:
				return a.compare(docs, summary, nil)
			}
		},
	}
	cmd.Flags().BoolVar(&overview, "overview", false, "show one pair per recipe")
	cmd.Flags().BoolVar(&markdown, "markdown", false, "show the overview as a Markdown table")
	return cmd
}

// readResults reads results, those of the newest run if none are named.
func readResults(paths []string) ([]*results.Document, error) {
	if len(paths) == 0 {
		newest, err := newestRun()
		if err != nil {
			return nil, err
		}
		paths = []string{newest}
	}
	return results.ReadAll(paths)
}

// report prints the comparison of the selected scenarios and returns what is wrong with it. runErr is how the run ended.
func (a *app) report(docs []*results.Document, selected []scenarios.Scenario, f runFlags, runErr error) error {
	if len(docs) == 0 {
		_ = os.Remove(f.out) // an empty folder would only puzzle
		return nil
	}
	summary := results.Summarize(docs)
	fmt.Fprintln(a.stdout)
	tableErr := a.compare(docs, summary, selected)
	kept, keptErr := results.Kept(f.out, docs)
	switch {
	case kept == 0:
		fmt.Fprintf(a.stdout, "\nno results are kept in %s\n", f.out)
	case keptErr != nil || runErr != nil:
		fmt.Fprintf(a.stdout, "\npartial results in %s: %d %s; `zkbench plot %s` draws them\n", f.out, kept, results.Plural(kept, "measurement"), f.out)
	default:
		fmt.Fprintf(a.stdout, "\nresults in %s; `zkbench plot %s` draws them\n", f.out, f.out)
	}
	var summaryErr error
	if f.summary != "" {
		summaryErr = results.WriteJSON(f.summary, summary)
	}
	return errors.Join(verdict(docs), tableErr, keptErr, summaryErr)
}

// soFar prints a scenario's table when the first of several repeats is complete: minutes before the end, a reader sees what
// is going to be refined. Where that cannot be written, the final table cannot either, and says so: the run goes on.
func (a *app) soFar(docs []*results.Document, s scenarios.Scenario, p *progress) {
	first := slices.DeleteFunc(slices.Clone(docs), func(d *results.Document) bool { return d.Scenario.Name != s.Name || d.Repeat != 1 })
	if s.Repeats < 2 || docs[len(docs)-1].Repeat != 1 || len(first) != s.Measurements(catalog.Recipes()) {
		return
	}
	p.pause()
	fmt.Fprintf(a.stdout, "\nafter 1 of %d repeats:\n\n", s.Repeats)
	_ = results.Summarize(first).WriteTable(a.stdout, width(a.stdout))
	fmt.Fprintln(a.stdout)
}

// comparePublished prints what others have measured beside what the scenarios that name it have.
func (a *app) comparePublished(rows []results.Row, selected []scenarios.Scenario) error {
	for _, s := range selected {
		own := rowsOf(s, rows)
		if s.Published == nil || len(own) == 0 {
			continue
		}
		fmt.Fprintln(a.stdout)
		if err := s.Published.WriteTable(a.stdout, own, width(a.stdout)); err != nil {
			return err
		}
	}
	return nil
}

// rowsOf returns the rows of one scenario.
func rowsOf(s scenarios.Scenario, rows []results.Row) []results.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r results.Row) bool { return r.Scenario != s.Name })
}

// compare prints tables of measurements, what others have published of the same, and what speaks against the numbers.
func (a *app) compare(docs []*results.Document, summary results.Summary, selected []scenarios.Scenario) error {
	tableErr := summary.WriteTable(a.stdout, width(a.stdout))
	publishedErr := a.comparePublished(summary.Rows, selected)
	fmt.Fprintln(a.stdout)
	overviewErr := a.overviewOfSeveral(summary)
	var findings strings.Builder
	results.WriteVerdict(&findings, docs)
	fmt.Fprintln(a.stdout, results.Wrap(strings.TrimSpace(findings.String()), width(a.stdout)))
	return errors.Join(tableErr, publishedErr, overviewErr)
}

// overviewOfSeveral prints the overview of more than one scenario.
func (a *app) overviewOfSeveral(summary results.Summary) error {
	another := func(r results.Row) bool { return r.Scenario != summary.Rows[0].Scenario }
	if !slices.ContainsFunc(summary.Rows, another) {
		return nil
	}
	if err := summary.WriteOverview(a.stdout); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.stdout)
	return err
}

// verdict returns the error whose exit code the measurements deserve; the reasons have been printed.
func verdict(docs []*results.Document) error {
	switch {
	case slices.ContainsFunc(docs, func(d *results.Document) bool { return len(d.Violations) > 0 }):
		return exitError{codeBroken, errors.New("a recipe broke its promise")}
	case slices.ContainsFunc(docs, func(d *results.Document) bool { return len(d.Invalid) > 0 }):
		return exitError{codeInvalid, errors.New("the run is invalid: its numbers must not be used")}
	default:
		return nil
	}
}

// judge says which of the scenarios' claims hold; a run in which one does not has found a regression.
func (a *app) judge(docs []*results.Document, selected []scenarios.Scenario) error {
	rows := results.Summarize(docs).Rows
	var total, failed int
	for _, s := range selected {
		own := rowsOf(s, rows)
		claims := s.Claims()
		if len(own) > 0 {
			claims = judgeable(claims, ensemble.Engine(own[0].Engine), own[0].Guessed)
		}
		for _, j := range results.Judge(own, claims) {
			total++
			if !j.Holds {
				failed++
				fmt.Fprintf(a.stdout, "NOT AS EXPECTED: %s: %s: %s\n", s.Name, j.Claim, j.Why)
			}
		}
	}
	if total > 0 {
		fmt.Fprintf(a.stdout, "%d of %d expectations hold\n", total-failed, total)
	}
	if failed > 0 {
		return exitError{codeRegression, errors.New("not everything is as the scenario expects")}
	}
	return nil
}

// judgeable leaves out what servers have nothing to say about: no time is an ensemble's on the embedded server, old ones
// leave herds to be guessed, and only those that zkbench has started tell what is in their memory.
func judgeable(claims []results.Claim, engine ensemble.Engine, guessed bool) []results.Claim {
	return slices.DeleteFunc(claims, func(c results.Claim) bool {
		return c.IsTime() && engine == ensemble.Embedded ||
			c.Metric == results.HerdMax && guessed ||
			c.NeedsHeap() && (engine == ensemble.Embedded || engine == ensemble.External)
	})
}
