package gate

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jstemmer/go-junit-report/v2/junit"
	"golang.org/x/perf/benchfmt"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/paired"
	"github.com/zkbench/zkbench/results/table"
)

// failing is a report with an outcome of each kind.
func failing(t *testing.T) (Report, Evidence) {
	t.Helper()
	rules := Rules{Paired: DefaultPairRules(now)}
	baselines := must.Get(BaselinesOf([]*results.Document{syntheticLockstep(1)}))(t)
	rules.Baselines = baselines
	rules.Assertions = []Assertion{
		assertion(t, "synthetic requests/op > 3"), assertion(t, "synthetic writes/op == 0"), assertion(t, "synthetic wait-p50 < 3ms"),
	}
	p := syntheticPairs(1.5, rules.Paired)
	broken := syntheticLockstep(2)
	broken.Violations = []results.Violation{{Text: "50 % of all: two, at once\nand <again>"}}
	e := Evidence{Documents: []*results.Document{broken}, Unreadable: []error{errors.New("a|b.json is truncated")}, Pairs: &p}
	return Evaluate(e, rules), e
}

// The verdict comes first, then the findings, then what passed. No line is too long.
func TestText(t *testing.T) {
	r, _ := failing(t)
	for _, width := range []int{80, 120} {
		var b bytes.Buffer
		r.WriteText(&b, width, width > 80)
		for line := range strings.Lines(b.String()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > width {
				t.Errorf("a line of %d columns: %s", n, line)
			}
		}
		golden.Compare(t, fmt.Sprintf("testdata/text-%d.txt", width), b.Bytes())
	}
}

// Checks of the counts of one measurement are one finding, whatever their source, and numbers of clients with the same one are listed.
func TestFindings(t *testing.T) {
	count := func(source Source, clients int, metric string, limit, value float64) Check {
		return Check{Rule: "==", Source: source, Scenario: "s", Recipe: "lock", Variant: "v", Clients: clients, Metric: metric,
			Limit: number(limit), Value: number(value), Outcome: outcome.Regression, Why: "repeat 1"}
	}
	disturbed, bound := count(BuiltIn, 2, "writes/op", 2, 3), count(FromBaseline, 2, "requests/op", 4.25, 5.00096)
	disturbed.Outcome, disturbed.Why, bound.bound = outcome.Inconclusive, "a reconnect", true
	for name, tt := range map[string]struct {
		checks []Check
		want   string
	}{
		"a request more": {[]Check{count(BuiltIn, 10, "requests/op", 5, 6), count(FromBaseline, 10, "exists-requests/op", 1, 2), count(FromBaseline, 10, "requests/op", 5, 6)},
			"s, lock/v, 10 clients: 5 → 6 requests per operation (1 exists more)"},
		"one fewer": {[]Check{count(FromBaseline, 1, "getData-requests/op", 1, 0), count(FromBaseline, 1, "requests/op", 4, 3)},
			"s, lock/v, 1 client: 4 → 3 requests per operation (1 getData fewer); update formula and baseline if this is meant"},
		"one for another": {[]Check{count(FromBaseline, 2, "exists-requests/op", 0, 1), count(FromBaseline, 2, "getData-requests/op", 1, 0)},
			"s, lock/v, 2 clients: 0 → 1 exists requests per operation; 1 → 0 getData requests per operation"},
		"with all clients": {[]Check{count(FromBaseline, 2, "herd-max", 1, 2), count(FromBaseline, 50, "herd-max", 1, 2)}, "s, lock/v, 2, 50 clients: largest herd 1 → 2"},
		"a small one":      {[]Check{count(FromBaseline, 2, "requests/op", 5, 5.0004)}, "s, lock/v, 2 clients: 5 → 5.0004 requests per operation"},
		"over a bound":     {[]Check{bound}, "s, lock/v, 2 clients: requests per operation: 5.001, over the bound of 4.25"},
		"disturbed":        {[]Check{disturbed}, "s, lock/v, 2 clients: 2 → 3 writes per operation, but this is not certain: a reconnect"},
	} {
		r := NewReport(append(tt.checks, Check{Outcome: outcome.Pass}), nil)
		if len(r.Findings) != 1 || r.Findings[0].Text != tt.want {
			t.Errorf("%s: %q, want %q", name, r.Findings, tt.want)
		}
	}
}

