package conformance_test

import (
	"context"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants/doublebarrier"
	"github.com/zkbench/zkbench/variants/session"
)

// doubleBarrierVariant is a variant under test.
type doubleBarrierVariant = underTest[func(context.Context, *session.Session, doublebarrier.Group) (doublebarrier.Barrier, error)]

var doubleBarrierVariants = []doubleBarrierVariant{
	{"children-watch", by[doublebarrier.Barrier](doublebarrier.NewChildrenWatch)},
	{"ready-race", by[doublebarrier.Barrier](doublebarrier.ReadyRace)},
	{"ready-node", by[doublebarrier.Barrier](doublebarrier.NewReadyNode)},
	{"counted", by[doublebarrier.Barrier](doublebarrier.NewCounted)},
}

// These have tests of their own.
var readyRace, readyNode = doubleBarrierVariants[1], doubleBarrierVariants[2]

// openBarrier gives a client its view of a barrier, whose waits can be awaited.
func openBarrier(t testing.TB, variant doubleBarrierVariant, s *session.Session, g doublebarrier.Group) doublebarrier.Barrier {
	t.Helper()
	b, err := variant.open(t.Context(), s, g)
	must(t, err)
	remember(t, b, s)
	return b
}

type doubleBarrierCheck = func(t *testing.T, v venue, dir string, variant doubleBarrierVariant)

// doubleBarrierChecks are what every variant must pass, on every ensemble.
var doubleBarrierChecks = []check[doubleBarrierCheck]{
	{"go on after a cancellation", barriersGoOnAfterACancellation},
	{"honour a deadline of a silent server", barriersHonourADeadlineOfASilentServer},
	{"refuse what makes no sense", barriersRefuseWhatMakesNoSense},
}

func TestDoubleBarrier(t *testing.T) { onEmbedded(t, checkDoubleBarriers) }

func checkDoubleBarriers(t *testing.T, at place) {
	checkAll(t, at, doubleBarrierChecks, doubleBarrierVariants,
		func(t *testing.T, v venue, do doubleBarrierCheck, variant doubleBarrierVariant) {
			do(t, v, directory(t, v), variant)
		})
}

// barriersFor gives each client its view of one barrier.
func barriersFor(t testing.TB, dir string, variant doubleBarrierVariant, cs ...*client) []doublebarrier.Barrier {
	t.Helper()
	bs := make([]doublebarrier.Barrier, len(cs))
	for i, c := range cs {
		bs[i] = openBarrier(t, variant, c.session(), doublebarrier.Group{Dir: dir, Size: len(cs)})
	}
	return bs
}

// doubleBarrierWait does in the background something that must wait, and returns when it waits.
func doubleBarrierWait(ctx context.Context, t testing.TB, object any, do func(context.Context) error) <-chan error {
	t.Helper()
	return untilWaiting(ctx, t, object, func(ctx context.Context) <-chan error {
		return background(func() error { return do(ctx) })
	})
}

