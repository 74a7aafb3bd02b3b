package conformance_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/blockingqueue"
	"github.com/zkbench/zkbench/variants/enqueue"
	"github.com/zkbench/zkbench/variants/items"
	"github.com/zkbench/zkbench/variants/planted"
	"github.com/zkbench/zkbench/variants/priorityqueue"
	"github.com/zkbench/zkbench/variants/queue"
)

// failure is what happens to a client at one of its requests.
type failure struct {
	do   embedded.Action
	dies bool // the client stops dead then
}

func (f failure) String() string {
	return fmt.Sprintf("%s, dies %v", []string{"drop before", "drop after", "expire before", "expire after"}[f.do], f.dies)
}

// failures are those in which a client loses its life, or at least its connection.
var failures = []failure{
	{embedded.DropBefore, false}, {embedded.DropAfter, false}, {embedded.ExpireBefore, false}, {embedded.ExpireAfter, false},
	{embedded.DropBefore, true}, {embedded.DropAfter, true},
}

// failingRun is a run of a variant in which one client fails at an exact request, and joins again if that ends its life.
type failingRun struct {
	*testing.T
	v       venue
	server  *embedded.Ensemble
	variant variants.Variant
	env     variants.Env
	epoch   time.Time
	trap    *embedded.Trap
	mu      sync.Mutex
	logs    []*variants.Log
	dying   sync.WaitGroup
}

// load is how many clients take how many steps each.
type load struct{ clients, steps int }

// runFailing lets clients take some steps each. One of them, the victim, fails at its nth request of a kind after it has
// joined.
func runFailing(t *testing.T, v venue, l load, variant variants.Variant, victim int, op wire.Opcode, nth int, f failure) *failingRun {
	t.Helper()
	r := &failingRun{
		T: t, v: v, server: embeddedServer(t, v), variant: variant, epoch: time.Now(),
		env: variants.Env{Clients: l.clients, Root: directory(t, v)},
	}
	r.env.Hold = func(ctx context.Context, _ <-chan struct{}) error {
		return variants.WaitFor(ctx, time.Millisecond, nil, nil)
	}
	var all sync.WaitGroup
	for client := range l.clients {
		all.Go(func() {
			r.loop(client, l.steps, func(c *cabledClient, log *variants.Log) {
				if client == victim {
					r.arm(c, log, op, nth, f)
				}
			})
		})
	}
	all.Wait()
	if hasFired(r.trap) {
		r.dying.Wait()
	}
	return r
}

// cabledClient is a session that can be cut off.
type cabledClient struct {
	*client
	cable *cable
}

// loop lets a client complete some steps, in as many lives as it takes. fail is called in its first one.
func (r *failingRun) loop(index, steps int, fail func(*cabledClient, *variants.Log)) {
	for life := 0; steps > 0; life++ {
		log := variants.NewLog(r.epoch, index)
		r.mu.Lock()
		r.logs = append(r.logs, log)
		r.mu.Unlock()
		c := &cabledClient{cable: &cable{}}
		c.client = connect(r, r.v.Servers()[0], ensemble.SessionTimeout, c.cable.wrap)
		c.monitor.WhenLost(func() { log.Record(variants.SessionLost, int64(life)) })
		if life > 0 {
			log.Record(variants.Rejoined, int64(life))
		}
		left, err := r.live(index, life, steps, c, log, fail)
		steps = left
		if err != nil && c.handle.Alive() == nil {
			r.Errorf("client %d: %v", index, err)
			return
		}
	}
}

// live is one life of a client. It returns how many steps are left for the next one.
func (r *failingRun) live(index, life, steps int, c *cabledClient, log *variants.Log, fail func(*cabledClient, *variants.Log)) (left int, err error) {
	ctx := testContext(r)
	env := r.env
	env.Index, env.Life, env.Record, env.RecordUnless = index, life, log.Record, log.RecordUnless
	env.Session, env.Dial = c.handle, sharing(c.handle)
	p, err := r.variant.Join(ctx, env)
	if err != nil {
		return steps, err
	}
	if life == 0 {
		fail(c, log)
	}
	for ; steps > 0; steps-- {
		if err := p.Step(ctx); err != nil {
			return steps, err
		}
	}
	if err := p.Leave(ctx); err != nil && c.handle.Alive() == nil {
		return 0, err
	}
	return 0, nil
}

