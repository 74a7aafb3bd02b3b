package compare_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/table"
)

func TestARatioToZeroHasNoUpperEnd(t *testing.T) {
	nan := table.Number(math.NaN())
	r := compare.Row{Estimate: compare.Estimate{Ratio: 2, Low: nan, High: nan, Least: 0.5, Most: table.Number(math.Inf(1))}}
	if got, want := r.RatioText(), "0.50–∞×"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// twoRuns has every kind of output: verdicts of each kind, unsound numbers, a difference, measurements of one side only.
func twoRuns(t *testing.T) compare.Comparison {
	t.Helper()
	a, b := compare.Side{Name: "runs/old"}, compare.Side{Name: "runs/new"}
	for i := range 7 {
		wobble := float64(i%3) / 50
		free := func(scale float64) map[string]float64 {
			return map[string]float64{
				"ops/s": 502 / scale * (1 + wobble), "handoff-p50-ns": 1.9e6 * scale * (1 - wobble), "acquire-p50-ns": 9.9e7 * (1 + wobble*scale),
				"requests/op": 5, "notifications/op": 0, "herd-max": 1,
			}
		}
		a.Docs = append(a.Docs, doc("a", "predecessor-watch-session-id", i+1, 2*i, free(1)), doc("a", "znode", i+1, 2*i, free(1)))
		b.Docs = append(b.Docs, doc("b", "predecessor-watch-session-id", i+1, 2*i+1, free(1.5-wobble)), doc("b", "znode", i+1, 2*i+1, free(1)))
	}
	b.Docs[1].Violations = []results.Violation{{Text: "two holders"}}
	drain := func(requests float64) map[string]float64 {
		return map[string]float64{"handoff-p50-ns": 3e6, "requests/op": requests, "writes/op": 2, "notifications/op": 10 - requests, "herd-max": 1}
	}
	a.Docs = append(a.Docs, exact(doc("a", "znode", 1, 90, drain(4)))...)
	b.Docs = append(b.Docs, exact(doc("b", "znode", 1, 91, drain(4.001)), doc("b", "other", 1, 91, drain(5)))...)
	for _, d := range b.Docs {
		d.Environment.Zkbench = "1.1-22-g7c0ffee"
		d.Tags = results.Tags{"branch": "topic", "host": "ci, 1"}
	}
	for _, d := range a.Docs {
		d.Tags = results.Tags{"branch": "main"}
	}
	c := must.Get(compare.Runs([]compare.Side{a, b}, compare.Options{}))(t)
	return c
}

// oneRun compares three variants, one of which has been measured on servers with other settings.
func oneRun(t *testing.T) compare.Comparison {
	t.Helper()
	s := compare.Side{Name: "runs/new"}
	for i := range 3 {
		for j, variant := range []string{"children-watch", "predecessor-watch", "znode"} {
			d := doc("a", variant, i+1, 3*i+j, map[string]float64{"ops/s": float64(100 * (j + 1)), "notifications/op": float64(50 / (j + 1))})
			if variant == "znode" {
				d.Environment.ServerConfig = map[string]string{"tickTime": "500"}
			}
			s.Docs = append(s.Docs, d)
		}
	}
	c := must.Get(compare.Variants(s, compare.Options{}))(t)
	return c
}

func written(t *testing.T, c compare.Comparison, format string, width int) []byte {
	t.Helper()
	var out bytes.Buffer
	must.Do(t, c.Write(&out, format, width))
	return out.Bytes()
}

func TestGoldens(t *testing.T) {
	for name, c := range map[string]compare.Comparison{"runs": twoRuns(t), "variants": oneRun(t)} {
		for _, width := range []int{66, 80, 120} {
			text := written(t, c, "text", width)
			for line := range strings.Lines(string(text)) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
					t.Errorf("%s: a line of %d columns, want %d at most: %s", name, n, width, line)
				}
			}
			golden.Compare(t, filepath.Join("testdata", name+"-"+strconv.Itoa(width)+".txt"), text)
		}
		golden.Compare(t, filepath.Join("testdata", name+".md"), written(t, c, "markdown", 80))
		golden.Compare(t, filepath.Join("testdata", name+".csv"), written(t, c, "csv", 80))
		golden.Compare(t, filepath.Join("testdata", name+".json"), written(t, c, "json", 80))
	}
}