// Regressions come before doubts, and the verdict counts them.
func TestRegressionsBesidesDoubts(t *testing.T) {
	doubt := Check{Rule: "x", Outcome: outcome.Inconclusive, Why: "too few"}
	worse := Check{Source: FromBaseline, Rule: "==", Metric: "requests/op", Limit: number(5), Value: number(6), Outcome: outcome.Regression}
	r := NewReport([]Check{doubt, worse}, nil)
	var b strings.Builder
	r.WriteText(&b, 120, false)
	if !strings.HasPrefix(b.String(), "INCONCLUSIVE (exit code 5): 1 regression, and results are missing") || r.Findings[0].Outcome != outcome.Regression {
		t.Errorf("%s", b.String())
	}
}

func write(t *testing.T, to func(path string) error) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	must.Do(t, to(path))
	text := must.Get(os.ReadFile(path))(t)
	return text
}

func TestJSON(t *testing.T) {
	r, _ := failing(t)
	var got struct {
		Schema  int             `json:"schema"`
		Verdict outcome.Outcome `json:"verdict"`
		Code    int             `json:"exit_code"`
		Checks  []struct {
			Outcome outcome.Outcome
			Why     string
			Value   *float64
			Screen  *struct{ Pairs int }
		} `json:"checks"`
	}
	must.Do(t, json.Unmarshal(write(t, r.WriteJSON), &got))
	if got.Schema != 1 || got.Verdict != outcome.Violation || got.Code != 4 || len(got.Checks) != len(r.Checks) {
		t.Errorf("%+v", got)
	}
	for _, c := range got.Checks {
		if c.Outcome != outcome.Pass && c.Why == "" {
			t.Errorf("a check without a reason: %+v", c)
		}
	}
	text, err := json.Marshal(paired.Estimate{Upper: table.Number(inf())})
	if err != nil || !strings.Contains(string(text), `"upper_bound":null`) {
		t.Errorf("an infinity becomes %s, %v", text, err)
	}
}

func inf() float64 { x := 0.0; return 1 / x }

// The sums are sums, and each case has at most one result.
func TestJUnit(t *testing.T) {
	r, _ := failing(t)
	r.Notes = append(r.Notes, "\x1b[31mred", "]]> <&") // no XML may have the first, nor a CDATA section the second
	var got, sum junit.Testsuites
	must.Do(t, xml.Unmarshal(write(t, r.WriteJUnit), &got))
	for i, s := range got.Suites {
		failures, errs := 0, 0
		for _, c := range s.Testcases {
			if c.Name == "" || c.Classname == "" || c.Failure != nil && c.Error != nil {
				t.Errorf("case %+v", c)
			}
			if c.Failure != nil {
				failures++
			}
			if c.Error != nil {
				errs++
			}
		}
		if s.ID != i || s.Tests != len(s.Testcases) || s.Failures != failures || s.Errors != errs || s.Skipped != 0 {
			t.Errorf("suite %s counts wrongly", s.Name)
		}
		sum.AddSuite(s)
	}
	if sum.Tests != len(r.Checks) || sum.Failures == 0 || sum.Errors == 0 {
		t.Errorf("sums: %+v of %d checks", sum, len(r.Checks))
	}
}

// testdata/junit.xsd accepts no more than the schemas of Ant's reports and of Jenkins do.
func TestJUnitSchema(t *testing.T) {
	if _, err := exec.LookPath("xmllint"); err != nil {
		t.Skip("validating needs xmllint, of Debian's libxml2-utils")
	}
	r, _ := failing(t)
	sound := write(t, r.WriteJUnit)
	for name, tt := range map[string]struct {
		text  []byte
		valid bool
	}{
		"every outcome":    {sound, true},
		"nothing judged":   {write(t, NewReport(nil, nil).WriteJUnit), true},
		"a lost attribute": {bytes.Replace(sound, []byte(` classname=`), []byte(` class=`), 1), false},
		"two results":      {bytes.Replace(sound, []byte("<failure "), []byte(`<error message="" type="x"/><failure `), 1), false},
	} {
		path := filepath.Join(t.TempDir(), "junit.xml")
		must.Do(t, os.WriteFile(path, tt.text, 0o600))
		out, err := exec.CommandContext(t.Context(), "xmllint", "--noout", "--nonet", "--schema", "testdata/junit.xsd", path).CombinedOutput()
		if (err == nil) != tt.valid {
			t.Errorf("%s: %v\n%s\n%s", name, err, out, tt.text)
		}
	}
}

