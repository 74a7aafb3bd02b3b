package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/plots/page"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/compare"
	"github.com/zkbench/zkbench/results/metric"
)

const question = "How does a lock behave under contention?"

// doc is a measurement with a few metrics, and a timeline with a herd.
func doc(run, variant, kind string, clients, repeat int) *results.Document {
	costs := float64(1)
	if kind == "naive" {
		costs = float64(clients)
	}
	d := &results.Document{
		Schema: results.Schema, Run: run, Started: time.Date(2026, 1, 2, 12, clients+repeat, 0, 0, time.UTC),
		Recipe: "lock", Variant: variant, Kind: kind, Phases: []string{"handoff", "hold"}, Clients: clients, Repeat: repeat,
		Scenario: results.Scenario{
			Name: "lock-contention", Question: question, Mode: "closed", Duration: 3 * time.Second, Overview: "predecessor-watch against children-watch by notifications/op",
			Asks: []string{metric.NotificationsPerOp}, Expect: []string{"predecessor-watch notifications/op <= 1", "children-watch notifications/op >= 1000"},
		},
		Environment: results.Environment{Engine: "container", ZooKeeper: "3.9.3", Servers: []string{"a", "b", "c"}, CPU: "EPYC", CPUs: 2},
		Herd:        results.Herd{Grouping: results.GroupedByZxid, Sizes: []results.SizeCount{{Size: int(costs), Count: 3}}},
		Expected:    results.Expected{Costs: map[string]results.Cost{metric.NotificationsPerOp: {Formula: "N-1", Value: costs}}},
		Metrics: map[string]results.Metric{
			metric.NotificationsPerOp: {Value: costs, Unit: "per op"}, metric.OpsPerSecond: {Value: 100 * costs, Unit: "1/s"}, "handoff-p50-ns": {Value: costs * 1e6, Unit: "ns"}, "bytes/op": {Value: 321},
		},
	}
	for i := range 5 {
		d.Timeline.Notifications = append(d.Timeline.Notifications, results.TimelineDot{At: time.Duration(i) * time.Millisecond, Client: i % clients})
	}
	d.Timeline.End = time.Second
	return d
}

func docs(run string) []*results.Document {
	var out []*results.Document
	for _, clients := range []int{2, 5} {
		for repeat := 1; repeat <= 2; repeat++ {
			out = append(out, doc(run, "children-watch", "naive", clients, repeat), doc(run, "predecessor-watch", "optimized", clients, repeat))
		}
	}
	return out
}

