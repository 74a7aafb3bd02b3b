package mutants_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/gate"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/outcome"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

const (
	callSites     = "ZKBENCH_CALLSITES" // the variants of which all changes are tried, as a regular expression; a sample if it is empty
	sampleFor     = time.Minute
	fewClients    = 11 // more of them take longer
	unnoticedFile = "unnoticed.tsv"
)

// exactRun is a run of one variant whose counts are the same each time, with its row of a baseline.
type exactRun struct {
	scenario scenarios.Scenario
	baseline gate.Baseline
}

// exactRuns returns the runs of a variant that have a baseline: those in lockstep first, and the fewest clients first.
func exactRuns(t *testing.T, recipe, variant string) (all []exactRun) {
	for name, b := range must.Get(gate.ReadBaselines("../../results/baselines"))(t) {
		if b.Load.Recipe != recipe || b.Load.Faults != "" {
			continue
		}
		s := must.Get(scenarios.Load(name, catalog.Recipes()))(t)
		for _, row := range b.Rows {
			exact := !s.Heap && (s.Mode == scenarios.Lockstep || s.Operations > 0 && row.Clients == 1)
			if exact && row.Variant == variant && row.Clients <= fewClients {
				s.Variants, s.Clients, s.Repeats, b.Rows = []string{variant}, []int{row.Clients}, 1, []gate.BaselineRow{row}
				all = append(all, exactRun{s, b})
			}
		}
	}
	slices.SortFunc(all, func(x, y exactRun) int {
		a, b := x.scenario, y.scenario
		return cmp.Or(-cmp.Compare(a.Mode, b.Mode), cmp.Compare(a.Clients[0], b.Clients[0]), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// gated makes a run with an alteration in virtual time, and returns the verdict of the gate.
func (r exactRun) gated(t *testing.T, a *alteration) (report gate.Report, err error) {
	a.reached = map[site]bool{}
	// A server that takes time bounds the number of operations of a rehearsal.
	ensembletest.Bubble(t, embedded.Config{WriteDelay: time.Millisecond}, func(t *testing.T, e *embedded.Ensemble) {
		recipe := catalog.Named(r.scenario.Recipe)()
		for i := range recipe.Variants {
			recipe.Variants[i].Join = a.in(recipe.Variants[i].Join)
		}
		var evidence gate.Evidence
		run := runner.Runner{
			Ensemble: e, Recipes: []variants.Recipe{recipe}, Run: "20260102T030405Z-ab12", Progress: func(int, int, string) {},
			Save: func(d *results.Document) error {
				text, err := store.Seal(d)
				if err == nil {
					d, err = store.Decode(text)
				}
				evidence.Documents = append(evidence.Documents, d)
				return err
			},
		}
		err = run.RunScenario(t.Context(), r.scenario)
		report = gate.Evaluate(evidence, gate.Rules{Baselines: map[string]gate.Baseline{r.scenario.Name: r.baseline}})
	})
	return report, err
}

// call is a place in the source at which a request is sent.
type call struct {
	file     string // below variants
	from, to int    // lines
	text     string // of the function that is called
}

// changed identifies a change of a call, as the text of a mutant does.
func (c call) changed(line int, variant, change string) string {
	return fmt.Sprintf("%s:%d\t%s: %s %s", c.file, line, variant, c.text, change)
}

var (
	// sends are the functions that send a request for their caller, see [operations].
	sends = regexp.MustCompile(`^((([csgw]|conn|(.*\.)?[sS]ession|.*\.following)\.` +
		`(Create|Delete|Discard|Ensure|Exists|ExistsW|Find|Get|GetW|Set|Children|ChildrenW|Sync|Synced|Multi|Remove))|(.*\.)?[jJ]ournal\.Do)$`)
	// neverMeasured are files without code that clients run while zkbench counts.
	neverMeasured = regexp.MustCompile(`_test\.go$|^(simulation|variantstest|mutants|catalog|conformance)/|/drivers/|library_`)
)

// calls returns all call sites. A call inside of another one, such as in a function literal, comes later.
func calls(t *testing.T) (all []call) {
	eachFile(t, neverMeasured, func(file string, r *rewriter, parsed *ast.File) {
		ast.Inspect(parsed, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if ok && sends.MatchString(r.text(c.Fun)) && !operations.MatchString(file) && r.text(c.Fun) != "j.session.Multi" {
				all = append(all, call{file, r.fset.Position(c.Pos()).Line, r.fset.Position(c.End()).Line, r.text(c.Fun)})
			}
			return true
		})
	})
	return all
}

// sitePass tries changes of call sites, of several variants at a time.
type sitePass struct {
	calls   []call
	reasons reasons // why changes are not noticed

	mu       sync.Mutex
	reached  map[int]bool            // indices of calls; false for those that are only reached while clients join
	verdicts map[outcome.Outcome]int // the number of changes that led to it
}

// called returns the call of a site.
func (p *sitePass) called(t *testing.T, at site, counted bool) call {
	for i, c := range slices.Backward(p.calls) {
		if c.file == at.file && c.from <= at.line && at.line <= c.to {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.reached[i] = p.reached[i] || counted
			return c
		}
	}
	t.Errorf("%s:%d sends a request (%s) and is not in the list of call sites: change the pattern sends", at.file, at.line, at.request)
	return call{}
}

// reachedBy returns the exact runs of a variant that reach a site, by site. Without a change, the gate must pass them.
func (p *sitePass) reachedBy(t *testing.T, name string) map[site][]exactRun {
	recipe, variant, _ := strings.Cut(name, "/")
	runs := exactRuns(t, recipe, variant)
	if len(runs) == 0 {
		t.Logf("%s: no run has exact counts", name)
	}
	in := map[site][]exactRun{}
	for _, r := range runs {
		original := &alteration{}
		if report, err := r.gated(t, original); err != nil || report.Code != outcome.CodePass {
			t.Fatalf("%s without a change: %s, %v: %s", r, report.Verdict, err, report.Checks[0].Why)
		}
		for at, counted := range original.reached {
			if p.called(t, at, counted); counted {
				in[at] = append(in[at], r)
			}
		}
	}
	return in
}

func (r exactRun) String() string {
	return fmt.Sprintf("%s with %d clients", r.scenario.Name, r.scenario.Clients[0])
}

// try fails the test if no run of a variant notices a change of a site, unless there is a reason for that. A change that only makes a run
// inconclusive is not noticed: the same run may pass another time.
func (p *sitePass) try(t *testing.T, name string, at site, change string, runs []exactRun) {
	c := p.called(t, at, true)
	verdict, said, noticed := outcome.Pass, "", false
	for i := 0; i < len(runs) && !noticed; i++ {
		report, err := runs[i].gated(t, &alteration{site: at, change: change})
		if verdict, said = report.Verdict, report.Checks[0].Why; err != nil {
			verdict, said = outcome.Error, err.Error()
		}
		noticed = slices.Contains([]outcome.Outcome{outcome.Regression, outcome.Violation, outcome.Error}, verdict)
		said = fmt.Sprintf("%s: %s", runs[i], said)
	}
	p.mu.Lock()
	p.verdicts[verdict]++
	p.mu.Unlock()
	text := c.changed(at.line, name, change)
	t.Logf("%s\t%s\t%s", text, verdict, said)
	switch why, known := p.reasons.why(strings.Split(text, "\t")); {
	case !noticed && !known:
		t.Errorf("the gate does not notice this, and testdata/%s gives no reason: %s", unnoticedFile, text)
	case noticed && known:
		t.Errorf("the gate notices this, and testdata/%s says that it does not, because %s: %s", unnoticedFile, why, text)
	}
}

// Each reason is one for a change that exists.
func TestUnnoticedChangesExist(t *testing.T) {
	var all []string
	for _, c := range calls(t) {
		for _, name := range names() {
			for _, change := range []string{afterSync, afterExists, twice, watching, dearer, leftOut} {
				all = append(all, c.changed(c.from, name, change))
			}
		}
	}
	for _, r := range readReasons(t, unnoticedFile) {
		if !slices.ContainsFunc(all, func(text string) bool { return r.explains(strings.Split(text, "\t")) }) {
			t.Errorf("testdata/%s: no change is %s", unnoticedFile, r.pattern)
		}
	}
}

// TestCallSites changes one call site at a time: all of them, or a sample for a while.
func TestCallSites(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	p := &sitePass{calls: calls(t), reasons: readReasons(t, unnoticedFile), reached: map[int]bool{}, verdicts: map[outcome.Outcome]int{}}
	if pattern := os.Getenv(callSites); pattern == "" {
		p.sample(t)
	} else {
		p.all(t, regexp.MustCompile(pattern))
	}
	t.Logf("changes by verdict: %v", p.verdicts)
}

func (p *sitePass) sample(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for begun := time.Now(); time.Since(begun) < sampleFor; {
		name := names()[random.IntN(len(names()))]
		in := p.reachedBy(t, name)
		sites := slices.SortedFunc(maps.Keys(in), site.compare)
		if len(sites) > 0 {
			at := sites[random.IntN(len(sites))]
			changes := changesOf(at.request)
			p.try(t, name, at, changes[random.IntN(len(changes))], in[at])
		}
	}
}

// all tries all changes of the variants that the pattern selects, and lists the sites that no exact run reaches.
func (p *sitePass) all(t *testing.T, selected *regexp.Regexp) {
	t.Run("variants", func(t *testing.T) {
		for _, name := range names() {
			if !selected.MatchString(name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				in := p.reachedBy(t, name)
				for _, at := range slices.SortedFunc(maps.Keys(in), site.compare) {
					for _, change := range changesOf(at.request) {
						p.try(t, name, at, change, in[at])
					}
				}
			})
		}
	})
	counted, joining := 0, 0
	for i, c := range p.calls {
		switch inStep, reached := p.reached[i]; {
		case inStep:
			counted++
		case reached:
			joining++
			t.Logf("reached only while clients join, which is not counted: %s:%d %s", c.file, c.from, c.text)
		default:
			t.Logf("not reached: %s:%d %s", c.file, c.from, c.text)
		}
	}
	t.Logf("of %d call sites, exact runs reach %d, and %d only while clients join", len(p.calls), counted, joining)
}
