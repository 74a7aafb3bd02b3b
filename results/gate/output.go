package gate

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/table"
)

// The limits of the output on a terminal. The files have everything.
const (
	mostFailures = 12
	mostNotes    = 5
)

func (c Check) title() string {
	what := cmp.Or(c.Metric, c.Rule)
	if c.Source == FromScenario || c.Source == FromFile { // their rules name the variant
		c.Variant, what = "", c.Rule
	}
	return strings.TrimSpace(c.subject() + " " + what)
}

func (r Report) shown() []Check { return list.Where(r.Checks, Check.failed) }

// WriteTable prints the verdict in at most width columns and on about one screen: the checks that fail with their reasons,
// the others as numbers.
func (r Report) WriteTable(w io.Writer, width int) error {
	if shown := r.shown(); len(shown) > 0 {
		const outcome = 14 // the longest outcome, and the space between columns
		title := (width - outcome) * 2 / 5
		t := table.New(table.Column{Title: "outcome"}, table.Column{Title: "check", Width: title - 2},
			table.Column{Title: "why", Width: width - outcome - title - 6})
		for _, c := range shown[:min(len(shown), mostFailures)] {
			t.Row(c.label(), c.title(), c.Why)
		}
		fmt.Fprintln(w, t)
		if more := len(shown) - mostFailures; more > 0 {
			fmt.Fprintf(w, "… and %d more: --json FILE has them all\n", more)
		}
		fmt.Fprintln(w)
	}
	for _, note := range r.Notes[:min(len(r.Notes), mostNotes)] {
		fmt.Fprintln(w, table.Wrap("note: "+note, width))
	}
	if more := len(r.Notes) - mostNotes; more > 0 {
		fmt.Fprintf(w, "… and %d more %s: --json FILE has them all\n", more, table.Plural(more, "note"))
	}
	_, err := fmt.Fprintln(w, table.Wrap(r.Summary(), width))
	return err
}

func (c Check) label() string { return strings.ToUpper(string(c.Outcome)) }

// Summary returns the verdict in one line, with the number of checks of each source that passed.
func (r Report) Summary() string {
	checks := slices.SortedStableFunc(slices.Values(r.Checks), func(a, b Check) int { return cmp.Compare(a.Source, b.Source) })
	parts := list.Map(list.GroupBy(checks, func(c Check) Source { return c.Source }), func(same []Check) string {
		return fmt.Sprintf("%d of %d %s", len(same)-len(list.Where(same, Check.failed)), len(same), same[0].Source)
	})
	return fmt.Sprintf("%s: %s checks passed (exit code %d)", strings.ToUpper(string(r.Verdict)), strings.Join(parts, ", "), r.Code)
}

// WriteJSON replaces the file at path by the whole report.
func (r Report) WriteJSON(path string) error { return store.WriteJSON(path, r) }

// WriteMarkdown replaces the file at path by a Markdown table of the verdict, such as for the summary of a GitHub step.
func (r Report) WriteMarkdown(path string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "### zkbench gate\n\n%s\n", escapeMarkdown(r.Summary()))
	if shown := r.shown(); len(shown) > 0 {
		fmt.Fprint(&b, "\n| outcome | check | why |\n|---|---|---|\n")
		for _, c := range shown {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", escapeMarkdown(c.label()), escapeMarkdown(c.title()), escapeMarkdown(c.Why))
		}
	}
	if len(r.Notes) > 0 {
		fmt.Fprintln(&b)
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "- %s\n", escapeMarkdown(note))
	}
	return store.WriteFile(path, b.Bytes())
}

// escapeMarkdown keeps text from acting as markup, and from ending its cell.
func escapeMarkdown(text string) string {
	return strings.NewReplacer("|", `\|`, "\r", " ", "\n", " ", "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`, "`", "\\`").Replace(text)
}

// WriteAnnotations prints each failing check as a GitHub workflow command, which GitHub shows beside the change.
func (r Report) WriteAnnotations(w io.Writer) error {
	for _, c := range list.Where(r.Checks, Check.failed) {
		title := strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeData(fmt.Sprintf("%s: %s", c.Outcome, c.title())))
		if _, err := fmt.Fprintf(w, "::error title=%s::%s\n", title, escapeData(c.Why)); err != nil {
			return err
		}
	}
	return nil
}

