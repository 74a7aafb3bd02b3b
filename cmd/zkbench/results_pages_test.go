package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/golden"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/report"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/results/summary"
	"github.com/zkbench/zkbench/results/table"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// A block of measured figures in a page. PAGE names the run, which is stored in docs/results/PAGE.json.gz:
//
//	<!-- results PAGE KIND SCENARIO… -->
//	<!-- end -->
var figureBlock = regexp.MustCompile(`(?ms)^<!-- results (\S+) (\S+) ?(.*?) ?-->\n(.*?)^<!-- end -->$`)

// Every measured figure in the documentation is computed from a stored run, by the code that prints the run. With -update, the pages are
// written again. `make results PAGE=…` first measures and stores the run.
func TestMeasuredFigures(t *testing.T) {
	t.Setenv("COLUMNS", "120")
	kinds := map[string]int{}
	for _, page := range measuredPages(t) {
		text := must.Get(os.ReadFile(page))(t)
		fresh := figureBlock.ReplaceAllStringFunc(string(text), func(old string) string {
			part := figureBlock.FindStringSubmatch(old)
			kinds[part[2]]++
			head, _, _ := strings.Cut(old, "\n")
			return head + "\n" + figures(t, part[1], part[2], part[3]) + "<!-- end -->"
		})
		golden.Compare(t, page, []byte(fresh))
	}
	for kind := range kindsOfFigures() {
		if kinds[kind] == 0 {
			t.Errorf("no page has figures of kind %s", kind)
		}
	}
}

// The run of each page can be repeated: the page names its command, which selects the stored scenarios.
func TestPagesNameTheirRun(t *testing.T) {
	stored := must.Get(filepath.Glob("../../docs/results/*.json.gz"))(t)
	for _, file := range stored {
		page := strings.TrimSuffix(filepath.Base(file), ".json.gz")
		command := commandOf(t, page)
		want := list.Where(command, func(word string) bool { return !strings.HasPrefix(word, "-") && word != "all" })
		if len(want) == 1 && isGroup(want) {
			want = list.Map(must.Get(scenarios.Group(want[0], catalog.Recipes()))(t), func(s scenarios.Scenario) string { return s.Name })
		}
		has := list.Distinct(list.Map(readStored(t, page), func(d *results.Document) string { return d.Scenario.Name }))
		slices.Sort(want)
		if !slices.Equal(has, want) {
			t.Errorf("%s: has %v, and its command %v", file, has, want)
		}
	}
	if len(stored) < 9 {
		t.Errorf("only %d runs are stored", len(stored))
	}
}

// TestStoreRun condenses the run in the folder ZKBENCH_STORE for the page ZKBENCH_PAGE: `make results` calls it.
func TestStoreRun(t *testing.T) {
	page, dir := os.Getenv("ZKBENCH_PAGE"), os.Getenv("ZKBENCH_STORE")
	if page == "" || dir == "" {
		t.Skip("needs the name of a page in ZKBENCH_PAGE and the folder of its run in ZKBENCH_STORE")
	}
	docs := must.Get(store.ReadAll([]string{dir}))(t)
	for _, d := range docs {
		d.Series, d.AroundHerd, d.Servers, d.Stalls, d.Floor, d.Connect, d.Timeline = nil, nil, nil, nil, nil, nil, results.Timeline{}
		if d.Failure != nil {
			d.Failure.Around = nil
		}
		for phase, h := range d.Histograms { // the metrics have the percentiles; doubts need the number of samples
			d.Histograms[phase] = results.Histogram{Samples: h.Samples, Dropped: h.Dropped}
		}
	}
	var out bytes.Buffer
	packed := must.Get(gzip.NewWriterLevel(&out, gzip.BestCompression))(t)
	must.Do(t, json.NewEncoder(packed).Encode(docs))
	must.Do(t, packed.Close())
	must.Do(t, store.WriteFile(storedFile(page), out.Bytes()))
}

func storedFile(page string) string { return "../../docs/results/" + page + ".json.gz" }

func readStored(t *testing.T, page string) (docs []*results.Document) {
	t.Helper()
	packed := must.Get(gzip.NewReader(bytes.NewReader(must.Get(os.ReadFile(storedFile(page)))(t))))(t)
	must.Do(t, json.Unmarshal(must.Get(io.ReadAll(packed))(t), &docs))
	return docs
}

func measuredPages(t *testing.T) []string {
	t.Helper()
	return append(must.Get(filepath.Glob("../../docs/results/*.md"))(t), "../../README.md")
}

