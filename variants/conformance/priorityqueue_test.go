package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/priorityqueue"
)

// priorityVariant is a variant under test.
type priorityVariant struct {
	name  string
	open  func(ctx context.Context, c *client, dir string) (priorityqueue.Queue, error)
	watch bool // it has a watch armed while it takes, and no inversions
}

func (v priorityVariant) label() string { return v.name }

var priorityVariants = []priorityVariant{
	{"stale-list", func(ctx context.Context, c *client, dir string) (priorityqueue.Queue, error) {
		return priorityqueue.NewStaleList(ctx, c.session(), dir)
	}, false},
	{"invalidated-list", func(ctx context.Context, c *client, dir string) (priorityqueue.Queue, error) {
		return priorityqueue.NewInvalidatedList(ctx, c.session(), dir)
	}, true},
}

type priorityCheck = func(t *testing.T, v venue, dir string, variant priorityVariant)

// priorityChecks are what every variant must pass, on every ensemble.
var priorityChecks = []check[priorityCheck]{
	{"hands out every item once", priorityHandsOutEveryItemOnce},
	{"takes the most urgent first", priorityTakesTheMostUrgentFirst},
	{"lets an urgent item overtake", priorityLetsAnUrgentItemOvertake},
	{"gives back", priorityGivesBack},
	{"survives a crash of a taker", prioritySurvivesACrashOfATaker},
	{"survives a lost session", prioritySurvivesALostSession},
	{"recovers a put that did not arrive", func(t *testing.T, v venue, dir string, variant priorityVariant) {
		priorityRecoversALostPut(t, v, dir, variant, dropRequest)
	}},
	{"recovers a put whose reply was lost", func(t *testing.T, v venue, dir string, variant priorityVariant) {
		priorityRecoversALostPut(t, v, dir, variant, dropReply)
	}},
	{"recovers a lost take", priorityRecoversALostTake},
	{"honours a deadline of a silent server", priorityHonoursADeadlineOfASilentServer},
	{"honours a cancelled context", priorityHonoursACancelledContext},
}

func TestPriorityQueue(t *testing.T) { onEmbedded(t, priorityCheckAll) }

// priorityCheckAll runs every check on every variant, each in a directory of its own.
func priorityCheckAll(t *testing.T, at place) {
	checkAll(t, at, priorityChecks, priorityVariants, func(t *testing.T, v venue, do priorityCheck, variant priorityVariant) {
		do(t, v, directory(t, v), variant)
	})
}

