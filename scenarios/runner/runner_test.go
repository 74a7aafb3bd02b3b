package runner_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/doubts"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/store"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/session"
)

// live is an ensemble of this package alone. Otherwise its tests and the tests of other packages would wait for each other for minutes.
var live = ensembletest.Shared{Suffix: "-runner"}

func TestMain(m *testing.M) { os.Exit(live.Main(m)) }

// onServers returns the real servers to one test at a time, because each reads their counters. Tests of libraries run at the same time, on
// embedded servers.
func onServers(t *testing.T) ensemble.Ensemble {
	t.Helper()
	t.Parallel()
	inUse.Lock()
	t.Cleanup(inUse.Unlock)
	return live.Get(t)
}

// onServersAlone returns the real servers to a test beside which no other runs, because the process's memory is measured, and its collector
// is tuned to the number of clients.
func onServersAlone(t *testing.T) ensemble.Ensemble {
	t.Helper()
	return live.Get(t)
}

// inUse is locked by the test that uses the real servers.
var inUse sync.Mutex

// runnerChecks hold on every ensemble.
var runnerChecks = []struct {
	name  string
	check func(t *testing.T, e ensemble.Ensemble)
}{
	{"every scenario runs", everyScenarioRuns},
	{"costs equal formulas", costsEqualFormulas},
	{"a wrong formula is caught", wrongFormulaIsCaught},
	{"a broken lock is caught", brokenLockIsCaught},
	{"the oracle catches a missed notification", oracleCatchesAMissedNotification},
	{"an interrupt leaves nothing", interruptLeavesNothing},
	{"every measurement has a floor", everyMeasurementHasAFloor},
	{"a background is counted exactly", busyLoads},
}

// paced is a server that is busy with each request for a while. Otherwise a load of a second of virtual time would
// have an unbounded number of operations.
var paced = embedded.Config{ReadDelay: 500 * time.Microsecond, WriteDelay: time.Millisecond}

// bubble runs a test that measures in virtual time, on a server that is paced.
func bubble(t *testing.T, test func(t *testing.T, e *embedded.Ensemble)) {
	t.Helper()
	bubbleOn(t, paced, test)
}

// bubbleOn is bubble on another server.
func bubbleOn(t *testing.T, config embedded.Config, test func(t *testing.T, e *embedded.Ensemble)) {
	t.Helper()
	if testing.Short() {
		t.Skip("a measurement")
	}
	bubbles <- struct{}{}
	defer func() { <-bubbles }()
	ensembletest.Bubble(t, config, test)
}

// bubbles limits the tests that run in virtual time or start drivers to one per CPU. More would only take memory.
var bubbles = make(chan struct{}, runtime.GOMAXPROCS(0))

func TestRunner(t *testing.T) {
	for _, c := range runnerChecks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, e *embedded.Ensemble) { c.check(t, e) })
		})
	}
}

func TestLiveRunner(t *testing.T) {
	e := onServers(t)
	for _, c := range runnerChecks {
		t.Run(c.name, func(t *testing.T) { c.check(t, e) })
	}
}

// measure passes each document of a scenario to save.
func measure(ctx context.Context, t testing.TB, e ensemble.Ensemble, s scenarios.Scenario, recipes []variants.Recipe, save func(*results.Document)) error {
	t.Helper()
	if !inMemory(e) && testing.Short() {
		t.Skip("a measurement")
	}
	r := runnerOf(t, e, recipes, save)
	r.ShortenFloors()                               // whole ones take longer than most of these loads
	drivers := s.HasDriver(*s.RecipeAmong(recipes)) // each rehearsal would start a process
	if len(s.Faults) > 0 || s.Mode == scenarios.Open || drivers {
		r.SkipRehearsals()
	}
	return r.RunScenario(ctx, s)
}

func runnerOf(t testing.TB, e ensemble.Ensemble, recipes []variants.Recipe, save func(*results.Document)) *runner.Runner {
	r := &runner.Runner{
		Ensemble: e, Recipes: recipes, Run: strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()),
		Save:     func(d *results.Document) error { readable(t, d); save(d); return nil },
		Progress: func(int, int, string) {}, Notice: func(string) {},
	}
	if inMemory(e) {
		r.InVirtualTime()
	}
	return r
}

