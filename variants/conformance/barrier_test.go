package conformance_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/barrier"
)

// barrierOpener opens one client's view of the barriers of a directory, in one variant.
type barrierOpener func(ctx context.Context, s *variants.Session, dir string) (barrier.Barrier, error)

// barrierVariants are the variants under test, by name.
var barrierVariants = []underTest[barrierOpener]{
	{"recheck", func(ctx context.Context, s *variants.Session, dir string) (barrier.Barrier, error) {
		return barrier.NewRecheck(ctx, s, dir)
	}},
	{"no-recheck", func(ctx context.Context, s *variants.Session, dir string) (barrier.Barrier, error) {
		return barrier.NewNoRecheck(ctx, s, dir)
	}},
}

type barrierCheck = func(t *testing.T, v venue, dir string, enter barrierOpener)

// barrierChecks are what every variant must pass, on every ensemble.
var barrierChecks = []check[barrierCheck]{
	{"lets all clients pass, and none early", barrierLetsAllPass},
	{"does not trap who is slow", barrierDoesNotTrapWhoIsSlow},
	{"is open when all clients open it", barrierIsOpenWhenAllOpenIt},
	{"takes no other event for an opening", barrierTakesNoOtherEventForAnOpening},
	{"places newcomers before the closed one", barrierPlacesNewcomersBeforeTheClosedOne},
	{"withdraws", barrierWithdraws},
	{"outlives its openers", barrierOutlivesItsOpeners},
	{"survives a waiter that dies", barrierSurvivesAWaiterThatDies},
	{"reports a lost session", barrierReportsALostSession},
	{"is passed after an outage", barrierIsPassedAfterAnOutage},
	{"recovers a lost reply", barrierRecoversALostReply},
	{"recovers a lost request", barrierRecoversALostRequest},
	{"recovers a look that was cut off", barrierRecoversALookThatWasCutOff},
	{"honours a deadline of a silent server", barrierHonoursADeadlineOfASilentServer},
	{"can be removed", barrierCanBeRemoved},
}

func TestBarrier(t *testing.T) { onEmbedded(t, checkBarriers) }

// checkBarriers runs every check on every variant, each in a directory of its own with a barrier, after which no znode but
// a barrier may be left.
func checkBarriers(t *testing.T, at place) {
	checkAll(t, at, barrierChecks, barrierVariants, func(t *testing.T, v venue, do barrierCheck, variant underTest[barrierOpener]) {
		dir, keeper := barrierDirectory(t, v)
		do(t, v, dir, variant.open)
		if left := children(t, keeper, dir); len(left) > 1 {
			t.Errorf("znodes %v are left, want one barrier at most", left)
		}
		if err := barrier.Remove(testContext(t), keeper.session(), dir); err != nil {
			t.Error(err)
		}
		if left := children(t, keeper, dir); len(left) > 0 {
			t.Errorf("znodes %v are left after the barrier was removed", left)
		}
	})
	t.Run("keeps its promise", func(t *testing.T) { keepsItsPromise(t, at, barrier.Recipe(), 6, 31) })
}

// barrierDirectory returns a directory with a barrier, and the client that made it.
func barrierDirectory(t *testing.T, v venue) (dir string, keeper *client) {
	t.Helper()
	dir, keeper = directory(t, v), clients(t, v, 1)[0]
	must(t, barrier.Create(testContext(t), keeper.session(), dir))
	return dir, keeper
}

func barriersOf(t testing.TB, dir string, enter barrierOpener, cs ...*client) []barrier.Barrier {
	t.Helper()
	var out []barrier.Barrier
	for _, c := range cs {
		b, err := enter(testContext(t), c.session(), dir)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b)
	}
	return out
}

// barrierWait lets a client wait in the background.
func barrierWait(ctx context.Context, b barrier.Barrier) <-chan error {
	return background(func() error { return b.Wait(ctx) })
}

func barrierMustPass(t testing.TB, done <-chan error) {
	t.Helper()
	if err := <-done; err != nil {
		t.Errorf("Wait returned %v, want that the client passed", err)
	}
}

func barrierMustStillWait(t testing.TB, done <-chan error) {
	t.Helper()
	mustStillWait(t, "a client at a closed barrier", done)
}

func barrierMustOpen(t testing.TB, b barrier.Barrier) {
	t.Helper()
	must(t, b.Open(testContext(t)))
}

func barrierLetsAllPass(t *testing.T, v venue, dir string, enter barrierOpener) {
	cs := clients(t, v, 5)
	barriers := barriersOf(t, dir, enter, cs...)
	for range 3 {
		var waiting []<-chan error
		for _, b := range barriers[1:] {
			waiting = append(waiting, barrierWait(testContext(t), b))
		}
		awaitWaiting(t, cs[1:]...)
		for _, done := range waiting {
			barrierMustStillWait(t, done)
		}
		barrierMustOpen(t, barriers[0])
		for _, done := range waiting {
			barrierMustPass(t, done)
		}
	}
}

