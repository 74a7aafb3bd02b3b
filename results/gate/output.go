package gate

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/outcome"
)

// WriteJSON replaces the file at path by the whole report.
func (r Report) WriteJSON(path string) error { return results.WriteJSON(path, r) }

// replace writes a file in one step, so that no reader sees a part of it.
func replace(path string, text []byte) error {
	if err := renameio.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

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
	return replace(path, b.Bytes())
}

// escapeMarkdown keeps text from acting as markup, and from ending its cell.
func escapeMarkdown(text string) string {
	return strings.NewReplacer("|", `\|`, "\r", " ", "\n", " ", "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`, "`", "\\`").Replace(text)
}

// WriteAnnotations prints each failing check as a GitHub workflow command, which GitHub shows beside the change.
func (r Report) WriteAnnotations(w io.Writer) error {
	for _, c := range r.Checks {
		if !c.failed() {
			continue
		}
		title := fmt.Sprintf("%s: %s", c.Outcome, c.title())
		if _, err := fmt.Fprintf(w, "::error title=%s::%s\n", escapeProperty(title), escapeData(c.Why)); err != nil {
			return err
		}
	}
	return nil
}

func escapeData(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

func escapeProperty(text string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(escapeData(text))
}

// The elements of JUnit's XML. Both Ant's schema, in which the root has no attributes, and that of Jenkins accept them.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		ID         int             `xml:"id,attr"`
		Package    string          `xml:"package,attr"`
		Name       string          `xml:"name,attr"`
		Timestamp  string          `xml:"timestamp,attr"` // of the verdict, in UTC
		Host       string          `xml:"hostname,attr"`
		Tests      int             `xml:"tests,attr"`
		Fails      int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"` // always zero
		Time       int             `xml:"time,attr"`    // always zero
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
		Out        string          `xml:"system-out"`
		Err        string          `xml:"system-err"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    int           `xml:"time,attr"`
		Failure *junitMessage `xml:"failure"`
		Error   *junitMessage `xml:"error"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
	}
)

// WriteJUnit replaces the file at path by a test suite for each scenario with a test case for each check. Regressions and
// violations are failures, and all other checks that do not pass are errors.
func (r Report) WriteJUnit(path string) error {
	var all junitSuites
	for _, c := range r.Checks {
		name := c.Scenario
		if name == "" {
			name = "evidence"
		}
		i := slices.IndexFunc(all.Suites, func(s junitSuite) bool { return s.Name == name })
		if i < 0 {
			i = len(all.Suites)
			all.Suites = append(all.Suites, r.suite(i, name))
		}
		all.Suites[i].add(c)
	}
	text, err := xml.MarshalIndent(all, "", " ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return replace(path, append([]byte(xml.Header), append(text, '\n')...))
}

// suite returns a test suite without cases.
func (r Report) suite(id int, name string) junitSuite {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return junitSuite{
		ID: id, Package: "zkbench", Name: name, Timestamp: time.Now().UTC().Format("2006-01-02T15:04:05"), Host: host,
		Properties: []junitProperty{{"verdict", string(r.Verdict)}, {"exit code", strconv.Itoa(r.Code)}},
		Out:        strings.Join(r.Notes, "\n"),
	}
}

func (s *junitSuite) add(c Check) {
	test := junitCase{Name: strings.TrimSpace(c.title() + " (" + string(c.Source) + ")"), Class: "zkbench." + s.Name}
	switch c.Outcome {
	case outcome.Pass:
	case outcome.Regression, outcome.Violation:
		test.Failure = &junitMessage{c.Why, string(c.Outcome)}
		s.Fails++
	default:
		test.Error = &junitMessage{c.Why, string(c.Outcome)}
		s.Errors++
	}
	s.Tests++
	s.Cases = append(s.Cases, test)
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
	return replace(path, b.Bytes())
}

// writeUnits writes the better direction of each metric, and which metrics are exact, so that one value is enough.
func writeUnits(w io.Writer, docs []*results.Document) {
	units := map[string]string{}
	for _, d := range docs {
		for name := range d.Metrics {
			switch {
			case results.MoreIsBetter(name):
				units[name] = "better=higher"
			case results.HasDirection(name):
				units[name] = "better=lower"
			}
		}
	}
	inexact := slices.ContainsFunc(docs, func(d *results.Document) bool { return !d.Expected.Exact })
	for _, name := range results.CountMetrics() {
		if _, measured := units[name]; measured && !inexact {
			units[name] = "assume=exact better=lower"
		}
	}
	for _, name := range sortedKeys(units) {
		fmt.Fprintf(w, "Unit %s %s\n", name, units[name])
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