// readable fails the test unless a document can be read after it is written. Reading rejects documents that contradict themselves.
func readable(t testing.TB, d *results.Document) {
	t.Helper()
	text, err := store.Seal(d)
	if err == nil {
		_, err = store.Decode(text)
	}
	err = errors.Join(err, store.CheckInvariants(d))
	if err != nil {
		t.Errorf("%s: %v", d.Filename(), err)
	}
}

// checkSound reports reasons that make a document's numbers invalid, broken promises, and servers that contradict the clients. Servers
// that fail by a schedule are not compared.
func checkSound(t testing.TB, d *results.Document) {
	t.Helper()
	if len(unsound(d))+len(d.Violations) > 0 || !d.Oracle.Agrees() && !faults.OfServers(d.Scenario.Faults) {
		t.Errorf("%s/%s, %d clients, repeat %d: %q, violations %v, oracle %+v",
			d.Recipe, d.Variant, d.Clients, d.Repeat, unsound(d), d.Violations[:min(len(d.Violations), 3)], d.Oracle)
	}
}

// unsound returns the reasons why numbers must not be used, and the counts that differ from exact formulas.
func unsound(d *results.Document) []string {
	reasons := slices.Clone(d.Invalid)
	for _, v := range doubts.Deviations(d) {
		if v.Exact {
			reasons = append(reasons, v.String())
		}
	}
	return reasons
}

func mustMeasure(t testing.TB, e ensemble.Ensemble, s scenarios.Scenario, recipes []variants.Recipe) []*results.Document {
	t.Helper()
	var docs []*results.Document
	keep := func(d *results.Document) { docs = append(docs, d) }
	if err := measure(t.Context(), t, e, s, recipes, keep); err != nil {
		t.Fatal(err)
	}
	return docs
}

// measureInBubble is mustMeasure in virtual time.
func measureInBubble(t *testing.T, s scenarios.Scenario, recipes []variants.Recipe) (docs []*results.Document) {
	t.Helper()
	bubble(t, func(t *testing.T, e *embedded.Ensemble) { docs = mustMeasure(t, e, s, recipes) })
	return docs
}

func lockstepOf(clients ...int) scenarios.Scenario {
	s := scenarios.Default()
	s.Name, s.Recipe, s.Mode, s.Clients, s.Repeats = "lockstep", "lock", scenarios.Lockstep, clients, 1
	return s
}

func uncontended() scenarios.Scenario {
	s := closedOf("lock", 1)
	s.Operations = 50
	return s
}

// closedOf returns a closed load of some clients of a recipe, which needs a length.
func closedOf(recipe string, clients int, names ...string) scenarios.Scenario {
	s := scenarios.Default()
	s.Name, s.Recipe, s.Variants, s.Clients, s.Repeats = "closed", recipe, names, []int{clients}, 1
	return s
}

// inMemory reports whether a server is in memory, and thus in virtual time.
func inMemory(e ensemble.Ensemble) bool { return e.Servers()[0].Dialer != nil }

// countedOnServers reports whether the formulas of a recipe are also checked on real servers. Two recipes are enough, because
// TestLiveDifferential compares replies and notifications of embedded and real servers. Locks set watches, and queues
// send transactions of several operations.
func countedOnServers(recipe string) bool { return recipe == "lock" || recipe == "queue" }

