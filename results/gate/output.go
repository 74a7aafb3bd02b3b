package gate

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

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
	mostFindings = 12
	mostNotes    = 5
)

func (c Check) title() string {
	what := cmp.Or(c.Metric, c.Rule)
	if c.isClaim() { // its rule names the metric
		what = c.Rule
	}
	return strings.TrimPrefix(subject([]Check{c})+": "+what, ": ")
}

// WriteText prints the verdict, what decided it, and the findings in at most width columns, and the number of the checks that
// passed. With all, it lists every check and every note.
func (r Report) WriteText(w io.Writer, width int, all bool) {
	shown, noted := r.Findings, r.Notes
	if !all {
		shown, noted = shown[:min(len(shown), mostFindings)], noted[:min(len(noted), mostNotes)]
	}
	const indent = "    "
	findings := list.Map(shown, func(f Finding) string {
		return "  " + strings.ReplaceAll(table.Wrap(r.labelled(f), width-len(indent)), "\n", "\n"+indent)
	})
	notes := list.Map(noted, func(note string) string { return table.Wrap("note: "+table.Escaped(note), width) })
	if more := len(r.Notes) - len(noted); more > 0 {
		notes = append(notes, fmt.Sprintf("… and %d more %s: --verbose shows them", more, table.Plural(more, "note")))
	}
	var rest []string
	if more := len(r.Findings) - len(shown); more > 0 {
		rest = append(rest, fmt.Sprintf("… and %d more: --verbose shows them", more))
	}
	if passed := r.passed(); passed != "" && r.Verdict != outcome.Pass {
		rest = append(rest, table.Wrap(passed+" (--verbose lists all)", width))
	}
	paragraphs := [][]string{{table.Wrap(r.decision(), width)}, findings, rest, notes}
	if all {
		paragraphs = slices.Insert(paragraphs, 0, []string{r.table(width).String()})
	}
	paragraphs = list.Where(paragraphs, func(lines []string) bool { return len(lines) > 0 })
	fmt.Fprintln(w, strings.Join(list.Map(paragraphs, func(lines []string) string { return strings.Join(lines, "\n") }), "\n\n"))
}

func (r Report) table(width int) *table.Table {
	const outcome = 14 // the longest outcome, and the space between columns
	title := (width - outcome) * 2 / 5
	t := table.New(table.Column{Title: "outcome"}, table.Column{Title: "check", Width: title - 2},
		table.Column{Title: "why", Width: width - outcome - title - 6})
	for _, c := range r.Checks {
		t.Row(c.Outcome, c.title(), c.Why)
	}
	return t
}

// labelled returns the escaped text of a finding, with its outcome unless that is the verdict.
func (r Report) labelled(f Finding) string {
	if f.Outcome == r.Verdict {
		return table.Escaped(f.Text)
	}
	return table.Escaped(string(f.Outcome) + ": " + f.Text)
}

// decision returns the verdict and what decided it in one sentence.
func (r Report) decision() string {
	verdict := fmt.Sprintf("%s (exit code %d): ", strings.ToUpper(string(r.Verdict)), r.Code)
	if r.Verdict == outcome.Pass {
		return verdict + r.passed()
	}
	regressions := list.Where(r.Findings, func(f Finding) bool { return f.Outcome == outcome.Regression })
	if n := len(regressions); n > 0 && r.Code == outcome.CodeInvalid {
		verdict += fmt.Sprintf("%d %s, and ", n, table.Plural(n, "regression"))
	}
	deciding := list.Where(r.Checks, func(c Check) bool { return c.Outcome == r.Verdict })
	return verdict + strings.Join(list.AppendNew(nil, list.Map(deciding, Check.reason)...), "; ") + "."
}

// reason says in general terms what a check that failed has found.
func (c Check) reason() string {
	if c.Outcome == outcome.Regression {
		return map[Source]string{
			BuiltIn: "counts are not those of the variant's formula", FromBaseline: "counts are not those of the baseline",
			FromScenario: "a claim of a scenario does not hold", FromFile: "a rule does not hold", FromPairs: "the head differs from the base",
		}[c.Source]
	}
	return cmp.Or(map[outcome.Outcome]string{
		outcome.Violation: "a recipe broke its promise", outcome.Invalid: "numbers must not be used",
		outcome.Error: "a result does not exist, or a check could not be made",
	}[c.Outcome], "results are missing, or do not decide all that is asked")
}

