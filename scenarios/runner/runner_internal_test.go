package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/background"
	"github.com/zkbench/zkbench/scenarios/block"
	"github.com/zkbench/zkbench/scenarios/chaos"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/catalog"
	"github.com/zkbench/zkbench/variants/config"
)

// Every repeat measures every variant under every number of clients once, in an order that differs between repeats but
// not between runs with the same seed.
func TestPlanInterleaves(t *testing.T) {
	s := scenarios.Default()
	s.Recipe, s.Clients, s.Repeats = "lock", []int{1, 50}, 6
	recipe := catalog.Recipes()[0]
	tasks := plan(s, recipe)
	all := len(recipe.Variants)
	if want := all * 2 * 6; len(tasks) != want {
		t.Fatalf("%d tasks, want %d", len(tasks), want)
	}
	orders := map[string]bool{}
	for i := 0; i < len(tasks); i += all {
		var names []string
		for _, task := range tasks[i : i+all] {
			if task.repeat != tasks[i].repeat || task.clients != tasks[i].clients {
				t.Fatalf("task %d strays: %+v", i, task)
			}
			names = append(names, task.variant.Name)
		}
		orders[strings.Join(names, ",")] = true
		slices.Sort(names)
		if len(slices.Compact(names)) != all {
			t.Errorf("repeat %d, %d clients: %v", tasks[i].repeat, tasks[i].clients, names)
		}
	}
	if len(orders) < 2 {
		t.Error("the order is always the same")
	}
	if fmt.Sprint(describe(tasks)) != fmt.Sprint(describe(plan(s, recipe))) {
		t.Error("one seed gave two orders")
	}
	s.Seed = 99
	if fmt.Sprint(describe(tasks)) == fmt.Sprint(describe(plan(s, recipe))) {
		t.Error("two seeds gave one order")
	}
}

func describe(tasks []task) []string {
	var out []string
	for _, t := range tasks {
		out = append(out, t.describe("lock"))
	}
	return out
}

// A follower may have applied a transaction that the leader has not applied yet.
func TestSnapshotHasTheLastTransactionOfAnyServer(t *testing.T) {
	follower := serverReading{Server: ensemble.Server{ID: 1}, notifications: 3, status: ensemble.Status{Role: ensemble.Follower, Zxid: 8}}
	leader := serverReading{Server: ensemble.Server{ID: 2}, notifications: 4, status: ensemble.Status{Role: ensemble.Leader, Zxid: 7}}
	var r snapshot
	r.add(follower)
	r.add(leader)
	if r.zxid != 8 || r.leader != 2 || r.notifications != 7 {
		t.Errorf("transaction %d, leader %d, %d notifications; want 8, 2 and 7", r.zxid, r.leader, r.notifications)
	}
}