// Every scenario that comes with zkbench runs, cut down to the shortest load of its kind. Real servers run the scenarios of one recipe,
// and the scenarios that measure heaps. Scenarios with faults need their whole load, see TestFailureScenarios. Libraries have tests of
// their own, see TestLiveDrivers.
func everyScenarioRuns(t *testing.T, e ensemble.Ensemble) {
	ofHundreds(t)
	for _, name := range scenarios.Names() {
		s, err := scenarios.Load(name, catalog.Recipes())
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Faults) > 0 || runner.CheckDrivers(s, catalog.Recipes()) != nil { // TestLiveDrivers requires libraries where live tests are required
			continue
		}
		if inMemory(e) && s.HasDriver(*s.RecipeAmong(catalog.Recipes())) { // drivers are processes, which reach no server in memory
			continue
		}
		if !inMemory(e) && s.Recipe != "lock" && !s.Heap {
			continue
		}
		s.Quick()
		dropBrokenLibraries(&s)
		if !inMemory(e) { // once is enough, and real servers take their time
			s.Clients = s.Clients[len(s.Clients)-1:]
		}
		if problems := s.Validate(catalog.Recipes()); len(problems) > 0 {
			t.Fatalf("%s, cut down: %v", name, problems)
		}
		for _, d := range measureBriefly(t, e, s) {
			if d.BreachExpected() && len(d.Violations) > 0 {
				continue
			}
			late := func(reason string) bool { // as on a busy machine
				return !inMemory(e) && strings.HasPrefix(reason, "zkbench began arrivals late")
			}
			if len(slices.DeleteFunc(unsound(d), late))+len(d.Violations) > 0 || !d.Oracle.Agrees() {
				t.Errorf("%s, %s: %q, violations %v, oracle %+v", name, d.Variant, unsound(d), d.Violations, d.Oracle)
			}
			for phase := range d.Histograms {
				own := strings.HasPrefix(phase, results.WarmUpPrefix) || strings.HasPrefix(phase, results.BystanderPhase) ||
					phase == results.ResponsePhase || phase == results.ServicePhase
				if !own && !slices.Contains(d.Phases, phase) {
					t.Errorf("%s, %s: the recipe does not declare its phase %s", name, d.Variant, phase)
				}
			}
		}
	}
}

// dropBrokenLibraries omits the variants of libraries whose breach a scenario expects. It takes tens of seconds until such a load
// is known to stand still, which TestLiveDriversThatStandStill shows once.
func dropBrokenLibraries(s *scenarios.Scenario) {
	for _, v := range s.RecipeAmong(catalog.Recipes()).Broken {
		if isV := func(name string) bool { return name == v.Name }; v.Driver != nil {
			s.Variants, s.Broken = slices.DeleteFunc(s.Variants, isV), slices.DeleteFunc(s.Broken, isV)
		}
	}
}

// measureBriefly measures for as long as it takes until every variant has completed something, which on a busy machine may
// be long.
func measureBriefly(t *testing.T, e ensemble.Ensemble, s scenarios.Scenario) []*results.Document {
	t.Helper()
	idle := func(d *results.Document) bool { return d.Window.Operations == 0 }
	for length := 200 * time.Millisecond; ; length *= 5 {
		s.Duration = min(s.Duration, length) // some are measured by operations, with none
		docs := mustMeasure(t, e, s, catalog.Recipes())
		if !slices.ContainsFunc(docs, idle) || length > 20*time.Second {
			return docs
		}
		s.Duration = 5 * length
	}
}

// Every variant of every recipe costs exactly what its formulas say, and the servers counted the same. Formulas have cases for small
// numbers of clients, so that a server in memory gets all of these, and a large one, which shows the powers of N. It also gets the
// variants that are known to be broken.
func costsEqualFormulas(t *testing.T, e ensemble.Ensemble) {
	ofHundreds(t)
	for _, recipe := range catalog.Recipes() {
		lockstep := lockstepOf(numbers(1, 20)...)
		lockstep.Variants = ownVariants(recipe)
		if !inMemory(e) {
			if !countedOnServers(recipe.Name) {
				continue
			}
			lockstep = lockstepOf(1, 2, 7)
		}
		alone := uncontended()
		lockstep.Recipe, alone.Recipe = recipe.Name, recipe.Name
		if slices.ContainsFunc(recipe.Variants, variants.Variant.HasLockstep) {
			checkCosts(t, measureUndisturbed(t, e, lockstep))
		}
		checkCosts(t, measureUndisturbed(t, e, alone))
	}
}

// ownVariants names the variants of a recipe without those of libraries. One that is known to be broken has exact costs, too, because the
// races in which it breaks its promise do not happen in lockstep.
func ownVariants(recipe variants.Recipe) []string {
	var names []string
	for _, v := range slices.Concat(recipe.Variants, recipe.Broken) {
		if v.Kind != variants.Library {
			names = append(names, v.Name)
		}
	}
	return names
}

// measureUndisturbed measures once more if a session was cut off or the leader changed, which a busy machine can cause and
// after which counts cannot be exact.
func measureUndisturbed(t *testing.T, e ensemble.Ensemble, s scenarios.Scenario) []*results.Document {
	t.Helper()
	docs := mustMeasure(t, e, s, catalog.Recipes())
	disturbed := func(d *results.Document) bool {
		return d.Health.LeaderChanged || d.Health.Reconnects > 0 || d.Health.SessionsLost > 0
	}
	if !slices.ContainsFunc(docs, disturbed) {
		return docs
	}
	t.Logf("%s, %s: measured again, because the servers were disturbed", s.Recipe, s.Name)
	return mustMeasure(t, e, s, catalog.Recipes())
}

