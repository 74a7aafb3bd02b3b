package simulation_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/simulation"
)

func planOf(recipe variants.Recipe, variant int, seed uint64) simulation.Plan {
	return simulation.NewPlan(recipe, recipe.Variants[variant], seed)
}

// A seed always makes the same plan, which survives being written and read.
func TestPlansAreData(t *testing.T) {
	for seed := range uint64(200) {
		plan := planOf(lock.Recipe(), 0, seed)
		text := must.Get(json.Marshal(plan))(t)
		read, err := simulation.ParsePlan(text)
		if err != nil || !reflect.DeepEqual(read, planOf(lock.Recipe(), 0, seed)) {
			t.Fatalf("seed %d: %v: read\n%+v, written\n%+v", seed, err, read, plan)
		}
	}
}

// A plan that cannot be run is refused with the reason.
func TestImpossiblePlans(t *testing.T) {
	sound := simulation.Plan{Clients: 2, Steps: 1, Session: simulation.Duration(time.Second), Latency: []simulation.Duration{1000, 1000}}
	for want, spoil := range map[string]func(*simulation.Plan){
		"from 1 to 16 clients, not 0":    func(p *simulation.Plan) { p.Clients = 0 },
		"from 1 to 1000 steps, not 1001": func(p *simulation.Plan) { p.Steps = 1001 },
		"as many latencies, not 1":       func(p *simulation.Plan) { p.Latency = p.Latency[:1] },
		"a latency from 1us":             func(p *simulation.Plan) { p.Latency = []simulation.Duration{0, 1000} },
		"a session timeout is from 1s":   func(p *simulation.Plan) { p.Session = 0 },
		`fault 1: "freeze" is no kind`:   func(p *simulation.Plan) { p.Faults = []simulation.Fault{{Kind: "freeze"}} },
		"there is no client 2":           func(p *simulation.Plan) { p.Faults = []simulation.Fault{{Kind: simulation.Expire, Client: 2}} },
		`at: "" is no kind of request`:   func(p *simulation.Plan) { p.Faults = []simulation.Fault{{Kind: simulation.DropAfter}} },
		`at: "lunch" is no kind`:         func(p *simulation.Plan) { p.Faults = []simulation.Fault{{Kind: simulation.Die, At: "lunch"}} },
	} {
		p := sound
		spoil(&p)
		text := must.Get(json.Marshal(p))(t)
		if _, err := simulation.ParsePlan(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := simulation.ParsePlan([]byte(`{"clientz": 3}`)); err == nil {
		t.Error("an unknown field was accepted")
	}
}

// FuzzPlan reads plans, and plays those that can be run.
func FuzzPlan(f *testing.F) {
	for seed := range uint64(20) {
		text, err := json.Marshal(planOf(lock.Recipe(), int(seed)%len(lock.Recipe().Variants), seed))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		plan, err := simulation.ParsePlan(text)
		if err != nil || plan.Recipe != "lock" || plan.Steps > 10 || plan.Clients > 4 || len(plan.Faults) > 20 {
			return
		}
		if out := simulation.Play(t, lock.Recipe, plan); out.Fails() && out.Findings[0].Class != simulation.Broken {
			t.Error(out.Findings)
		}
	})
}

// The shrinker keeps the parts that the failure needs, and no others.
func TestShrink(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // to be repeated
	for range 50 {
		plan := planOf(lock.Recipe(), 0, random.Uint64())
		needed := func(p simulation.Plan) bool {
			long := 0
			for _, f := range p.Faults {
				if f.For > simulation.Duration(100*time.Millisecond) && f.After > 2 {
					long++
				}
			}
			return long > 0 && p.Steps > 3
		}
		if !needed(plan) {
			continue
		}
		small := simulation.Shrink(plan, needed)
		if len(small.Faults) != 1 || small.Clients != 1 || small.Steps != 4 || small.Faults[0].After > 5 || small.Faults[0].Delay != 0 {
			t.Errorf("the smallest plan is %+v", small)
		}
	}
}

// The shrinker does not change a plan that it is given, or one that it has found.
func TestShrinkKeepsLags(t *testing.T) {
	lag := []simulation.Duration{1, 2, 3, 4, 5}
	plan := planOf(lock.Recipe(), 0, 1)
	plan.Lag = slices.Clone(lag)
	small := simulation.Shrink(plan, func(p simulation.Plan) bool { return slices.Equal(p.Lag, lag) })
	if !slices.Equal(plan.Lag, lag) || !slices.Equal(small.Lag, lag) {
		t.Errorf("the lags became %v, and those of the smallest plan %v", plan.Lag, small.Lag)
	}
}

// Plans that failed once do not fail any more, and still reach the situation in which they did.
func TestKeptPlans(t *testing.T) {
	for file, situation := range map[string]string{
		"doublebarrier-counted.json":              "silence/working", // a watch that counts as fired says nothing about the closer
		"config-unprotected.json":                 "mute/",           // a reader that is cut off does not wait for the writer
		"doublebarrier-ready-node.json":           "mute/",           // a write of a former life opens a later round
		"revocable-forced.json":                   "late/",           // a client learns of its grant when it has been forced out again
		"hiddenchannel-watch.json":                "late/",           // a notification of a watch from before an outage fires a later one
		"masterworker-create-then-delete.json":    "die/",            // a master loses a reply and dies in the same move
		"hiddenchannel-sync-then-read.json":       "silence/",        // a request of the writer's former life overtakes the next one's
		"config-invalid-flag.json":                "silence/",        // a request of the writer's former life tears the values for good
		"treecache-resumed-watches.json":          "drop-before",     // a new session moves to a server that lags behind it
		"doublebarrier-counted-ahead.json":        "cut/",            // a round is over of which a member in its next life learns while it waits
		"membership-diff-cache.json":              "die/",            // all members have failed and begun anew
		"config-multi.json":                       "cut/",            // an update of the writer's former life comes after the next one's
		"config-multi-late.json":                  "silence/",        // and replaces it, although the next life has read before
		"config-unprotected-again.json":           "silence/",        // a writer makes an update once more whose successor was seen in part
		"blockingqueue-marked-ticket.json":        "mute/",           // and so does a put
		"treecache-jittered-reload.json":          "die/",            // the first load of a copy is interrupted
		"doublebarrier-ready-node-forwarded.json": "forward/",        // a write of a former life waits at its server
		"membership-diff-cache-again.json":        "part/",           // a member that has joined again is behind those that see it
		"membership-diff-cache-late.json":         "silence/",        // a member joins for its former life, whose session has not ended yet
		"membership-relist-and-reread.json":       "expire/",         // and so is one that has lost several sessions
		"queue-mark-and-requeue.json":             "expire/",         // an item is finished before its first taker hears of it
		// A session moves after a notification, to a server that has not applied yet what that told of.
		"barrier-no-recheck.json":        "drop-before get/",
		"hiddenchannel-watch-moved.json": "drop-before get/",
		"watchload-one-znode.json":       "drop-before exists/",
	} {
		text := must.Get(os.ReadFile(filepath.Join("testdata", file)))(t)
		plan := must.Get(simulation.ParsePlan(text))(t)
		out, met := simulation.Play(t, catalog.Named(plan.Recipe), plan), false
		for mark := range out.Met {
			met = met || strings.HasPrefix(mark, situation)
		}
		if out.Fails() || !met {
			t.Errorf("%s: %v; it met %v, and must meet %s", file, out.Findings, out.Met, situation)
		}
	}
}

// Every kind of fault meets clients in every state in which it matters, and at every kind of request.
func TestEverySituationIsMet(t *testing.T) {
	slow(t)
	missing := map[string]bool{}
	for _, kind := range simulation.Kinds() {
		for _, state := range []string{simulation.Waiting, simulation.Holding, "working"} {
			missing[string(kind)+"/"+state] = true
		}
	}
	for name := range simulation.Requests() {
		for _, kind := range []simulation.Kind{simulation.DropBefore, simulation.DropAfter, simulation.ExpireAt} {
			missing[string(kind)+" "+name] = true
		}
	}
	const most = 40 // seeds of each variant
	for seed := range uint64(most) {
		for _, plan := range plansOf(seed, "lock", "revocable", "election", "membership", "config", "hiddenchannel", "twophasecommit") {
			if len(missing) == 0 {
				return
			}
			for mark := range simulation.Play(t, catalog.Named(plan.Recipe), plan).Met {
				delete(missing, mark)
				delete(missing, strings.SplitN(mark, "/", 2)[0])
			}
		}
	}
	t.Errorf("no run has met %v", missing)
}

// The recipe in the documentation is the one that the tests run.
func TestDocumentedRecipe(t *testing.T) {
	code, err := os.ReadFile("counter_test.go")
	page, pageErr := os.ReadFile("../../docs/simulation.md")
	must.Do(t, errors.Join(err, pageErr))
	if want := strings.Replace(string(code), "package simulation_test", "package counter", 1); !strings.Contains(string(page), want) {
		t.Errorf("docs/simulation.md does not have this recipe:\n%s", want)
	}
}