// arm sets the trap for a client.
func (r *failingRun) arm(c *cabledClient, log *variants.Log, op wire.Opcode, nth int, f failure) {
	session := c.conn.SessionID()
	r.trap = r.server.Inject(embedded.Fault{Session: session, Op: op, Nth: nth, Do: f.do})
	if !f.dies {
		return
	}
	r.dying.Add(1)
	done := r.Context().Done()
	go func() {
		defer r.dying.Done()
		select {
		case <-r.trap.Fired():
		case <-done:
			return
		}
		log.End(variants.Died, 0)
		c.cable.unplug()
		r.server.Expire(session)
		c.monitor.Lose()
	}()
}

// history is what all clients have recorded.
func (r *failingRun) history() variants.History {
	var h variants.History
	for _, log := range r.logs {
		h = log.Take(h)
	}
	slices.SortStableFunc(h, func(a, b variants.Event) int { return int(a.At - b.At) })
	return h
}

// judge fails the test unless the observer finds no violation, and no damage that the variant does not forgo. It returns the
// damage.
func (r *failingRun) judge(recipe variants.Recipe, h variants.History) map[variants.Loss]int64 {
	r.Helper()
	damage := map[variants.Loss]int64{}
	o := recipe.NewObserver(variants.Findings{
		Span:      func(variants.Span) {},
		Violation: func(v variants.Violation) { r.Errorf("violation: %s", v.Text) },
		Damage: func(d variants.Damage) {
			damage[d.Loss] += d.Amount
			if !r.variant.Forgone(d.Loss) {
				r.Errorf("%s, which the variant does not forgo: %s", d.Loss, d.Text)
			}
		},
	})
	for _, e := range h {
		o.Observe(e)
	}
	o.Complete()
	return damage
}

// missing returns how many items whose puts were acknowledged are neither processed nor in a directory.
func (r *failingRun) missing(h variants.History, dir string, put, processed variants.EventKind) int64 {
	r.Helper()
	open := map[int64]bool{}
	for _, e := range h {
		if e.Kind == put {
			open[e.Value] = true
		}
	}
	for _, e := range h {
		if e.Kind == processed {
			delete(open, e.Value)
		}
	}
	reader := connect(r, r.v.Servers()[0], r.v.shortest, nil)
	for _, name := range children(r, reader, dir) {
		if data, _, err := reader.conn.Get(dir + "/" + name); err == nil && len(data) >= 8 { // a mark stands before the id
			delete(open, int64(binary.BigEndian.Uint64(data[len(data)-8:])))
		}
	}
	return int64(len(open))
}

// failingCheck checks what a variant makes of a failure at the nth request of a kind.
type failingCheck = func(t *testing.T, v venue, variant variants.Variant, op wire.Opcode, nth int, f failure)

// atEveryRequest calls check with each of a variant's requests that can fail, and each way to fail.
func atEveryRequest(t *testing.T, recipe variants.Recipe, requests map[wire.Opcode][]int, check failingCheck) {
	t.Parallel()
	for _, variant := range recipe.Variants {
		for op, all := range requests {
			for _, nth := range all {
				for _, f := range failures {
					bubbles.run(t, fmt.Sprintf("%s/%s %d/%s", variant.Name, op, nth, f), func(t *testing.T, v venue) {
						check(t, v, variant, op, nth, f)
					})
				}
			}
		}
	}
}

// queueRequests are at which a client of a queue fails. Its first ten writes are puts, of which the first and the last suffice.
var queueRequests = map[wire.Opcode][]int{wire.OpMulti: {1, 10, 11, 12, 13}, wire.OpGetData: {1, 2}, wire.OpGetChildren: {1}}

// Wherever a client of a queue fails, a variant loses and doubles nothing but what it forgoes.
func TestQueueClientFailsAnywhere(t *testing.T) {
	atEveryRequest(t, queue.Recipe(), queueRequests, queueClientFails(queue.Recipe()))
}