func checkCosts(t *testing.T, docs []*results.Document) {
	t.Helper()
	for _, d := range docs {
		if !d.CountsExactly() || len(d.Expected.Costs) != 5 {
			t.Errorf("%s/%s, %d clients: the formulas were not applied exactly: %+v", d.Recipe, d.Variant, d.Clients, d.Expected)
		}
		checkSound(t, d)
		if !d.Oracle.Checked {
			t.Errorf("%s/%s, %d clients: oracle %+v", d.Recipe, d.Variant, d.Clients, d.Oracle)
		}
		if d.Counts.Notified() > 0 && d.Herd.Grouping != results.GroupedByZxid && d.Environment.ZooKeeper >= "3.9" {
			t.Errorf("herds are grouped by %s", d.Herd.Grouping)
		}
	}
}

// sabotage is sabotageOf for the lock.
func sabotage(name string, change func(*variants.Variant)) []variants.Recipe {
	return sabotageOf("lock", name, change)
}

// sabotageOf returns all recipes, with one variant of a recipe changed.
func sabotageOf(recipe, name string, change func(*variants.Variant)) []variants.Recipe {
	recipes := catalog.Recipes()
	i := slices.IndexFunc(recipes, func(r variants.Recipe) bool { return r.Name == recipe })
	for j := range recipes[i].Variants {
		if v := &recipes[i].Variants[j]; v.Name == name {
			change(v)
		}
	}
	return recipes
}

// wrapped returns the recipes with a lock whose participants are wrapped.
func wrapped(wrap func(variants.Participant) variants.Participant) []variants.Recipe {
	return sabotage("predecessor-watch", func(v *variants.Variant) {
		surround(v, func(_ variants.Env, p variants.Participant) variants.Participant { return wrap(p) })
	})
}

func surround(v *variants.Variant, wrap func(variants.Env, variants.Participant) variants.Participant) {
	join := v.Join
	v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		p, err := join(ctx, env)
		if err != nil {
			return nil, err
		}
		return wrap(env, p), nil
	}
}

// interrupted is a participant that calls a function before each of its steps.
type interrupted struct {
	variants.Participant
	steps  int
	before func(ctx context.Context, step int) error
}

func (i *interrupted) Step(ctx context.Context) error {
	i.steps++
	if err := i.before(ctx, i.steps); err != nil {
		return err
	}
	return i.Participant.Step(ctx)
}

// A formula that is off by one notification in a whole lockstep run is noticed, and does not make the numbers invalid.
func wrongFormulaIsCaught(t *testing.T, e ensemble.Ensemble) {
	s := lockstepOf(7)
	s.Variants = []string{"children-watch"}
	docs := mustMeasure(t, e, s, sabotage("children-watch", func(v *variants.Variant) {
		v.Lockstep.Notifications = "1/N + " + v.Lockstep.Notifications
	}))
	if got := doubts.Deviations(docs[0]); len(got) != 1 || got[0].Metric != metric.NotificationsPerOp || len(docs[0].Invalid) > 0 {
		t.Errorf("deviations %+v, invalid %q", got, docs[0].Invalid)
	}
}

// A lock that admits all clients at once is broken, however fast it is.
func brokenLockIsCaught(t *testing.T, e ensemble.Ensemble) {
	s := closedOf("lock", 5, "predecessor-watch")
	s.Operations, s.Hold = 20, time.Millisecond
	docs := mustMeasure(t, e, s, sabotage("predecessor-watch", func(v *variants.Variant) {
		join := v.Join
		v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
			root, err := ownDirectory(env.Session.Conn(), env.Root)
			if err != nil {
				return nil, err
			}
			env.Root = root
			return join(ctx, env)
		}
	}))
	if len(docs[0].Violations) == 0 || docs[0].Metrics[metric.Violations].Value == 0 {
		t.Error("a lock without exclusion was not caught")
	}
}