// A client that comes to a barrier when it and others have been opened passes them all, and waits at the closed one.
func barrierDoesNotTrapWhoIsSlow(t *testing.T, v venue, dir string, enter barrierOpener) {
	cs := clients(t, v, 3)
	barriers := barriersOf(t, dir, enter, cs...)
	waiting := barrierWait(testContext(t), barriers[1])
	awaitWaiting(t, cs[1])
	for range 3 {
		barrierMustOpen(t, barriers[0])
	}
	barrierMustPass(t, waiting)
	for range 2 {
		barrierMustPass(t, barrierWait(testContext(t), barriers[1]))
	}
	barrierMustOpen(t, barriers[2]) // which has been open for long: nothing happens but that it passes
	waiting = barrierWait(testContext(t), barriers[1])
	awaitWaiting(t, cs[1])
	barrierMustStillWait(t, waiting)
	barrierMustOpen(t, barriers[0])
	barrierMustPass(t, waiting)
}

// Several that open one barrier at once open that one, and not the next.
func barrierIsOpenWhenAllOpenIt(t *testing.T, v venue, dir string, enter barrierOpener) {
	cs := clients(t, v, 5)
	barriers := barriersOf(t, dir, enter, cs...)
	var wait sync.WaitGroup
	for _, b := range barriers {
		wait.Go(func() {
			if err := b.Open(testContext(t)); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if left := children(t, cs[0], dir); !slices.Equal(left, []string{"barrier-1"}) {
		t.Errorf("znodes %v, want barrier-1", left)
	}
}

func barrierTakesNoOtherEventForAnOpening(t *testing.T, v venue, dir string, enter barrierOpener) {
	cs := clients(t, v, 2)
	barriers := barriersOf(t, dir, enter, cs...)
	waiting := barrierWait(testContext(t), barriers[1])
	awaitWaiting(t, cs[1])
	must(t, errorOf(cs[0].conn.Set(dir+"/barrier-0", []byte("changed"), -1)))
	eventually(t, "the client was not notified", func() bool { return cs[1].ledger.Notified() > 0 })
	awaitWaiting(t, cs[1])
	barrierMustStillWait(t, waiting)
	barrierMustOpen(t, barriers[0])
	barrierMustPass(t, waiting)
}

func barrierPlacesNewcomersBeforeTheClosedOne(t *testing.T, v venue, dir string, enter barrierOpener) {
	cs := clients(t, v, 2)
	first := barriersOf(t, dir, enter, cs[0])[0]
	for range 12 {
		barrierMustOpen(t, first)
	}
	waiting := barrierWait(testContext(t), barriersOf(t, dir+"/", enter, cs[1])[0])
	awaitWaiting(t, cs[1])
	barrierMustStillWait(t, waiting)
	barrierMustOpen(t, first)
	barrierMustPass(t, waiting)
}

// A client that gives up has not passed the barrier, and may wait again, or open it.
func barrierWithdraws(t *testing.T, v venue, dir string, enter barrierOpener) {
	cs := clients(t, v, 2)
	barriers := barriersOf(t, dir, enter, cs...)
	ctx, cancel := context.WithCancel(testContext(t))
	waiting := barrierWait(ctx, barriers[1])
	awaitWaiting(t, cs[1])
	cancel()
	wantError(t, "a cancelled Wait", <-waiting, context.Canceled)
	wantError(t, "a cancelled Open", barriers[0].Open(ctx), context.Canceled)
	waiting = barrierWait(testContext(t), barriers[1])
	awaitWaiting(t, cs[1])
	barrierMustStillWait(t, waiting)
	barrierMustOpen(t, barriers[0])
	barrierMustPass(t, waiting)
	waiting = barrierWait(testContext(t), barriers[0])
	awaitWaiting(t, cs[0])
	barrierMustStillWait(t, waiting)
	barrierMustOpen(t, barriers[1])
	barrierMustPass(t, waiting)
}

// A barrier stays closed when the client that closed it dies, and any other client can open it.
func barrierOutlivesItsOpeners(t *testing.T, v venue, dir string, enter barrierOpener) {
	expiring, cable := cabled(t, v, v.shortest)
	cs := clients(t, v, 3)
	barriers := barriersOf(t, dir, enter, append(cs, expiring)...)
	barrierMustOpen(t, barriers[0])
	cs[0].Close() // it has closed the next one
	waiting := barrierWait(testContext(t), barriers[2])
	barrierMustPass(t, waiting)
	waiting = barrierWait(testContext(t), barriers[2])
	awaitWaiting(t, cs[2])
	barrierMustOpen(t, barriers[3]) // passes
	barrierMustStillWait(t, waiting)
	barrierMustOpen(t, barriers[3])
	barrierMustPass(t, waiting)
	cable.unplug()
	<-expiring.monitor.Lost()
	waiting = barrierWait(testContext(t), barriers[2])
	awaitWaiting(t, cs[2])
	barrierMustStillWait(t, waiting)
	for range 3 {
		barrierMustOpen(t, barriers[1])
	}
	barrierMustPass(t, waiting)
}

func barrierSurvivesAWaiterThatDies(t *testing.T, v venue, dir string, enter barrierOpener) {
	cs := clients(t, v, 3)
	barriers := barriersOf(t, dir, enter, cs...)
	ctx, cancel := context.WithCancel(testContext(t))
	dead := barrierWait(ctx, barriers[1])
	waiting := barrierWait(testContext(t), barriers[2])
	awaitWaiting(t, cs[1:]...)
	cs[1].Close()
	barrierMustOpen(t, barriers[0])
	barrierMustPass(t, waiting)
	cancel()
	<-dead
}

// A client that loses its session while it waits gets ErrSessionLost, and passes no barrier any more.
func barrierReportsALostSession(t *testing.T, v venue, dir string, enter barrierOpener) {
	cut, cable := cabled(t, v, v.shortest)
	b := barriersOf(t, dir, enter, cut)[0]
	waiting := barrierWait(testContext(t), b)
	awaitWaiting(t, cut)
	cable.unplug()
	wantError(t, "Wait", <-waiting, variants.ErrSessionLost)
	wantError(t, "Wait after the session was lost", b.Wait(testContext(t)), variants.ErrSessionLost)
	wantError(t, "Open after the session was lost", b.Open(testContext(t)), variants.ErrSessionLost)
}

// A barrier that is opened while a waiter is cut off lets it pass when it is back.
func barrierIsPassedAfterAnOutage(t *testing.T, v venue, dir string, enter barrierOpener) {
	cut, cable := cabled(t, v, ensemble.SessionTimeout)
	barriers := barriersOf(t, dir, enter, clients(t, v, 1)[0], cut)
	waiting := barrierWait(testContext(t), barriers[1])
	awaitWaiting(t, cut)
	cable.unplug()
	barrierMustOpen(t, barriers[0])
	barrierMustStillWait(t, waiting)
	cable.replug()
	barrierMustPass(t, waiting)
}

// The connection is cut around an opening, which takes place once.
func barrierRecoversALostReply(t *testing.T, v venue, dir string, enter barrierOpener) {
	barrierRecovers(t, v, dir, enter, dropReply)
}

func barrierRecoversALostRequest(t *testing.T, v venue, dir string, enter barrierOpener) {
	barrierRecovers(t, v, dir, enter, dropRequest)
}

func barrierRecovers(t *testing.T, v venue, dir string, enter barrierOpener, fault fault) {
	t.Helper()
	cut, cutter := cutting(t, v, fault)
	other := clients(t, v, 1)[0]
	barriers := barriersOf(t, dir, enter, cut, other)
	waiting := barrierWait(testContext(t), barriers[1])
	awaitWaiting(t, other)
	cutter.arm()
	barrierMustOpen(t, barriers[0])
	cutter.mustHaveCutOnce(t, cut)
	barrierMustPass(t, waiting)
	if left := children(t, other, dir); !slices.Equal(left, []string{"barrier-1"}) {
		t.Errorf("znodes %v, want barrier-1", left)
	}
}

// The connection is cut around the request by which a waiter sets its watch.
func barrierRecoversALookThatWasCutOff(t *testing.T, v venue, dir string, enter barrierOpener) {
	server := embeddedServer(t, v)
	cs := clients(t, v, 2)
	barriers := barriersOf(t, dir, enter, cs...)
	for i, action := range []embedded.Action{embedded.DropBefore, embedded.DropAfter} {
		trap := inject(server, cs[1], wire.OpGetData, action)
		waiting := barrierWait(testContext(t), barriers[1])
		<-trap.Fired()
		eventually(t, "the client did not come back", func() bool { return cs[1].ledger.Reconnects() > i })
		awaitWaiting(t, cs[1])
		barrierMustStillWait(t, waiting)
		barrierMustOpen(t, barriers[0])
		barrierMustPass(t, waiting)
	}
}

// A caller gets control back although the server does not answer at all, and has passed nothing that it does not know of.
func barrierHonoursADeadlineOfASilentServer(t *testing.T, v venue, dir string, enter barrierOpener) {
	frozen, cable := cabled(t, v, ensemble.SessionTimeout)
	other := clients(t, v, 1)[0]
	barriers := barriersOf(t, dir, enter, frozen, other)
	barrierMustOpen(t, barriers[1])
	cable.mustTimeOut(t, "Wait", barriers[0].Wait)
	cable.mustTimeOut(t, "Open", barriers[0].Open)
	barrierMustPass(t, barrierWait(testContext(t), barriers[0]))
	waiting := barrierWait(testContext(t), barriers[0])
	awaitWaiting(t, frozen)
	barrierMustStillWait(t, waiting)
	barrierMustOpen(t, barriers[1])
	barrierMustPass(t, waiting)
}

// A barrier that is removed lets all clients pass, and is not there for newcomers.
func barrierCanBeRemoved(t *testing.T, v venue, dir string, enter barrierOpener) {
	cs := clients(t, v, 2)
	b := barriersOf(t, dir, enter, cs[0])[0]
	waiting := barrierWait(testContext(t), b)
	awaitWaiting(t, cs[0])
	must(t, barrier.Remove(testContext(t), cs[1].session(), dir))
	barrierMustPass(t, waiting)
	barrierMustPass(t, barrierWait(testContext(t), b))
	barrierMustOpen(t, b)
	wantError(t, "a newcomer", errorOf(enter(testContext(t), cs[1].session(), dir)), barrier.ErrNone)
}

// barrierOneName is a session to which all barriers have the same name: the recipe as it is often written, whose barrier is
// closed again under its old name.
type barrierOneName struct{ variants.Conn }

func (s barrierOneName) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	return s.Conn.GetW(barrierBase(path))
}

func (s barrierOneName) Multi(ops ...any) ([]zk.MultiResponse, error) {
	for _, op := range ops {
		switch op := op.(type) {
		case *zk.DeleteRequest:
			op.Path = barrierBase(op.Path)
		case *zk.CreateRequest:
			op.Path = barrierBase(op.Path)
		}
	}
	return s.Conn.Multi(ops...)
}

func barrierBase(path string) string { return path[:strings.LastIndex(path, "-")] + "-0" }

// barrierDeaf is a session that is told of nothing.
type barrierDeaf struct{ variants.Conn }

func (s barrierDeaf) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, _, err := s.Conn.GetW(path)
	return data, stat, make(chan zk.Event), err
}

// barrierHasty is a session to which every barrier is gone.
type barrierHasty struct{ variants.Conn }

func (barrierHasty) GetW(string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	return nil, nil, nil, zk.ErrNoNode
}

// The promise must be one that can be broken: a waiter that is trapped, deaf or hasty is caught.
func TestBrokenBarriersAreCaught(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, variant string
		spoil         broken
		want          string
	}{
		{"one name for all", "recheck", func(s variants.Conn) variants.Conn { return barrierOneName{s} }, "client 1 never passed barrier 0"},
		{"deaf", "recheck", func(s variants.Conn) variants.Conn { return barrierDeaf{s} }, "client 1 never passed barrier 0"},
		{"deaf", "no-recheck", func(s variants.Conn) variants.Conn { return barrierDeaf{s} }, "client 1 never passed barrier 0"},
		{"hasty", "recheck", func(s variants.Conn) variants.Conn { return barrierHasty{s} }, "client 1 passed barrier 0 before"},
		{"hasty", "no-recheck", func(s variants.Conn) variants.Conn { return barrierHasty{s} }, "client 1 passed barrier 0 before"},
	} {
		bubbles.run(t, tt.name+" "+tt.variant, func(t *testing.T, v venue) {
			violations := barrier.Recipe().Violations(barrierHistory(t, v, tt.variant, tt.spoil))
			if len(violations) != 1 || !strings.Contains(violations[0].Text, tt.want) {
				t.Errorf("violations %v, want %q", violations, tt.want)
			}
		})
	}
}

// barrierHistory is what happens when one participant waits at a barrier, unless it thinks that it has passed, and then
// another opens it.
func barrierHistory(t *testing.T, v venue, name string, spoil broken) variants.History {
	t.Helper()
	dir, _ := barrierDirectory(t, v)
	cs := clients(t, v, 2)
	c := newCompany(t.Context(), variantOf(barrier.Recipe(), name), variants.Env{Clients: len(cs), Root: dir})
	for _, member := range cs {
		c.join(t, spoil(member.conn), member.monitor.Lost())
	}
	ctx, cancel := context.WithCancel(testContext(t))
	var wait sync.WaitGroup
	done := make(chan struct{})
	wait.Go(func() {
		defer close(done)
		_ = c.members[1].Step(ctx)
	})
	defer wait.Wait()
	defer cancel()
	awaitWaits(t, c.members[1], 1, done)
	must(t, c.members[0].Step(testContext(t)))
	must(t, ensemble.Fence(cs[1].conn)) // it has been told
	if _, trapped := spoil(cs[1].conn).(barrierOneName); trapped {
		awaitWaits(t, c.members[1], 2, done) // it has been woken, and waits again
	}
	return c.history()
}