func TestJSONCanBeReadBack(t *testing.T) {
	c := twoRuns(t)
	var back struct {
		Schema      int
		Sides       []string
		Differences []struct{ Subject, Name, Base, Other string }
		Rows        []struct {
			Metric           string
			Base, Other      struct{ Value *float64 }
			Ratio, Low, High *float64
			Verdict, Reason  string
		}
	}
	must.Do(t, json.Unmarshal(written(t, c, "json", 80), &back))
	if back.Schema != 1 || len(back.Sides) != 2 || len(back.Differences) != 1 || len(back.Rows) != len(c.Rows) {
		t.Fatalf("%+v", back)
	}
	for i, r := range back.Rows {
		want := c.Rows[i]
		if math.IsNaN(float64(want.Ratio)) {
			if r.Ratio != nil {
				t.Errorf("%+v, want no ratio", r)
			}
			continue
		}
		if !near(*r.Base.Value, want.Base.Value) || !near(*r.Ratio, want.Ratio) || r.Verdict != string(want.Verdict) || r.Reason == "" {
			t.Errorf("%+v, want %+v", r, want)
		}
	}
	few := written(t, oneRun(t), "json", 80)
	if !bytes.Contains(few, []byte(`"low": 0,`)) || !bytes.Contains(few, []byte(`"high": null`)) {
		t.Errorf("an interval without end is not null:\n%s", few)
	}
}

// near reports whether a number was written and read without a loss.
func near(got float64, want table.Number) bool {
	return math.Abs(got-float64(want)) <= 1e-11*math.Abs(got)
}

func TestCSVCanBeReadBack(t *testing.T) {
	c := twoRuns(t)
	lines, err := csv.NewReader(bytes.NewReader(written(t, c, "csv", 80))).ReadAll()
	if err != nil || len(lines) != len(c.Rows)+1 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	for i, r := range c.Rows {
		got := map[string]string{}
		for j, title := range lines[0] {
			got[title] = lines[i+1][j]
		}
		value, err := strconv.ParseFloat(got["base"], 64)
		if err != nil || !near(value, r.Base.Value) || got["unit"] != r.Unit || got["verdict"] != string(r.Verdict) || got["other mark"] != r.Other.Mark {
			t.Errorf("%v, want %+v (%v)", got, r, err)
		}
	}
}

func TestMarkdownTablesAreWhole(t *testing.T) {
	rows, cells := 0, 0
	for line := range strings.Lines(string(written(t, twoRuns(t), "markdown", 80))) {
		if strings.HasPrefix(line, "|") {
			rows++
			cells += strings.Count(line, "|") - 1
		}
	}
	if want := len(twoRuns(t).Rows) + 2*2; rows != want || cells != 7*want {
		t.Errorf("%d rows with %d cells, want %d rows of 7", rows, cells, want)
	}
}

// Each rate has one table, with all its numbers of clients.
func TestTablesOfOpenLoads(t *testing.T) {
	sides := []compare.Side{{Name: "old"}, {Name: "new"}}
	for i := range sides {
		for _, clients := range []int{10, 50} {
			for _, rate := range []results.Rate{100, 200} {
				d := doc(sides[i].Name, "znode", 1, 0, one("response-p50-ns", 1))
				d.Clients, d.Rate = clients, rate
				sides[i].Docs = append(sides[i].Docs, d)
			}
		}
	}
	c := must.Get(compare.Runs(sides, compare.Options{}))(t)
	var text bytes.Buffer
	must.Do(t, c.Write(&text, "text", 120))
	for want, times := range map[string]int{"at 100/s": 1, "at 200/s": 1, "10 clients": 2, "50 clients": 2} {
		if got := strings.Count(text.String(), want); got != times {
			t.Errorf("%q stands %d times, want %d:\n%s", want, got, times, text.String())
		}
	}
}

// The mark of counts that deviate is explained, and does not keep exact counts from being compared.
func TestDeviatesIsExplained(t *testing.T) {
	const explained = "DEVIATES: counts are not those of the variant's formula; `zkbench gate RESULT` says which\n"
	for _, deviates := range []bool{true, false} {
		a, b := turns("requests/op", []float64{4}, []float64{5})
		exact(append(a.Docs, b.Docs...)...)
		if deviates {
			b.Docs[0].Expected.Costs = map[string]results.Cost{"requests/op": {Formula: "4", Value: 4}}
			b.Docs[0].Batch, b.Docs[0].Window.Operations = 1, 50
		}
		var out bytes.Buffer
		c := must.Get(compare.Runs([]compare.Side{a, b}, compare.Options{}))(t)
		must.Do(t, c.Write(&out, "text", 120))
		if strings.Contains(out.String(), explained) != deviates || c.Rows[0].Verdict != compare.Worse {
			t.Errorf("deviates: %t, %s\n%s", deviates, c.Rows[0].Verdict, out.String())
		}
	}
}