func TestCrossCheck(t *testing.T) {
	begin := snapshot{notifications: 100, zxid: 1<<32 + 5, leader: 2}
	begin.servers = []serverReading{{asked: time.Now(), answered: time.Now()}}
	end := snapshot{notifications: 107, zxid: 1<<32 + 9, leader: 2, servers: begin.servers}
	end.client.Notifications[2] = 7
	end.client.Requests[1], end.client.Requests[3] = 4, 20 // creates and reads
	if o := crossCheck(true, begin, end); !o.Checked || !o.Agrees() {
		t.Errorf("equal accounts do not agree: %+v", o)
	}
	for name, change := range map[string]func(*snapshot){
		"a notification lost on the way": func(r *snapshot) { r.client.Notifications[2]-- },
		"a notification made up":         func(r *snapshot) { r.client.Notifications[4]++ },
		"another client wrote":           func(r *snapshot) { r.zxid++ },
	} {
		other := end
		change(&other)
		if o := crossCheck(true, begin, other); !o.Checked || o.Agrees() {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if o := crossCheck(false, begin, end); o.Checked || o.Why == "" {
		t.Errorf("shared servers: %+v", o)
	}
	for name, change := range map[string]func(*snapshot){
		"another leader": func(r *snapshot) { r.leader = 3 },
		"a restart": func(r *snapshot) {
			later := time.Now().Add(time.Minute)
			r.servers = []serverReading{{asked: later, answered: later, counters: map[string]int64{"zk_uptime": 5}}}
		},
	} {
		other := end
		change(&other)
		if o := crossCheck(true, begin, other); o.Checked || o.Why == "" {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// Under faults, the servers' counts include lost notifications and the sessions, and do not include notifications sent again.
func TestCrossCheckUnderFaults(t *testing.T) {
	begin := snapshot{leader: 2, sessions: 9}
	end := snapshot{leader: 2, notifications: 11, zxid: 10, sessions: 10}
	end.client = wire.Counts{LostNotifications: 4, ResentNotifications: 2, SessionsOpened: 3, SessionsClosed: 1} // one more has run out
	end.client.Notifications[2], end.client.Requests[1] = 9, 5
	if o := crossCheck(true, begin, end); !o.Checked || !o.Agrees() || o.Why != "" || o.SessionTransactions != 5 {
		t.Errorf("equal counts do not agree: %+v", o)
	}
	counted := end // the recipe has opened and closed one of the sessions itself
	counted.client.Requests[wire.OpCreateSession], counted.client.Requests[wire.OpCloseSession] = 1, 1
	if o := crossCheck(true, begin, counted); !o.Agrees() || o.ClientWrites != 7 || o.SessionTransactions != 3 {
		t.Errorf("with sessions that are counted as writes: %+v", o)
	}
	for name, change := range map[string]func(*snapshot){
		"lost notifications that are not counted":    func(r *snapshot) { r.client.LostNotifications = 0 },
		"repeated notifications that are counted":    func(r *snapshot) { r.client.ResentNotifications = 0 },
		"a session that is not counted":              func(r *snapshot) { r.client.SessionsOpened-- },
		"a session that another client has opened":   func(r *snapshot) { r.zxid++; r.sessions++ },
		"a write that took place twice":              func(r *snapshot) { r.zxid++; r.client.UnknownTransactions = 5 },
		"a write that did not take place":            func(r *snapshot) { r.zxid-- },
		"more notifications missing than in doubt":   func(r *snapshot) { r.notifications += 3; r.client.UnknownNotifications = 2 },
		"fewer notifications, others being in doubt": func(r *snapshot) { r.notifications--; r.client.UnknownNotifications = 2 },
	} {
		other := end
		change(&other)
		if o := crossCheck(true, begin, other); !o.Checked || o.Agrees() {
			t.Errorf("%s: %+v", name, o)
		}
	}
	end.client.UnknownNotifications, end.client.UnknownTransactions = 2, 1
	for _, notifications := range []int64{11, 12, 13} {
		for _, zxid := range []int64{9, 10} {
			end.notifications, end.zxid = notifications, zxid
			if o := crossCheck(true, begin, end); !o.Agrees() || !strings.Contains(o.Why, "up to 2 notifications more") {
				t.Errorf("%d notifications and %d transactions do not agree: %+v", notifications, zxid, o)
			}
		}
	}
}

func TestFileLimit(t *testing.T) {
	s := scenarios.Default()
	s.Clients = []int{1}
	if err := checkFileLimit(s, nil, ensemble.Embedded); err != nil {
		t.Error(err)
	}
	s.Clients = []int{1, math.MaxInt / 8}
	if err := checkFileLimit(s, nil, ensemble.Embedded); err == nil || !strings.Contains(err.Error(), "ulimit -n") {
		t.Errorf("error = %v, want what to do", err)
	}
}

// A client in a driver also needs the files of a tunnel, which begins in this process.
func TestFileLimitOfDrivers(t *testing.T) {
	s := scenarios.Default()
	s.Recipe, s.Clients = "lock", []int{math.MaxInt / 8}
	for _, tt := range []struct {
		variant string
		engine  ensemble.Engine
		each    string
	}{
		{"znode", ensemble.Container, "(1 for each)"}, {"znode", ensemble.Embedded, "(2 for each)"},
		{"curator-mutex", ensemble.Container, "(3 for each)"}, {"curator-mutex", ensemble.Embedded, "(4 for each)"},
	} {
		s.Variants = []string{tt.variant}
		if err := checkFileLimit(s, catalog.Recipes(), tt.engine); err == nil || !strings.Contains(err.Error(), tt.each) {
			t.Errorf("%s on %s: %v, want %s", tt.variant, tt.engine, err, tt.each)
		}
	}
}

// sleeper is a participant whose every step but the first few waits for a wake-up that never comes.
type sleeper struct {
	steps  int
	asleep chan struct{}
}

func (s *sleeper) Step(ctx context.Context) error {
	if s.steps--; s.steps >= 0 {
		return nil
	}
	s.asleep <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

func (*sleeper) Leave(context.Context) error { return nil }

// A load that is stuck ends by itself, with an error that calls the recipe broken.
//
// Note: the clock in a bubble of synctest proceeds only when all clients are asleep.
func TestStuckLoadIsCalledBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // so that a load that is never called stuck ends after all
		defer cancel()
		b := block.New(variants.Recipe{}, variants.Variant{})
		b.Epoch = time.Now()
		asleep := make(chan struct{}, 6)
		for i := range 3 {
			life := pool.NewLife(0, time.Now(), i, nil)
			life.Participant = &sleeper{steps: 5, asleep: asleep}
			b.Clients = append(b.Clients, &pool.Client{ID: i, Life: life})
			b.Clients[i].Enter(pool.Outside)
		}
		b.Plan.Repeat = 1
		m := &measurement{patience: stuckAfter}
		m.crew, ctx = newCrew(ctx, b.Epoch, 3)
		m.crew.parts = append(m.crew.parts, b)
		defer b.Close(ctx)
		err := m.loop(ctx, block.Load{Operations: 10}, nil)
		if !errors.Is(err, ErrStuck) {
			t.Errorf("err = %v, want ErrStuck", err)
		}
		for range 3 {
			<-asleep
		}
		if err := m.loop(ctx, block.Load{}, func(context.Context) error { <-asleep; return nil }); !errors.Is(err, ErrStuck) {
			t.Errorf("after the window: %v, want ErrStuck", err)
		}
	})
}

// dying is a participant whose every step fails.
type dying struct{ sleeper }

var errDying = errors.New("the participant is dead")

func (*dying) Step(context.Context) error { return errDying }

// A client that fails ends the warm-up at once.
func TestWarmUpEndsWithTheFirstFailure(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // so that a warm-up that goes on ends after all
	defer cancel()
	clients := []*pool.Client{{Life: &pool.Life{Participant: &dying{}}}}
	m := &measurement{patience: time.Hour, crew: crewOf(&pool.Pool{Epoch: time.Now(), Clients: clients}), injector: chaos.New(chaos.Config{})}
	m.scenario.WarmUp, m.scenario.Operations = 24*time.Hour, 5
	if _, err := m.applyOperations(ctx); !errors.Is(err, errDying) || ctx.Err() != nil {
		t.Errorf("the load ended with %v (%v), want to hear of the dead client before the warm-up is over", err, ctx.Err())
	}
}

// The modes whose numbers would include the slow start of a server have a rehearsal.
func TestRehearsal(t *testing.T) {
	recipe := catalog.Recipes()[0]
	everyVariant := len(recipe.Variants)
	for _, tt := range []struct {
		name string
		mode results.Mode
		heap bool
		want int
	}{
		{"closed", scenarios.Closed, false, everyVariant},
		{"lockstep", scenarios.Lockstep, false, 0},
		{"lockstep that measures heaps", scenarios.Lockstep, true, everyVariant},
	} {
		s := scenarios.Default()
		s.Recipe, s.Clients, s.Mode, s.Heap = "lock", []int{100, 1, 10}, tt.mode, tt.heap
		tasks := rehearsal(s, recipe)
		if len(tasks) != tt.want || len(tasks) > 0 && (tasks[0].repeat != 0 || tasks[0].clients != 10) {
			t.Errorf("%s: %d measurements, want %d with 10 clients", tt.name, len(tasks), tt.want)
		}
	}
}

// The oracle contains the background's writes: without one of them, it does not agree.
func TestOracleCountsTheBackground(t *testing.T) {
	begin, end := snapshot{leader: 1, zxid: 100}, snapshot{leader: 1, zxid: 107}
	end.client.Requests[wire.OpCreate] = 2
	end.background.Requests[wire.OpSetData] = 5
	end.background.Requests[wire.OpGetData] = 9
	if o := crossCheck(true, begin, end); !o.Checked || !o.Agrees() || o.ClientWrites != 2 || o.BackgroundWrites != 5 {
		t.Errorf("got %+v", o)
	}
	end.background.Requests[wire.OpSetData] = 4
	if o := crossCheck(true, begin, end); o.Agrees() {
		t.Errorf("agrees without a write: %+v", o)
	}
}

// A server that had just started before the measurement may have a longer uptime after it, although it has restarted meanwhile.
func TestRestarted(t *testing.T) {
	start := time.Unix(1e9, 0)
	for _, tt := range []struct {
		name      string
		was, is   int64         // uptime in milliseconds
		elapsed   time.Duration // from the first answer to the second question
		restarted bool
	}{
		{"it ran all the time", 6000, 66_000, 60 * time.Second, false},
		{"it was asked slowly", 6000, 96_000, 60 * time.Second, false},
		{"its clock is slow", 6000, 65_900, 60 * time.Second, false},
		{"whole milliseconds", 6000, 6000, time.Millisecond, false},
		{"an old server restarted", 1_000_000, 59_000, 60 * time.Second, true},
		{"a young server restarted", 6000, 59_000, 60 * time.Second, true},
		{"a young server restarted at once", 2000, 59_900, 60 * time.Second, true},
	} {
		before := serverReading{answered: start, counters: map[string]int64{"zk_uptime": tt.was}}
		after := serverReading{asked: start.Add(tt.elapsed), counters: map[string]int64{"zk_uptime": tt.is}}
		if got := restarted(before, after); got != tt.restarted {
			t.Errorf("%s: restarted = %t, want %t", tt.name, got, tt.restarted)
		}
	}
}

// A server without an uptime in mntr, such as ClickHouse Keeper, has restarted if it counts its packets anew.
func TestRestartedWithoutUptime(t *testing.T) {
	for is, want := range map[int64]bool{100: false, 250: false, 99: true} {
		start := time.Unix(1e9, 0)
		before := serverReading{answered: start, counters: map[string]int64{"zk_packets_received": 100}}
		after := serverReading{asked: start.Add(time.Minute), counters: map[string]int64{"zk_packets_received": is}}
		if got := restarted(before, after); got != want {
			t.Errorf("%d packets after 100: restarted = %t, want %t", is, got, want)
		}
	}
}

// Servers that do not count notifications are named as such where the second oracle is missing, also if others may use them.
func TestOracleSaysWhatIsMissing(t *testing.T) {
	begin := snapshot{leader: 1, servers: []serverReading{{}}}
	for want, uncounted := range map[string]error{
		"contain more than this run; and mntr has no counters": errors.New("mntr has no counters"),
		"contain more than this run":                           nil,
	} {
		end := snapshot{leader: 1, servers: []serverReading{{uncounted: uncounted}}}
		if o := crossCheck(false, begin, end); o.Checked || !strings.HasSuffix(o.Why, want) {
			t.Errorf("%+v, want the end %q", o, want)
		}
	}
}

// The bounds of a recipe whose readers and writer do not wait for each other apply only to loads in which each takes as many steps.
func TestUnpacedRecipeHasNoBoundsInADuration(t *testing.T) {
	unpaced := config.ReadRecipe()
	for _, tt := range []struct {
		name   string
		recipe variants.Recipe
		load   results.Scenario
		want   bool
	}{
		{"a duration", unpaced, results.Scenario{Mode: scenarios.Closed, Duration: time.Second}, false},
		{"a number of operations", unpaced, results.Scenario{Mode: scenarios.Closed, Operations: 1}, true},
		{"lockstep", unpaced, results.Scenario{Mode: scenarios.Lockstep}, true},
		{"a duration of a paced recipe", config.Recipe(), results.Scenario{Mode: scenarios.Closed, Duration: time.Second}, true},
	} {
		m := &measurement{task: task{clients: 5}, background: &background.Load{}, plan: block.Plan{Pool: pool.Config{Size: 3}}}
		m.scenario.Scenario, m.recipe, m.variant = tt.load, tt.recipe, tt.recipe.Variants[0]
		if got := m.costs(); len(got) > 0 != tt.want {
			t.Errorf("%s: bounds %v, want some: %t", tt.name, got, tt.want)
		}
	}
}

// The witness does not look before its server has applied what the participant has seen: a server that leads answers a sync at once.
func TestWitnessCatchesUp(t *testing.T) {
	ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
		root, err := pool.OpenRoot(t.Context(), e.Servers(), false, "/witness-test")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(root.CloseSession)
		p := root.Witness()
		seen := root.Ledger.LastZxid() + 1 // by a participant, and not by the witness's server yet
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.Look(ctx, seen); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before the server has caught up: %v, want %v", err, context.DeadlineExceeded)
		}
		go func() {
			time.Sleep(time.Second)
			_, _, _ = root.CreateRoot(t.Context())
		}()
		if _, err := p.Look(t.Context(), seen); err != nil || root.Ledger.LastZxid() < seen {
			t.Errorf("the witness has seen transaction %d, want %d (%v)", root.Ledger.LastZxid(), seen, err)
		}
	})
}