// ownDirectory makes a directory that no other participant uses. Locking it excludes no other participant.
func ownDirectory(s session.Conn, root string) (string, error) {
	return s.Create(root+"/own-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
}

// bypass is a participant that has a second session, which no ledger sees.
type bypass struct {
	variants.Participant
	conn *zk.Conn
	root string
}

func (b bypass) Step(ctx context.Context) error {
	if _, _, _, err := b.conn.ExistsW(b.root + "/bypass"); err != nil {
		return err
	}
	for _, do := range []func() error{
		func() error {
			_, err := b.conn.Create(b.root+"/bypass", nil, 0, zk.WorldACL(zk.PermAll))
			return err
		},
		func() error { return b.conn.Delete(b.root+"/bypass", -1) },
		func() error { return b.Participant.Step(ctx) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

func (b bypass) Leave(ctx context.Context) error {
	b.conn.Close()
	return b.Participant.Leave(ctx)
}

// Requests and notifications that bypass the ledgers show in the servers' counters.
func oracleCatchesAMissedNotification(t *testing.T, e ensemble.Ensemble) {
	s := uncontended()
	s.Operations = 3
	s.Variants = []string{"znode"}
	docs := mustMeasure(t, e, s, sabotage("znode", func(v *variants.Variant) {
		join := v.Join
		v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
			p, err := join(ctx, env)
			if err != nil {
				return nil, err
			}
			conn, err := ensemble.Connect(ctx, e.Servers()[0], wire.NewLedger(time.Now()), nil)
			return bypass{p, conn, env.Root}, err
		}
	}))
	o := docs[0].Oracle
	if o.Agrees() || o.ServerNotifications-o.ClientNotifications != 3 || o.ServerTransactions-o.ClientWrites != 6 {
		t.Errorf("3 notifications and 6 writes went past the ledgers, the oracle says %+v", o)
	}
	if more := int64(9); more < o.ServerPackets-o.MostPackets || more > o.ServerPackets-o.LeastPackets {
		t.Errorf("9 requests went past the ledgers, the oracle says %+v", o)
	}
	if len(docs[0].Invalid) != 3 {
		t.Errorf("invalid = %q, want a line for notifications, one for writes and one for packets", docs[0].Invalid)
	}
}

// An interrupted run says so, keeps the complete documents, and leaves no znode behind.
func interruptLeavesNothing(t *testing.T, e ensemble.Ensemble) {
	s := closedOf("lock", 5)
	s.Repeats, s.Duration = 1000, 50*time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	saved := 0
	err := measure(ctx, t, e, s, catalog.Recipes(), func(d *results.Document) {
		if saved++; saved == 3 {
			time.AfterFunc(70*time.Millisecond, cancel) // in the middle of one of the next
		}
		if len(d.Violations) > 0 {
			t.Errorf("violations: %v", d.Violations)
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted run returned %v", err)
	}
	if saved < 3 {
		t.Errorf("%d whole measurements were kept, want those before the interrupt", saved)
	}
	nothingLeft(t, e)
}

// nothingLeft checks that no znode is left but ZooKeeper's own.
func nothingLeft(t *testing.T, e ensemble.Ensemble) {
	t.Helper()
	conn, err := ensemble.Connect(t.Context(), e.Servers()[0], wire.NewLedger(time.Now()), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := ensemble.Fence(conn); err != nil {
		t.Fatal(err)
	}
	names, _, err := conn.Children("/")
	if err != nil || !slices.Equal(names, []string{"zookeeper"}) {
		t.Errorf("znodes after the run: %v (%v), want only ZooKeeper's own", names, err)
	}
}

// The size reaches the recipe's preparation, every participant and the document.
func TestSizeReachesTheRecipe(t *testing.T) {
	bubble(t, func(t *testing.T, e *embedded.Ensemble) {
		var mu sync.Mutex
		var sizes []int
		see := func(env variants.Env) {
			mu.Lock()
			defer mu.Unlock()
			sizes = append(sizes, env.Size)
		}
		recipes := sabotageOf("election", "master-znode", func(v *variants.Variant) {
			join := v.Join
			v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
				see(env)
				return join(ctx, env)
			}
		})
		for i := range recipes {
			recipes[i].Prepare = func(_ context.Context, env variants.Env) error { see(env); return nil }
		}
		s := lockstepOf(2)
		s.Recipe, s.Variants, s.Size = "election", []string{"master-znode"}, 7
		docs := mustMeasure(t, e, s, recipes)
		if !slices.Equal(sizes, []int{7, 7, 7}) || docs[0].Scenario.Size != 7 {
			t.Errorf("sizes %v, %d in the document; want 7 everywhere", sizes, docs[0].Scenario.Size)
		}
	})
}

// meteredHeap is a server with a known heap: each watch takes 30,000 bytes, so that 20 of them are more than noise.
type meteredHeap struct {
	*embedded.Ensemble
	broken error
}

func (w meteredHeap) HeapUsed(ctx context.Context) (int64, error) {
	counters, err := ensemble.Monitor(ctx, w.Servers()[0])
	return 1<<20 + 30_000*counters["zk_watch_count"], errors.Join(err, w.broken)
}

// The heap is measured before the watches are set and when all are set. If it cannot be measured, the result says why.
func TestHeapIsMeasuredAroundTheLineUp(t *testing.T) {
	for _, tt := range []struct {
		name string
		of   func(server *embedded.Ensemble) ensemble.Ensemble
		why  string
	}{
		{"a known heap", func(e *embedded.Ensemble) ensemble.Ensemble { return meteredHeap{e, nil} }, ""},
		{"a server that does not answer", func(e *embedded.Ensemble) ensemble.Ensemble { return meteredHeap{e, errors.New("no answer")} }, "no answer"},
		{"servers that do not report heaps", func(e *embedded.Ensemble) ensemble.Ensemble { return e }, "do not report"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, e *embedded.Ensemble) { checkHeaps(t, tt.of(e), tt.why) })
		})
	}
}

// checkHeaps measures heaps. If why is not empty, that must fail for this reason.
func checkHeaps(t *testing.T, e ensemble.Ensemble, why string) {
	t.Helper()
	s := lockstepOf(4)
	s.Recipe, s.Size, s.Heap = "watchload", 5, true
	for _, d := range mustMeasure(t, e, s, catalog.Recipes()) {
		m, told := d.Metrics[metric.HeapPerWatch]
		warned := slices.ContainsFunc(d.Warnings, func(w string) bool { return strings.Contains(w, "heaps were not measured") })
		switch {
		case len(unsound(d)) > 0:
			t.Errorf("unsound: %q", unsound(d))
		case why == "" && (!told || m.Value != 30_000 || d.Heap.Watches != 20 || warned):
			t.Errorf("%s: %+v bytes per watch (%v), heap %+v, want 30,000 for 20 watches", d.Variant, m, told, d.Heap)
		case why != "" && (told || !warned || !strings.Contains(d.Heap.Why, why)):
			t.Errorf("%s: heap %+v, warnings %q, want to learn that %q", d.Variant, d.Heap, d.Warnings, why)
		}
	}
}

func numbers(first, last int) (all []int) {
	for n := first; n <= last; n++ {
		all = append(all, n)
	}
	return all
}

// The rehearsal of a load of any length is short, even for a recipe whose clients must all take the same number of steps.
func TestRehearsalsAreShort(t *testing.T) {
	t.Parallel()
	for name, load := range map[string]func(*scenarios.Scenario){
		"a duration": func(s *scenarios.Scenario) { s.Duration = 24 * time.Hour },
		"operations": func(s *scenarios.Scenario) { s.Operations = 1_000_000_000 },
		"operations of a barrier": func(s *scenarios.Scenario) {
			s.Recipe, s.Variants, s.Operations = "doublebarrier", []string{"counted"}, 1_000_000_000
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := closedOf("lock", 3, "predecessor-watch")
			s.WarmUp = 24 * time.Hour
			load(&s)
			bubble(t, func(t *testing.T, e *embedded.Ensemble) { rehearseOnly(t, e, s) })
		})
	}
}

// rehearseOnly runs a scenario until its first measurement, which must come within a few seconds.
func rehearseOnly(t *testing.T, e ensemble.Ensemble, s scenarios.Scenario) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var took time.Duration
	begun := time.Now()
	r := runnerOf(t, e, catalog.Recipes(), func(*results.Document) {})
	r.Progress = func(_, _ int, next string) {
		if strings.HasSuffix(next, "repeat 1") {
			took = time.Since(begun)
			cancel()
		}
	}
	if err := r.RunScenario(ctx, s); took == 0 || took > 3*time.Second || !errors.Is(err, context.Canceled) {
		t.Errorf("the run ended with %v, and came to its first measurement after %s", err, took)
	}
}
