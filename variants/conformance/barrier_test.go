package conformance_test

import (
	"context"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants/barrier"
)

type barrierOpener = openFunc[*barrier.Barrier]

type barrierCheck = func(t *testing.T, v venue, dir string, enter barrierOpener)

// barrierChecks are what every variant must pass, on every ensemble.
var barrierChecks = []check[barrierCheck]{
	{"takes no other event for an opening", barrierTakesNoOtherEventForAnOpening},
	{"withdraws", barrierWithdraws},
	{"honours a deadline of a silent server", barrierHonoursADeadlineOfASilentServer},
	{"can be removed", barrierCanBeRemoved},
}

func TestBarrier(t *testing.T) { onEmbedded(t, checkBarriers) }

// checkBarriers runs every check on every variant, each in a directory of its own with a barrier, after which no znode but
// a barrier may be left.
func checkBarriers(t *testing.T, at place) {
	all := opensOf[*barrier.Barrier](barrier.Recipe().Variants)
	checkAll(t, at, barrierChecks, all, func(t *testing.T, v venue, do barrierCheck, variant underTest[barrierOpener]) {
		dir, keeper := barrierDirectory(t, v)
		do(t, v, dir, variant.open)
		if left := children(t, keeper, dir); len(left) > 1 {
			t.Errorf("znodes %v are left, want one barrier at most", left)
		}
	})
}

// barrierDirectory returns a directory with a barrier, and the client that made it.
func barrierDirectory(t *testing.T, v venue) (dir string, keeper *client) {
	t.Helper()
	dir, keeper = directory(t, v), clients(t, v, 1)[0]
	must(t, barrier.Create(testContext(t), keeper.session(), dir))
	return dir, keeper
}

func barriersOf(t testing.TB, dir string, enter barrierOpener, cs ...*client) []*barrier.Barrier {
	t.Helper()
	var out []*barrier.Barrier
	for _, c := range cs {
		b, err := enter(testContext(t), c.session(), dir)
		must(t, err)
		out = append(out, b)
	}
	return out
}

func barrierWait(ctx context.Context, b *barrier.Barrier) <-chan error {
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

func barrierMustOpen(t testing.TB, b *barrier.Barrier) {
	t.Helper()
	must(t, b.Open(testContext(t)))
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

// A client that gives up has not passed the barrier, and may wait again, or open it.
func barrierWithdraws(t *testing.T, v venue, dir string, enter barrierOpener) {
	cs := clients(t, v, 2)
	barriers := barriersOf(t, dir, enter, cs...)
	gone := mustWithdraw(t, "Wait", cs[1], barriers[1].Wait)
	wantError(t, "a cancelled Open", barriers[0].Open(gone), context.Canceled)
	waiting := barrierWait(testContext(t), barriers[1])
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

// A caller gets control back although the server does not answer at all, and has passed nothing that it does not know
// of.
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
	for _, name := range children(t, cs[1], dir) {
		must(t, cs[1].conn.Delete(dir+"/"+name, -1))
	}
	barrierMustPass(t, waiting)
	barrierMustPass(t, barrierWait(testContext(t), b))
	barrierMustOpen(t, b)
	wantError(t, "a newcomer", errorOf(enter(testContext(t), cs[1].session(), dir)), barrier.ErrNone)
}