func TestPriorityQueueClientFailsInAnyLife(t *testing.T) {
	atEveryRequest(t, priorityqueue.Recipe(), queueRequests, queueClientFails(priorityqueue.Recipe()))
}

func queueClientFails(recipe variants.Recipe) failingCheck {
	return func(t *testing.T, v venue, variant variants.Variant, op wire.Opcode, nth int, f failure) {
		r := runFailing(t, v, load{3, 2}, variant, 0, op, nth, f)
		h := r.history()
		damage, missing := r.judge(recipe, h), r.missing(h, r.env.Root, items.Put, items.Finishing)
		if missing < damage[variants.ItemsLost] || missing > 0 && !variant.Forgone(variants.ItemsLost) {
			t.Errorf("%d items are missing, and %d were found to be lost", missing, damage[variants.ItemsLost])
		}
	}
}

// Wherever a consumer or the producer of a blocking queue fails, the others take all that they want.
func TestBlockingQueueClientFailsAnywhere(t *testing.T) {
	requests := map[wire.Opcode][]int{wire.OpMulti: {1, 2, 3}, wire.OpCreate: {1, 2}, wire.OpGetData: {1, 2}, wire.OpGetChildren: {1, 2, 3}}
	for victim, name := range map[int]string{0: "a consumer", 2: "the producer"} {
		t.Run(name, func(t *testing.T) {
			check := func(t *testing.T, v venue, variant variants.Variant, op wire.Opcode, nth int, f failure) {
				r := runFailing(t, v, load{3, 2}, variant, victim, op, nth, f)
				r.judge(blockingqueue.Recipe(), r.history())
			}
			atEveryRequest(t, blockingqueue.Recipe(), requests, check)
		})
	}
}

// Wherever a producer fails, a variant doubles and leaves behind nothing but what it forgoes.
func TestEnqueueClientFailsAnywhere(t *testing.T) {
	requests := map[wire.Opcode][]int{wire.OpMulti: {1, 2}, wire.OpCreate: {1, 2}, wire.OpSetData: {1, 2}}
	check := func(t *testing.T, v venue, variant variants.Variant, op wire.Opcode, nth int, f failure) {
		r := runFailing(t, v, load{3, 2}, variant, 0, op, nth, f)
		damage := r.judge(enqueue.Recipe(), r.history())
		lostReply := hasFired(r.trap) && f.do == embedded.DropAfter && !f.dies
		if want := lostReply && variant.Forgone(variants.ItemsDoubled) && op == wire.OpCreate; want != (damage[variants.ItemsDoubled] == 1) {
			t.Errorf("damage %v; a duplicate is expected: %v", damage, want)
		}
		env := r.env
		env.Session = connect(t, v.Servers()[0], v.shortest, nil).handle
		left, err := enqueue.Recipe().Orphans(testContext(t), env)
		must(t, err)
		if left > 1 || left > 0 && !variant.Forgone(variants.Orphans) {
			t.Errorf("%d orphans are left", left)
		}
	}
	atEveryRequest(t, enqueue.Recipe(), requests, check)
}

// What is broken on purpose is caught.
func TestPlantedQueuesAreCaught(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		recipe  variants.Recipe
		variant variants.Variant
		op      wire.Opcode
		nth     int
		failure failure
		want    string
	}{
		{queue.Recipe(), planted.LastingClaims(), wire.OpMulti, 11, failure{embedded.DropAfter, true}, "it was not free again"},
		{queue.Recipe(), planted.RepeatedWrites(), wire.OpMulti, 1, failure{embedded.DropAfter, false}, "had taken"},
		{enqueue.Recipe(), planted.UnmarkedItems(), wire.OpMulti, 1, failure{embedded.DropAfter, false}, "in the queue 2 times"},
	} {
		bubbles.run(t, fmt.Sprint(tt.variant.Name, tt.nth), func(t *testing.T, v venue) {
			h := runFailing(t, v, load{1, 20}, tt.variant, 0, tt.op, tt.nth, tt.failure).history()
			if violations := tt.recipe.Violations(h); !strings.Contains(fmt.Sprint(violations), tt.want) {
				t.Errorf("violations %v, want one with %q", violations, tt.want)
			}
		})
	}
}