// passed says how many checks of each source passed; empty if none did.
func (r Report) passed() string {
	passed := list.Where(r.Checks, func(c Check) bool { return !c.failed() })
	if len(passed) == 0 {
		return ""
	}
	slices.SortStableFunc(passed, func(a, b Check) int { return cmp.Compare(a.Source, b.Source) })
	parts := list.Map(list.GroupBy(passed, func(c Check) Source { return c.Source }), func(same []Check) string {
		return fmt.Sprintf("%s %s", table.Grouped(int64(len(same))), same[0].Source)
	})
	what := "further " + table.Plural(len(passed), "check")
	if len(passed) == len(r.Checks) {
		what = table.Plural(len(passed), "check")
	}
	return fmt.Sprintf("%s %s passed: %s", table.Grouped(int64(len(passed))), what, strings.Join(parts, ", "))
}

// WriteJSON replaces the file at path by the whole report.
func (r Report) WriteJSON(path string) error { return store.WriteJSON(path, r) }

// WriteMarkdown replaces the file at path by the verdict and the findings in Markdown, such as for the summary of a GitHub step.
func (r Report) WriteMarkdown(path string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "### zkbench gate\n\n%s\n", escapeMarkdown(r.decision()))
	for _, lines := range [][]string{list.Map(r.Findings, r.labelled), list.Map(r.Notes, table.Escaped)} {
		for i, line := range lines {
			if i == 0 {
				fmt.Fprintln(&b)
			}
			fmt.Fprintf(&b, "- %s\n", escapeMarkdown(line))
		}
	}
	return store.WriteFile(path, b.Bytes())
}

// escapeMarkdown keeps text from acting as markup.
func escapeMarkdown(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`, "`", "\\`").Replace(text)
}

// WriteAnnotations prints each finding as a GitHub workflow command, which GitHub shows beside the change.
func (r Report) WriteAnnotations(w io.Writer) {
	for _, f := range r.Findings {
		table.Line(w, "::error title=%s::%s", f.Outcome, strings.ReplaceAll(f.Text, "%", "%25"))
	}
}

// WriteJUnit replaces the file at path by a test suite for each scenario with a test case for each check. Regressions and violations are
// failures, other checks that do not pass are errors. It follows Ant's schema, whose root has no attributes, and that of Jenkins.
func (r Report) WriteJUnit(path string) error {
	var all junit.Testsuites // AddSuite would give it attributes
	for i, checks := range list.GroupBy(r.Checks, func(c Check) string { return cmp.Or(c.Scenario, "evidence") }) {
		suite := r.suite()
		suite.ID, suite.Name = i, table.Escaped(cmp.Or(checks[0].Scenario, "evidence"))
		for _, c := range checks {
			test := junit.Testcase{Name: table.Escaped(fmt.Sprintf("%s (%s)", c.title(), c.Source)), Classname: "zkbench." + suite.Name, Time: "0"}
			switch why := (&junit.Result{Message: table.Escaped(c.Why), Type: string(c.Outcome)}); c.Outcome {
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
	notes := strings.Join(list.Map(r.Notes, table.Escaped), "\n") // encoding/xml does not escape a CDATA section
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
	for _, name := range sortedKeys(metric.Aggregate(docs)) {
		m, facts := metric.Named(name), "better=lower"
		switch {
		case !m.HasDirection():
			continue
		case m.MoreIsBetter():
			facts = "better=higher"
		case m.Formula && exact(docs):
			facts = "assume=exact " + facts
		}
		fmt.Fprintf(w, "Unit %s %s\n", name, facts)
	}
}

func writeBenchmark(w io.Writer, d *results.Document) {
	fmt.Fprintf(w, "BenchmarkZkbench/scenario=%s/variant=%s/clients=%d", table.Escaped(d.Scenario.Name), table.Escaped(d.Variant), d.Clients)
	if d.Rate > 0 {
		fmt.Fprintf(w, "/rate=%v", float64(d.Rate)) // a slash would end the name
	}
	fmt.Fprintf(w, " %d", max(d.Window.Operations, 1))
	for _, name := range sortedKeys(d.Metrics) {
		fmt.Fprintf(w, " %v %s", d.Metrics[name].Value, name)
	}
	fmt.Fprintln(w)
}