// doubleBarrierMustBeDone waits for the ends of what was begun, which must be good ones.
func doubleBarrierMustBeDone(t testing.TB, what string, ends ...<-chan error) {
	t.Helper()
	for _, done := range ends {
		if err := <-done; err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// doubleBarrierEnter lets all enter, one after another, so that it is known who is first and who is last.
func doubleBarrierEnter(t testing.TB, bs ...doublebarrier.Barrier) {
	t.Helper()
	var waiting []<-chan error
	for _, b := range bs[:len(bs)-1] {
		waiting = append(waiting, doubleBarrierWait(testContext(t), t, b, b.Enter))
	}
	if err := bs[len(bs)-1].Enter(testContext(t)); err != nil {
		t.Fatalf("enter as the last: %v", err)
	}
	doubleBarrierMustBeDone(t, "enter", waiting...)
}

// doubleBarrierLeave lets some leave at once.
func doubleBarrierLeave(t testing.TB, bs ...doublebarrier.Barrier) {
	t.Helper()
	var ends []<-chan error
	for _, b := range bs {
		ends = append(ends, background(func() error { return b.Leave(testContext(t)) }))
	}
	doubleBarrierMustBeDone(t, "leave", ends...)
}

// A client that is cancelled can enter again, or wait on to leave.
func barriersGoOnAfterACancellation(t *testing.T, v venue, dir string, variant doubleBarrierVariant) {
	cs := clients(t, v, 3)
	bs := barriersFor(t, dir, variant, cs...)
	for range 2 {
		ctx, cancel := context.WithCancel(testContext(t))
		other := doubleBarrierWait(testContext(t), t, bs[0], bs[0].Enter)
		entering := doubleBarrierWait(ctx, t, bs[1], bs[1].Enter)
		cancel()
		wantError(t, "a cancelled Enter", <-entering, context.Canceled)
		if left := children(t, cs[0], dir); len(left) != 1 {
			t.Errorf("znodes %v, want that of the one who still waits", left)
		}
		late := doubleBarrierWait(testContext(t), t, bs[2], bs[2].Enter)
		must(t, bs[1].Enter(testContext(t)))
		doubleBarrierMustBeDone(t, "enter", other, late)
		ctx, cancel = context.WithCancel(testContext(t))
		var ends []<-chan error
		for _, b := range bs[:2] {
			ends = append(ends, doubleBarrierWait(ctx, t, b, b.Leave))
		}
		cancel()
		for _, done := range ends {
			wantError(t, "a cancelled Leave", <-done, context.Canceled)
		}
		doubleBarrierLeave(t, bs...)
	}
	mustClose(t, v, dir, bs...)
}

// A caller gets control back although the server does not answer at all.
func barriersHonourADeadlineOfASilentServer(t *testing.T, v venue, dir string, variant doubleBarrierVariant) {
	frozen, cable := cabled(t, v, ensemble.SessionTimeout)
	bs := barriersFor(t, dir, variant, frozen, clients(t, v, 1)[0])
	cable.mustTimeOut(t, "Enter", bs[0].Enter)
	doubleBarrierEnter(t, bs...)
	cable.mustTimeOut(t, "Leave", bs[0].Leave)
	doubleBarrierLeave(t, bs...)
	mustClose(t, v, dir, bs...)
}

func barriersRefuseWhatMakesNoSense(t *testing.T, v venue, dir string, variant doubleBarrierVariant) {
	b := barriersFor(t, dir, variant, clients(t, v, 1)...)[0]
	for range 2 {
		wantError(t, "Leave before Enter", b.Leave(testContext(t)), doublebarrier.ErrOutside)
		must(t, b.Enter(testContext(t)))
		wantError(t, "Enter after Enter", b.Enter(testContext(t)), doublebarrier.ErrInside)
		doubleBarrierLeave(t, b)
	}
	must(t, b.Enter(testContext(t)))
	mustClose(t, v, dir, b, b)
}

// Between the look for ready and the listing, another client may have cleared up and be the first of the next round: a
// client that waited for that one to go would wait for ever.
func TestReadyNodeSeesThatTheRoundIsOver(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		dir := directory(t, v)
		cs := clients(t, v, 2)
		must(t, errorOf(cs[0].conn.Create(dir+"/ready", nil, 0, zk.WorldACL(zk.PermAll)))) // of a round of which no client is left
		group := doublebarrier.Group{Dir: dir, Size: 2}
		first := openBarrier(t, readyNode, cs[0].session(), group)
		var entered <-chan error
		joined, once := false, sync.Once{}
		second := openBarrier(t, readyNode, cs[1].handle.Through(hooked{cs[1].conn, func(op, _ string) {
			if joined && op == "list" {
				once.Do(func() { entered = doubleBarrierWait(testContext(t), t, first, first.Enter) })
			}
		}}), group)
		joined = true
		must(t, second.Enter(soon(t)))
		must(t, <-entered)
	})
}

// listed is a session in which something happens just after each listing.
type listed struct {
	*zk.Conn
	after func()
}

func (s listed) Children(path string) ([]string, *zk.Stat, error) {
	names, stat, err := s.Conn.Children(path)
	s.after()
	return names, stat, err
}

// The last client enters between another one's listing and its wait, which the watch then tells. If that one looked for ready and
// went on waiting, it would wait for itself.
func TestReadyNodeSeesBeforeItWaitsThatAllHaveEntered(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		cs := clients(t, v, 2)
		group := doublebarrier.Group{Dir: directory(t, v), Size: 2}
		last := openBarrier(t, readyNode, cs[0].session(), group)
		joined, once := false, sync.Once{}
		first := openBarrier(t, readyNode, cs[1].handle.Through(listed{cs[1].conn, func() {
			if joined {
				once.Do(func() {
					must(t, last.Enter(testContext(t)))
					catchUp(t, cs[1], group.Dir) // after the notification
				})
			}
		}}), group)
		joined = true
		must(t, first.Enter(soon(t)))
		doubleBarrierLeave(t, first, last)
	})
}