func priorityOpen(t testing.TB, variant priorityVariant, c *client, dir string) priorityqueue.Queue {
	t.Helper()
	q, err := variant.open(testContext(t), c, dir)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func priorityPut(t testing.TB, q priorityqueue.Queue, p priorityqueue.Priority, texts ...string) {
	t.Helper()
	for _, text := range texts {
		must(t, q.Put(testContext(t), p, []byte(text)))
	}
}

func priorityHandsOutEveryItemOnce(t *testing.T, v venue, dir string, variant priorityVariant) {
	const members, steps = 4, 3
	cs := clients(t, v, members)
	sessions := make([]variants.Conn, members)
	for i, c := range cs {
		sessions[i] = c.conn
	}
	recipe := priorityqueue.Recipe()
	h := queueSteps(t, recipe, variant.name, sessions, dir, steps)
	if violations := recipe.Violations(h); len(violations) > 0 {
		t.Errorf("%d violations, the first: %s", len(violations), violations[0].Text)
	}
	phases := phasesIn(recipe, h)
	if n := phases["put"]; n == 0 || phases["take"] != n || phases["sojourn"] != n || phases["urgent"] != members*steps {
		t.Errorf("spans by phase: %v, want as many puts, takes and sojourns, and %d urgent items", phases, members*steps)
	}
	if variant.watch && phases["inversion"] > 0 {
		t.Errorf("%d inversions", phases["inversion"])
	}
	mustBeClear(t, cs[0], dir)
}

// What is there when a list is made is taken in order: by priority, then by age. Foreign znodes are let be.
func priorityTakesTheMostUrgentFirst(t *testing.T, v venue, dir string, variant priorityVariant) {
	cs := clients(t, v, 2)
	foreign := []string{"queue-", "queue-05", "queue-5-0000000001", "queue-100-0000000001", "item-0000000001"}
	for _, name := range foreign {
		must(t, errorOf(cs[0].conn.Create(dir+"/"+name, nil, 0, zk.WorldACL(zk.PermAll))))
	}
	producer, consumer := priorityOpen(t, variant, cs[0], dir), priorityOpen(t, variant, cs[1], dir)
	priorityPut(t, producer, 10, "c", "d")
	priorityPut(t, producer, priorityqueue.LeastUrgent, "e")
	priorityPut(t, producer, 9, "b")
	priorityPut(t, producer, 0, "a")
	if err := producer.Put(testContext(t), priorityqueue.LeastUrgent+1, nil); err == nil {
		t.Error("a priority of three digits was accepted")
	}
	catchUp(t, cs[1], dir)
	mustDrain(t, consumer, "a", "b", "c", "d", "e")
	left := children(t, cs[0], dir)
	for _, name := range foreign {
		if !slices.Contains(left, name) {
			t.Errorf("%s is gone: left are %q", name, left)
		}
	}
}

// An item that comes while a client has a list is next, or waits for the list's end: that is what the variants differ in.
func priorityLetsAnUrgentItemOvertake(t *testing.T, v venue, dir string, variant priorityVariant) {
	c := clients(t, v, 1)[0]
	q := priorityOpen(t, variant, c, dir)
	priorityPut(t, q, 50, "a", "b", "c")
	if got := mustTake(t, q); got != "a" {
		t.Errorf("took %q, want a", got)
	}
	mustDone(t, q)
	priorityPut(t, q, 10, "urgent")
	if variant.watch {
		mustDrain(t, q, "urgent", "b", "c")
	} else {
		mustDrain(t, q, "b", "c", "urgent")
	}
	mustBeClear(t, c, dir)
}

// An item that is given back stands where it stood.
func priorityGivesBack(t *testing.T, v venue, dir string, variant priorityVariant) {
	cs := clients(t, v, 2)
	quitter, next := priorityOpen(t, variant, cs[0], dir), priorityOpen(t, variant, cs[1], dir)
	priorityPut(t, quitter, 50, "c")
	priorityPut(t, quitter, 10, "a", "b")
	if got := mustTake(t, quitter); got != "a" {
		t.Errorf("took %q, want a", got)
	}
	must(t, quitter.Return(testContext(t)))
	catchUp(t, cs[1], dir)
	mustDrain(t, next, "a", "b", "c")
	mustBeClear(t, cs[0], dir)
}

// A taker that closes its session takes with it what it has deleted, and nothing else.
func prioritySurvivesACrashOfATaker(t *testing.T, v venue, dir string, variant priorityVariant) {
	cs := clients(t, v, 2)
	crashing, next := priorityOpen(t, variant, cs[0], dir), priorityOpen(t, variant, cs[1], dir)
	priorityPut(t, crashing, 50, "a", "b", "c")
	mustTake(t, crashing)
	cs[0].Close()
	catchUp(t, cs[1], dir)
	mustDrain(t, next, "b", "c")
	mustBeClear(t, cs[1], dir)
}

// A taker whose session is lost learns so with its next write. The item in its hands is its own all the same.
func prioritySurvivesALostSession(t *testing.T, v venue, dir string, variant priorityVariant) {
	cut, cable := cabled(t, v, v.shortest)
	other := clients(t, v, 1)[0]
	lost, next := priorityOpen(t, variant, cut, dir), priorityOpen(t, variant, other, dir)
	priorityPut(t, next, 50, "a", "b")
	catchUp(t, cut, dir)
	mustTake(t, lost)
	cable.unplug()
	<-cut.monitor.Lost()
	mustDone(t, lost)
	if err := lost.Put(testContext(t), 10, nil); err == nil {
		t.Error("a put without a session succeeded")
	}
	mustDrain(t, next, "b")
	eventually(t, "the lost session's journal stays", func() bool { return len(children(t, other, dir+"/journals")) <= 1 })
	mustBeClear(t, other, dir)
}

func priorityRecoversALostPut(t *testing.T, v venue, dir string, variant priorityVariant, fault fault) {
	c, cutter := cutOnce(t, v, fault)
	q := priorityOpen(t, variant, c, dir)
	cutter.arm()
	priorityPut(t, q, 50, "b")
	priorityPut(t, q, 10, "a")
	mustDrain(t, q, "a", "b")
	mustBeClear(t, c, dir)
}

// A take whose reply was lost takes exactly one item, and what is put afterwards is not passed over.
func priorityRecoversALostTake(t *testing.T, v venue, dir string, variant priorityVariant) {
	c, cutter := cutOnce(t, v, dropReply)
	q := priorityOpen(t, variant, c, dir)
	priorityPut(t, q, 50, "a", "b")
	cutter.arm()
	if got := mustTake(t, q); got != "a" {
		t.Errorf("took %q, want a", got)
	}
	mustDone(t, q)
	priorityPut(t, q, 10, "urgent")
	if variant.watch {
		mustDrain(t, q, "urgent", "b")
	} else {
		mustDrain(t, q, "b", "urgent")
	}
	mustBeClear(t, c, dir)
}

// A caller gets control back although the server does not answer at all. What it was about to take is not lost.
func priorityHonoursADeadlineOfASilentServer(t *testing.T, v venue, dir string, variant priorityVariant) {
	c, cable := cabled(t, v, ensemble.SessionTimeout)
	q := priorityOpen(t, variant, c, dir)
	priorityPut(t, q, 50, "a", "b")
	cable.mustTimeOut(t, "Take", func(ctx context.Context) error { _, _, err := q.Take(ctx); return err })
	mustDone(t, q) // waits for the clean-up
	other := clients(t, v, 1)[0]
	catchUp(t, other, dir)
	mustDrain(t, priorityOpen(t, variant, other, dir), "a", "b")
	mustBeClear(t, other, dir)
}

func priorityHonoursACancelledContext(t *testing.T, v venue, dir string, variant priorityVariant) {
	c := clients(t, v, 1)[0]
	q := priorityOpen(t, variant, c, dir)
	priorityPut(t, q, 50, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, "Put", q.Put(ctx, 10, nil), context.Canceled)
	if _, _, err := q.Take(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Take returned %v, want context.Canceled", err)
	}
	mustDrain(t, q, "a")
	mustBeClear(t, c, dir)
}

// Wherever a client's session expires, before or after each of its writes, an item is there once, or was taken.
func TestPriorityQueueClientExpiresAnywhere(t *testing.T) {
	t.Parallel()
	for _, variant := range priorityVariants {
		for _, do := range []embedded.Action{embedded.ExpireBefore, embedded.ExpireAfter} {
			for nth := 1; nth <= 2; nth++ {
				bubbles.run(t, fmt.Sprintf("%s, write %d, action %d", variant.name, nth, do), func(t *testing.T, v venue) {
					priorityExpire(t, v, variant, do, nth)
				})
			}
		}
	}
}

// priorityExpire lets a client put an item, its first write, and take it, its second.
func priorityExpire(t *testing.T, v venue, variant priorityVariant, do embedded.Action, nth int) {
	dir := directory(t, v)
	cs := clients(t, v, 2)
	q, next := priorityOpen(t, variant, cs[0], dir), priorityOpen(t, variant, cs[1], dir)
	priorityPut(t, next, 50, "b")
	trap := embeddedServer(t, v).Inject(embedded.Fault{Session: cs[0].conn.SessionID(), Op: wire.OpMulti, Nth: nth, Do: do})
	err := q.Put(testContext(t), 10, []byte("a"))
	if nth == 2 {
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = q.Take(testContext(t))
	}
	<-trap.Fired()
	if !errors.Is(err, variants.ErrSessionLost) {
		t.Errorf("write %d returned %v, want ErrSessionLost", nth, err)
	}
	if there := nth == 1 && do == embedded.ExpireAfter || nth == 2 && do == embedded.ExpireBefore; there {
		mustDrain(t, next, "a", "b")
	} else {
		mustDrain(t, next, "b")
	}
	mustBeClear(t, cs[1], dir)
}

// The check must be able to fail: an item that is taken is there again.
func TestPriorityQueueThatHandsAnItemOutTwiceIsCaught(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		dir := directory(t, v)
		session := &priorityTwice{Conn: clients(t, v, 1)[0].conn}
		h := queueSteps(t, priorityqueue.Recipe(), "stale-list", []variants.Conn{session}, dir, 2)
		mustBreak(t, priorityqueue.Recipe(), h, "had taken")
	})
}