func written(t *testing.T, r page.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.Write(&out, r); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func report(all []*results.Document) page.Report {
	return page.Report{
		Sides:   []compare.Side{{Name: "results/runs/x", Docs: all}},
		Explain: func(recipe, variant string) string { return "1. " + variant + " of " + recipe },
	}
}

// The page has the answer, the claims, the conditions, the doubts, the tables, the figures and the explanations.
func TestPage(t *testing.T) {
	all := docs("r1")
	all[0].Warnings, all[0].Tags = []string{"the machine was busy"}, results.Tags{"branch": "<topic>"}
	all = append(all, doc("r1", "znode", "naive", 5, 1))
	all[len(all)-1].Invalid = []string{"the counts disagree"}
	got := written(t, report(all))
	for _, want := range []string{
		"<title>lock-contention: predecessor-watch against children-watch, 2026-01-02 – zkbench</title>", ">notif/op</th>", ">handoff p50</th>",
		question, "With 5 clients, compared with children-watch, predecessor-watch has 1.00 notif/op instead of 5.00",
		"<p>1 of 2 claims hold, 1 does not hold.</p>", "<b>holds</b>: predecessor-watch notifications/op &lt;= 1", "<b>does not hold</b>: children-watch",
		"branch=&lt;topic&gt;", "mode closed, duration 3s, on 3 × ZooKeeper 3.9.3 (container)", "the machine was busy (children-watch, 2 clients)", "1 of 9 measurements are invalid", "invalid: the counts disagree (znode, 5 clients)",
		`<tr class="void"><th scope="row">znode INVALID</th>`, "all other metrics with 5 clients", "<td>321</td>", "1. children-watch of lock", "formula, an upper bound",
		`data-name="lock-contention-container-costs"`, `<figure class="zoom" data-name="lock-contention-container-timeline-n5-children-watch"`, "<title>children-watch, 5 clients: 5.00</title>",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Claims are not checked where flags have changed the load, and the page says so.
func TestClaimsOfAChangedLoad(t *testing.T) {
	all := docs("r1")
	for _, d := range all {
		d.Scenario.Expect = nil
	}
	if got := written(t, report(all)); !strings.Contains(got, "No claims were checked") || strings.Contains(got, "claims hold") {
		t.Error("the page does not say that the claims were not checked")
	}
}

// Nothing is fetched: the page names no address, and its policy forbids what is not in it.
func TestNothingIsFetched(t *testing.T) {
	got := written(t, report(docs("r1")))
	for _, what := range []string{"http://", "https://", "src=", "@import", "url(", "<link", "<iframe", "<base"} {
		if strings.Contains(got, what) {
			t.Errorf("the page has %q", what)
		}
	}
	if !strings.Contains(got, "default-src &#39;none&#39;; style-src &#39;sha256-") {
		t.Error("the page has no policy")
	}
}

// Texts of documents are shown as texts, wherever they stand.
func TestTextsAreEscaped(t *testing.T) {
	const evil = `</title></style></script><script>alert(1)</script>"'><img onerror=x> ]]> <!--`
	all := docs(evil)
	for _, d := range all {
		d.Scenario.Name, d.Scenario.Question, d.Variant, d.Recipe, d.Kind = evil, evil, d.Variant+evil, evil, evil
		d.Environment.Engine, d.Environment.ZooKeeper, d.Environment.CPU, d.Environment.Zkbench, d.Environment.TxnLog = evil, evil, evil, evil, evil
		d.Environment.Product, d.Environment.Auth = evil, evil
		d.Warnings, d.Invalid = []string{evil}, nil
		d.Scenario.Overview, d.Scenario.Mode, d.Scenario.Faults = evil, evil, []results.FaultLoad{{Kind: "kill", Whom: evil}}
		d.Metrics[evil] = results.Metric{Value: float64(d.Clients)}
		d.Scenario.Asks = []string{evil}
		d.Expected.Costs[evil] = results.Cost{Formula: evil}
	}
	all[1].Violations = []results.Violation{{Text: evil}}
	r := report(all)
	r.Sides[0].Name = evil
	r.Explain = func(string, string) string { return evil }
	got := written(t, r)
	if n := strings.Count(got, "<script>"); n != 1 {
		t.Errorf("the page has %d scripts, want its own alone", n)
	}
	if strings.Contains(got, "<img") || strings.Contains(got, "<!--") {
		t.Error("a text became markup")
	}
	if n := strings.Count(html.UnescapeString(got), evil); n < 15 {
		t.Errorf("the text is shown %d times", n)
	}
}

// The servers are named with their product, and with TLS and authentication if clients use them, in facts, figures and headings.
func TestServersAreNamed(t *testing.T) {
	for want, e := range map[string]results.Environment{
		"3 × ZooKeeper 3.9.3 (container)":                              {},
		"3 × ClickHouse Keeper 26.7 (external, TLS, digest)":           {Engine: "external", Product: "ClickHouse Keeper", ZooKeeper: "26.7", TLS: true, Auth: "digest"},
		"on ClickHouse Keeper 26.7, 3 servers (external, TLS, digest)": {Engine: "external", Product: "ClickHouse Keeper", ZooKeeper: "26.7", TLS: true, Auth: "digest"},
		"on the embedded server, TLS":                                  {Engine: "embedded", TLS: true},
		"on ZooKeeper 3.8.0, 3 servers (process), herds guessed":       {Engine: "process", ZooKeeper: "3.8.0"},
	} {
		all := docs("run")
		for _, d := range all {
			if own := &d.Environment; e.Engine != "" {
				own.Engine, own.Product, own.ZooKeeper, own.TLS, own.Auth = e.Engine, e.Product, e.ZooKeeper, e.TLS, e.Auth
			}
			if strings.HasSuffix(want, "guessed") {
				d.Herd.Grouping = results.GroupedByPathAndTime
			}
		}
		if got := written(t, report(all)); !strings.Contains(html.UnescapeString(got), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Several runs are compared under the rules of compare, and each has its sections.
func TestSeveralRuns(t *testing.T) {
	sides := []compare.Side{{Name: "old", Docs: docs("a")}, {Name: "new", Docs: docs("b")}}
	for _, d := range sides[1].Docs {
		d.Started = d.Started.Add(time.Hour)
		d.Environment.ZooKeeper = "3.8.4"
	}
	c, err := compare.Runs(sides, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := written(t, page.Report{Sides: sides, Comparison: &c})
	for _, want := range []string{"The runs compared", "differs: ZooKeeper 3.9.3 in the base, 3.8.4 in new (only exact counts are compared; with --across zookeeper, all are)", "measured under different conditions: ZooKeeper", "lock-contention (old)", "lock-contention (new)"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// Texts of the page have a contrast of at least 4.5:1 on each background, in both schemes.
func TestContrastOfThePage(t *testing.T) {
	css, err := os.ReadFile("page.css")
	if err != nil {
		t.Fatal(err)
	}
	schemes := regexp.MustCompile(`:root\{[^}]*\}`).FindAllString(string(css), -1)
	if len(schemes) != 2 {
		t.Fatalf("%d color schemes, want a light and a dark one", len(schemes))
	}
	for i, scheme := range schemes {
		colors := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z-]+):#([0-9a-f]{3,6})`).FindAllStringSubmatch(scheme, -1) {
			colors[m[1]] = luminance(t, m[2])
		}
		for text, papers := range map[string][]string{"text": {"page", "head", "warn", "bad"}, "soft": {"page"}, "link": {"page"}, "void": {"page"}} {
			for _, paper := range papers {
				a, b := colors[text], colors[paper]
				if r := (max(a, b) + 0.05) / (min(a, b) + 0.05); r < 4.5 {
					t.Errorf("scheme %d: %s on %s has a contrast of %.1f", i, text, paper, r)
				}
			}
		}
	}
}

func luminance(t *testing.T, digits string) float64 {
	t.Helper()
	if len(digits) == 3 {
		digits = fmt.Sprintf("%[1]c%[1]c%[2]c%[2]c%[3]c%[3]c", digits[0], digits[1], digits[2])
	}
	var sum float64
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v, err := strconv.ParseUint(digits[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		share := float64(v) / 255
		if share > 0.04045 {
			share = math.Pow((share+0.055)/1.055, 2.4)
		} else {
			share /= 12.92
		}
		sum += weight * share
	}
	return sum
}

// A reader sorts, points, presses keys and zooms in a browser; without scripts, everything can still be read. The test needs Chromium.
func TestInABrowser(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium: apt-get install chromium")
	}
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	text := written(t, report(docs("r1")))
	drive, err := os.ReadFile(filepath.Join("testdata", "drive.js"))
	if err != nil {
		t.Fatal(err)
	}
	own := regexp.MustCompile(`script-src [^"]*"`)
	driven := own.ReplaceAllString(strings.Replace(text, "</body>", "<script>"+string(drive)+"</script></body>", 1), `script-src 'unsafe-inline'"`)
	dumped := dump(t, browser, driven)
	verdict := regexp.MustCompile(`<pre id="verdict">(.*?)</pre>`).FindStringSubmatch(dumped)
	if verdict == nil {
		t.Fatalf("the driver did not come to its end: %.2000s", dumped)
	}
	var said struct {
		Errors                                 []string
		Sorted, ByKey, ByPointer               string
		Reordered, Hidden, Zoomed, Reset, Wide bool
	}
	if err := json.Unmarshal([]byte(html.UnescapeString(verdict[1])), &said); err != nil {
		t.Fatal(err)
	}
	if len(said.Errors) > 0 || said.Sorted != "descending" || !said.Reordered || said.ByKey == "" || said.ByPointer == "" || !said.Hidden || !said.Zoomed || !said.Reset || said.Wide {
		t.Errorf("%+v", said)
	}
	// Under its own policy, the page's script runs and makes buttons. Without scripts there are none, and all tables.
	if n := strings.Count(dump(t, browser, text), "<button"); n == 0 {
		t.Error("the policy of the page refuses its own script")
	}
	plain := dump(t, browser, own.ReplaceAllString(text, `script-src 'none'"`))
	if strings.Contains(plain, "<button") || strings.Count(plain, "<table") != strings.Count(text, "<table") || !strings.Contains(plain, "<title>children-watch, 5 clients: 5.00</title>") {
		t.Error("without scripts, the page is not as it was written")
	}
}

func dump(t *testing.T, browser, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+path).Output()
	if err != nil {
		t.Fatalf("%s: %v", browser, err)
	}
	return string(out)
}