// commandOf returns the arguments of `zkbench run` that a page of results names.
func commandOf(t *testing.T, page string) []string {
	t.Helper()
	text := must.Get(os.ReadFile("../../docs/results/" + page + ".md"))(t)
	found := regexp.MustCompile(`(?m)^<!-- results ` + page + ` facts zkbench run (.*) -->$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("docs/results/%s.md does not name its command: <!-- results %s facts zkbench run … -->", page, page)
	}
	return strings.Fields(string(found[1]))
}

type figuresOf func(w io.Writer, docs []*results.Document, args string) error

func kindsOfFigures() map[string]figuresOf {
	return map[string]figuresOf{
		"facts":    writeFacts,
		"report":   writeReport,
		"overview": writePairs,
		"compare":  writeComparison,
		"claims":   writeClaims,
		"bounds":   writeBounds,
		"reasons":  writeReasons,
	}
}

// figures returns a block's text. Arguments that name scenarios select their documents, or leave those out that follow a hyphen.
func figures(t *testing.T, page, kind, args string) string {
	t.Helper()
	write, known := kindsOfFigures()[kind]
	if !known {
		t.Fatalf("%s: no figures of kind %s", page, kind)
	}
	words := strings.Fields(args)
	docs := list.Where(readStored(t, page), func(d *results.Document) bool { return !slices.Contains(words, "-"+d.Scenario.Name) })
	named := list.Where(docs, func(d *results.Document) bool { return slices.Contains(words, d.Scenario.Name) })
	if len(named) == 0 {
		named = docs
	}
	var out strings.Builder
	must.Do(t, write(&out, named, args))
	return strings.TrimRight(out.String(), "\n") + "\n"
}

func writeFacts(w io.Writer, docs []*results.Document, command string) error {
	all := func(of func(*results.Document) string) string {
		return strings.Join(list.AppendNew(nil, list.Map(docs, of)...), ", ")
	}
	_, err := fmt.Fprintf(w, "Measured on %s by `%s` (%d measurements): %s. %s.\n",
		all(func(d *results.Document) string { return d.Started.Format("2006-01-02") }), command, len(docs),
		all(func(d *results.Document) string {
			e := d.Environment
			return fmt.Sprintf("%d × %s (%s), %s, zkbench %s", len(e.Servers), e.Software(), e.Engine, e.TxnLog, strings.SplitN(e.Zkbench, " (", 2)[0])
		}),
		all(func(d *results.Document) string {
			e := d.Environment
			return fmt.Sprintf("Clients and servers share %d × %s with %.0f GiB, %s, kernel %s", e.CPUs, e.CPU, float64(e.Memory)/(1<<30), e.OS, e.Kernel)
		}))
	return err
}

// writeReport writes what `zkbench report` prints in a terminal of the usual width.
func writeReport(w io.Writer, docs []*results.Document, _ string) error {
	var text strings.Builder
	(&app{stdout: &text}).printTables(docs, summary.Of(docs))
	_, err := fmt.Fprintf(w, "```\n%s\n```\n", strings.TrimSpace(text.String()))
	return err
}

func writePairs(w io.Writer, docs []*results.Document, _ string) error {
	report.WriteOverviewMarkdown(w, summary.Of(docs))
	return nil
}

// writeComparison compares the variants of a scenario: the arguments are the scenario, the variant that the others are compared with, and
// metrics.
func writeComparison(w io.Writer, docs []*results.Document, args string) error {
	words := strings.Fields(args)
	c, err := compare.Variants(compare.Side{Name: words[0], Docs: docs}, compare.Options{Base: words[1], Metrics: words[2:]})
	if err != nil {
		return err
	}
	return c.Write(w, "markdown", 0)
}

// writeClaims writes one line for each claim of the scenarios, with what was measured.
func writeClaims(w io.Writer, docs []*results.Document, _ string) error {
	t := table.New(table.Left("scenario", "claim", "", "measured")...)
	for _, own := range list.GroupBy(docs, func(d *results.Document) string { return d.Scenario.Name }) {
		for _, check := range report.Checks(own, own[0]) {
			t.Row("`"+own[0].Scenario.Name+"`", check.String(), check.Verdict(), check.Why)
		}
	}
	_, err := fmt.Fprintln(w, t.Markdown())
	return err
}

// The costs in a table of variants are those of the variants' formulas. The block names the number of clients; the third cell of each row
// belongs to the variant in the second one.
func TestCostsOfVariants(t *testing.T) {
	const path = "../../README.md"
	costs := regexp.MustCompile(`(?ms)^<!-- costs (\d+) -->\n(.*?)^<!-- end -->$`)
	row := regexp.MustCompile("(?m)^(\\|[^|\n]*\\| `([a-z]+/[a-z0-9-]+)` \\|)[^|\n]*\\|")
	found := 0
	fresh := costs.ReplaceAllStringFunc(string(must.Get(os.ReadFile(path))(t)), func(text string) string {
		clients := must.Get(strconv.Atoi(costs.FindStringSubmatch(text)[1]))(t)
		return row.ReplaceAllStringFunc(text, func(line string) string {
			found++
			cells := row.FindStringSubmatch(line)
			_, v, known := catalog.Variant(cells[2])
			if !known {
				t.Errorf("%s: no variant %s", path, cells[2])
			}
			return fmt.Sprintf("%s %.4g, %.4g |", cells[1], v.Free.Requests.At(clients), v.Lockstep.HerdMax.At(clients))
		})
	})
	golden.Compare(t, path, []byte(fresh))
	if found < 8 {
		t.Errorf("%d rows with costs", found)
	}
}