// priorityTwice is a session that puts the first item that it deletes again.
type priorityTwice struct {
	*zk.Conn
	path string
}

func (s *priorityTwice) Multi(ops ...any) ([]zk.MultiResponse, error) {
	if remove, ok := ops[len(ops)-1].(*zk.DeleteRequest); ok && s.path == "" {
		s.path = remove.Path
		data, _, err := s.Get(s.path)
		if err != nil {
			return nil, err
		}
		// The server numbers it anew, with ten digits.
		again := &zk.CreateRequest{Path: s.path[:len(s.path)-10], Data: data, Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagSequence}
		ops = append(ops, again)
	}
	return s.Conn.Multi(ops...)
}

// Nor may an item be lost unnoticed.
func TestPriorityQueueThatLosesAnItemIsCaught(t *testing.T) {
	t.Parallel()
	for _, variant := range priorityVariants {
		bubbles.run(t, variant.name, func(t *testing.T, v venue) {
			dir := directory(t, v)
			session := &losing{Conn: clients(t, v, 1)[0].conn}
			h := lossyQueue(t, priorityqueue.Recipe(), variant.name, 11, session, dir)
			if violations := priorityqueue.Recipe().Violations(h); len(violations) == 0 {
				t.Error("the loss was not caught")
			}
		})
	}
}

// priorityDeaf is a session that answers every listing like the first, as if nothing had changed since.
type priorityDeaf struct {
	*zk.Conn
	children []string
}

func (d *priorityDeaf) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	children, stat, _, err := d.Conn.ChildrenW(path)
	if d.children == nil {
		d.children = children
	}
	for _, name := range d.children {
		if strings.HasPrefix(name, "queue-") && slices.Contains(children, name) {
			return d.children, stat, nil, err
		}
	}
	return children, stat, nil, err
}

// A list that is not thrown away in time makes inversions, which a variant that promises none must not have.
func TestPriorityQueueThatGoesByAnOldListIsCaught(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		dir := directory(t, v)
		sessions := []variants.Conn{&priorityDeaf{Conn: clients(t, v, 1)[0].conn}}
		h := queueSteps(t, priorityqueue.Recipe(), "invalidated-list", sessions, dir, 1)
		violations := priorityqueue.Recipe().Violations(h)
		if len(violations) == 0 || !strings.Contains(violations[0].Text, "although it knew of item") {
			t.Errorf("violations %v, want inversions", violations)
		}
	})
}