func TestAnnotations(t *testing.T) {
	r := NewReport([]Check{{Rule: "a", Scenario: "s,t:u", Outcome: outcome.Violation, Why: "50 %: two,\r\nat once"}, {Rule: "b", Outcome: outcome.Pass}}, nil)
	var b bytes.Buffer
	r.WriteAnnotations(&b)
	if want := "::error title=violation::s,t:u: 50 %25: two, at once\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// Each finding is one item in Markdown, for any content.
func TestMarkdown(t *testing.T) {
	r, _ := failing(t)
	text := string(write(t, r.WriteMarkdown))
	if items := strings.Count(text, "\n- "); items != len(r.Findings)+len(r.Notes) {
		t.Errorf("%d items for %d findings and %d notes:\n%s", items, len(r.Findings), len(r.Notes), text)
	}
	if !strings.Contains(text, `a\|b`) || !strings.Contains(text, "&lt;again&gt;") {
		t.Errorf("not escaped:\n%s", text)
	}
}

// The lines are read with benchstat's own parser, to check the parts that benchstat does not print.
func TestBenchfmt(t *testing.T) {
	_, e := failing(t)
	e.Pairs = nil
	text := write(t, e.WriteBenchfmt)
	reader := benchfmt.NewReader(bytes.NewReader(text), "file")
	lines := 0
	for reader.Scan() {
		switch rec := reader.Result().(type) {
		case *benchfmt.Result:
			lines++
			if v, ok := rec.Value(metric.NotificationsPerOp); !ok || v != 2 || rec.Iters != 50 {
				t.Errorf("%+v", rec)
			}
			if name := rec.Name.String(); name != "Zkbench/scenario=self-test/variant=synthetic/clients=50" {
				t.Errorf("name %s", name)
			}
		case *benchfmt.SyntaxError:
			t.Error(rec)
		}
	}
	if reader.Err() != nil || lines != 1 {
		t.Errorf("%d lines, %v", lines, reader.Err())
	}
	for key, want := range map[string]string{"assume": "exact", "better": "lower"} {
		if m := reader.Units().Get(metric.NotificationsPerOp, key); m == nil || m.Value != want {
			t.Errorf("unit metadata %s: %+v, want %s", key, m, want)
		}
	}
}

// benchstat itself, in the version of go.mod, compares the builds of pairs, and treats exact counts as exact.
func TestBenchstat(t *testing.T) {
	p := syntheticPairs(1.5, DefaultPairRules(now))
	_, e := failing(t)
	e.Pairs = nil
	for name, tt := range map[string]struct {
		e    Evidence
		args []string
		want []string
	}{
		"pairs":  {Evidence{Pairs: &p}, []string{"-col", "build", "-filter", ".unit:wait-p50-ns"}, []string{"base", "head", "vs base", "(p=0.000 n=30)"}},
		"counts": {e, []string{"-filter", ".unit:notifications/op"}, []string{"clients=50", "2.000"}},
	} {
		path := filepath.Join(t.TempDir(), "bench.txt")
		must.Do(t, tt.e.WriteBenchfmt(path))
		out, err := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"tool", "benchstat"}, tt.args, []string{path})...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range tt.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: no %q in\n%s", name, want, out)
			}
		}
	}
}

func TestBenchfmtOfPairs(t *testing.T) {
	p := syntheticPairs(1, DefaultPairRules(now))
	text := write(t, Evidence{Pairs: &p}.WriteBenchfmt)
	var builds []string
	for reader := benchfmt.NewReader(bytes.NewReader(text), "file"); reader.Scan(); {
		if rec, ok := reader.Result().(*benchfmt.Result); ok {
			builds = append(builds, rec.GetConfig("build"))
		}
	}
	if len(builds) != 20 || len(slices.Compact(builds)) != 2 {
		t.Errorf("builds %v", builds)
	}
}