func escapeData(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

// WriteJUnit replaces the file at path by a test suite for each scenario with a test case for each check. Regressions and
// violations are failures, and all other checks that do not pass are errors. The file follows both Ant's schema, in which the
// root has no attributes, and the one of Jenkins.
func (r Report) WriteJUnit(path string) error {
	var all junit.Testsuites // AddSuite would give it attributes
	for i, checks := range list.GroupBy(r.Checks, func(c Check) string { return cmp.Or(c.Scenario, "evidence") }) {
		suite := r.suite()
		suite.ID, suite.Name = i, cmp.Or(checks[0].Scenario, "evidence")
		for _, c := range checks {
			test := junit.Testcase{Name: fmt.Sprintf("%s (%s)", c.title(), c.Source), Classname: "zkbench." + suite.Name, Time: "0"}
			switch why := (&junit.Result{Message: c.Why, Type: string(c.Outcome)}); c.Outcome {
			case outcome.Pass:
			case outcome.Regression, outcome.Violation:
				test.Failure = why
			default:
				test.Error = why
			}
			suite.AddTestcase(test)
		}
		all.Suites = append(all.Suites, suite)
	}
	b := bytes.NewBufferString(xml.Header)
	if err := all.WriteXML(b); err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return store.WriteFile(path, b.Bytes())
}

func (r Report) suite() junit.Testsuite {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	notes := strings.Map(func(c rune) rune { // in a CDATA section, encoding/xml does not replace characters that XML forbids
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return unicode.ReplacementChar
		}
		return c
	}, strings.Join(r.Notes, "\n"))
	return junit.Testsuite{
		Package: "zkbench", Timestamp: time.Now().UTC().Format("2006-01-02T15:04:05"), Hostname: host, Time: "0",
		Properties: &[]junit.Property{{Name: "verdict", Value: string(r.Verdict)}, {Name: "exit code", Value: strconv.Itoa(r.Code)}},
		SystemOut:  &junit.Output{Data: notes}, SystemErr: &junit.Output{},
	}
}

// WriteBenchfmt replaces the file at path by the measurements in the format of Go's benchmarks, one line for each repeat. For
// pairs, each line has the key build, for benchstat -col build.
func (e Evidence) WriteBenchfmt(path string) error {
	builds := [][]*results.Document{slices.Concat(e.Documents, e.Trials)}
	if e.Pairs != nil {
		builds = append(builds, e.Pairs.side(0), e.Pairs.side(1))
	}
	var b bytes.Buffer
	writeUnits(&b, slices.Concat(builds...))
	for i, docs := range builds {
		if len(docs) > 0 && i > 0 {
			fmt.Fprintf(&b, "\nbuild: %s\n", Sides()[i-1])
		}
		for _, d := range docs {
			writeBenchmark(&b, d)
		}
	}
	return store.WriteFile(path, b.Bytes())
}

// writeUnits writes the better direction of each metric, and which metrics are exact, so that one value is enough.
func writeUnits(w io.Writer, docs []*results.Document) {
	var names []string
	for _, d := range docs {
		names = slices.AppendSeq(names, maps.Keys(d.Metrics))
	}
	inexact := slices.ContainsFunc(docs, func(d *results.Document) bool { return !d.CountsExactly() })
	for _, name := range list.Distinct(names) {
		m, facts := metric.Named(name), "better=lower"
		switch {
		case !m.HasDirection():
			continue
		case m.MoreIsBetter():
			facts = "better=higher"
		case m.Formula && !inexact:
			facts = "assume=exact " + facts
		}
		fmt.Fprintf(w, "Unit %s %s\n", name, facts)
	}
}

func writeBenchmark(w io.Writer, d *results.Document) {
	fmt.Fprintf(w, "BenchmarkZkbench/scenario=%s/variant=%s/clients=%d", d.Scenario.Name, d.Variant, d.Clients)
	if d.Rate > 0 {
		fmt.Fprintf(w, "/rate=%d", d.Rate)
	}
	fmt.Fprintf(w, " %d", max(d.Window.Operations, 1))
	for _, name := range sortedKeys(d.Metrics) {
		fmt.Fprintf(w, " %v %s", d.Metrics[name].Value, name)
	}
	fmt.Fprintln(w)
}
