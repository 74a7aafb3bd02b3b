package scenarios_test

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
)

var live ensembletest.Shared

func TestMain(m *testing.M) { os.Exit(live.Main(m)) }

// measure runs a scenario and returns its documents.
func measure(ctx context.Context, t testing.TB, s scenarios.Scenario, recipes []variants.Recipe) ([]*results.Document, error) {
	t.Helper()
	var docs []*results.Document
	runner := scenarios.Runner{
		Ensemble: live.Get(t),
		Recipes:  recipes,
		Run:      strings.ReplaceAll(t.Name(), "/", "-"),
		Save:     func(d *results.Document) error { docs = append(docs, d); return nil },
		Progress: func(int, int, string) {},
	}
	err := runner.RunScenario(ctx, s)
	return docs, err
}

func mustMeasure(t testing.TB, s scenarios.Scenario, recipes []variants.Recipe) []*results.Document {
	t.Helper()
	docs, err := measure(t.Context(), t, s, recipes)
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func drain(clients ...int) scenarios.Scenario {
	s := scenarios.Default()
	s.Name, s.Recipe, s.Mode, s.Clients, s.Repeats = "drain", "lock", scenarios.Drain, clients, 1
	return s
}

func uncontended() scenarios.Scenario {
	s := scenarios.Default()
	s.Name, s.Recipe, s.Clients, s.Operations, s.Repeats = "uncontended", "lock", []int{1}, 50, 1
	return s
}

// Every variant costs exactly what its formulas say, and the servers counted the same.
func TestLiveCostsEqualFormulas(t *testing.T) {
	docs := mustMeasure(t, drain(1, 2, 3, 7, 20), catalog.Recipes())
	docs = append(docs, mustMeasure(t, uncontended(), catalog.Recipes())...)
	if want := 3*5 + 3; len(docs) != want {
		t.Fatalf("%d documents, want %d", len(docs), want)
	}
	for _, d := range docs {
		if !d.Expected.Exact || len(d.Expected.Costs) != 5 {
			t.Errorf("%s, %d clients: the formulas were not applied exactly: %+v", d.Variant, d.Clients, d.Expected)
		}
		if !d.Oracle.Checked || !d.Oracle.Agrees() {
			t.Errorf("%s, %d clients: oracle %+v", d.Variant, d.Clients, d.Oracle)
		}
		if len(d.Invalid)+len(d.Violations) > 0 {
			t.Errorf("%s, %d clients: invalid %q, violations %v", d.Variant, d.Clients, d.Invalid, d.Violations)
		}
		if d.Clients > 1 && d.Herd.Grouping != results.GroupedByZxid && d.Environment.ZooKeeper >= "3.9" {
			t.Errorf("herds are grouped by %s", d.Herd.Grouping)
		}
	}
}

// sabotage returns the recipes with one variant of the lock changed.
func sabotage(name string, change func(*variants.Variant)) []variants.Recipe {
	recipes := catalog.Recipes()
	for i := range recipes[0].Variants {
		if v := &recipes[0].Variants[i]; v.Name == name {
			change(v)
		}
	}
	return recipes
}

// A formula that is off by one notification in a whole drain makes the run invalid.
func TestLiveWrongFormulaIsCaught(t *testing.T) {
	s := drain(7)
	s.Variants = []string{"children-watch"}
	docs := mustMeasure(t, s, sabotage("children-watch", func(v *variants.Variant) {
		right := v.Stepped.Notifications.At
		v.Stepped.Notifications.At = func(n int) float64 { return right(n) + 1/float64(n) }
	}))
	if !slices.ContainsFunc(docs[0].Invalid, func(text string) bool { return strings.Contains(text, results.NotificationsPerOp) }) {
		t.Errorf("invalid = %q", docs[0].Invalid)
	}
}

// A lock that lets everybody in at once is broken, however fast it is.
func TestLiveBrokenLockIsCaught(t *testing.T) {
	s := scenarios.Default()
	s.Name, s.Recipe, s.Clients, s.Operations, s.Repeats = "broken", "lock", []int{5}, 20, 1
	s.Hold = scenarios.Duration(time.Millisecond)
	s.Variants = []string{"predecessor-watch"}
	docs := mustMeasure(t, s, sabotage("predecessor-watch", func(v *variants.Variant) {
		join := v.Join
		v.Join = func(ctx context.Context, session variants.Session, env variants.Env) (variants.Participant, error) {
			// Each participant locks a directory of its own, and so nothing.
			path, err := session.Create(env.Root+"/own-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
			if err != nil {
				return nil, err
			}
			env.Root = path
			return join(ctx, session, env)
		}
	}))
	if len(docs[0].Violations) == 0 || docs[0].Metrics[results.Violations].Value == 0 {
		t.Error("a lock without exclusion was not caught")
	}
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

// What the client's account misses, the servers' account shows.
func TestLiveOracleCatchesAMissedNotification(t *testing.T) {
	s := uncontended()
	s.Operations = 3
	s.Variants = []string{"znode"}
	e := live.Get(t)
	docs := mustMeasure(t, s, sabotage("znode", func(v *variants.Variant) {
		join := v.Join
		v.Join = func(ctx context.Context, session variants.Session, env variants.Env) (variants.Participant, error) {
			p, err := join(ctx, session, env)
			if err != nil {
				return nil, err
			}
			conn, err := ensemble.Connect(ctx, e.Servers()[0].Addr, wire.NewLedger(time.Now()), nil)
			return bypass{p, conn, env.Root}, err
		}
	}))
	o := docs[0].Oracle
	if o.Agrees() || o.ServerNotifications-o.ClientNotifications != 3 || o.ServerTransactions-o.ClientWrites != 6 {
		t.Errorf("3 notifications and 6 writes went past the ledgers, the oracle says %+v", o)
	}
	if len(docs[0].Invalid) != 2 {
		t.Errorf("invalid = %q, want a line for notifications and one for writes", docs[0].Invalid)
	}
}

// An interrupted run says so, keeps what is whole, and leaves no znode behind.
func TestLiveInterruptLeavesNothing(t *testing.T) {
	s := scenarios.Default()
	s.Name, s.Recipe, s.Clients, s.Repeats = "interrupted", "lock", []int{5}, 1000
	s.Duration = scenarios.Duration(50 * time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(2*time.Second, cancel)
	docs, err := measure(ctx, t, s, catalog.Recipes())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted run returned %v", err)
	}
	if len(docs) == 0 {
		t.Error("no whole measurement was kept")
	}
	for _, d := range docs {
		if len(d.Violations) > 0 {
			t.Errorf("violations: %v", d.Violations)
		}
	}
	conn, err := ensemble.Connect(t.Context(), live.Get(t).Servers()[0].Addr, wire.NewLedger(time.Now()), nil)
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
