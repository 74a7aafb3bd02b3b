package conformance_test

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/queue"
)

// A taker that closes its session takes with it what it has deleted, and nothing that it has only claimed.
func queueSurvivesACrashOfATaker(t *testing.T, v venue, dir string, variant queueVariant) {
	cs := clients(t, v, 2)
	crashing, next := openQueue(t, variant, cs[0], dir), openQueue(t, variant, cs[1], dir)
	mustPut(t, crashing, "a", "b")
	mustTake(t, crashing)
	cs[0].Close()
	catchUp(t, cs[1], dir)
	if variant.claims {
		mustDrain(t, next, "a", "b")
	} else {
		mustDrain(t, next, "b")
	}
	mustBeClear(t, cs[1], dir)
}

// A taker that is cut off for so long that its session expires is told so, and another client gets the item.
func queueReportsALostSession(t *testing.T, v venue, dir string, variant queueVariant) {
	cut, cable := cabled(t, v, v.shortest)
	other := clients(t, v, 1)[0]
	lost, next := openQueue(t, variant, cut, dir), openQueue(t, variant, other, dir)
	mustPut(t, next, "a", "b")
	catchUp(t, cut, dir)
	item, ok, err := lost.Take(testContext(t))
	if err != nil || !ok {
		t.Fatalf("took nothing: %v", err)
	}
	cable.unplug()
	<-cut.monitor.Lost()
	if !variant.claims {
		if item.Lost != nil {
			t.Error("an item that no other client can take is said to be lost with the session")
		}
		if err := lost.Done(testContext(t)); err != nil {
			t.Error(err)
		}
		mustDrain(t, next, "b")
		eventually(t, "the lost session's journal stays", func() bool { return len(children(t, other, dir+"/journals")) <= 1 })
		mustBeClear(t, other, dir)
		return
	}
	<-item.Lost
	wantError(t, "Done with a lost claim", lost.Done(testContext(t)), variants.ErrSessionLost)
	for deadline := time.Now().Add(patience); mustTake(t, next) != "a"; { // the server has not noticed yet
		if time.Now().After(deadline) {
			t.Fatal("the item was lost with its taker")
		}
		must(t, next.Return(testContext(t)))
		time.Sleep(time.Millisecond)
	}
	mustDone(t, next)
	mustDrain(t, next, "b")
	mustBeClear(t, other, dir)
}

func queueRecoversALostPut(t *testing.T, v venue, dir string, variant queueVariant) {
	c, cutter := cutOnce(t, v, dropRequest)
	q := openQueue(t, variant, c, dir)
	cutter.arm()
	mustPut(t, q, "a", "b")
	mustDrain(t, q, "a", "b")
	mustBeClear(t, c, dir)
}

// cutAway opens a session that can be cut, and that then does not connect again before comeBack is called.
func cutAway(t testing.TB, v venue, fault fault) (c *client, cut *cutter, comeBack func()) {
	t.Helper()
	cut = &cutter{fault: fault}
	gate := make(chan struct{})
	var dials atomic.Int64
	c = connect(t, v.Servers()[0], ensemble.SessionTimeout, func(conn net.Conn) (net.Conn, error) {
		if dials.Add(1) > 1 {
			<-gate
		}
		return cut.wrap(conn)
	})
	return c, cut, sync.OnceFunc(func() { close(gate) })
}

// A client whose take did not reach the server must not conclude, when the next attempt is refused, that it has the item: another
// client took it meanwhile.
func queueLeavesWhatWasTaken(t *testing.T, v venue, dir string, variant queueVariant) {
	c, cutter, comeBack := cutAway(t, v, dropRequest)
	defer comeBack()
	other := clients(t, v, 1)[0]
	late, early := openQueue(t, variant, c, dir), openQueue(t, variant, other, dir)
	mustPut(t, early, "a", "b")
	catchUp(t, c, dir)
	cutter.arm()
	var wait sync.WaitGroup
	var got string
	wait.Go(func() { got = mustTake(t, late) })
	eventually(t, "the connection was never cut", cutter.fired)
	if got := mustTake(t, early); got != "a" {
		t.Errorf("the other client took %q, want a", got)
	}
	comeBack()
	wait.Wait()
	if got != "b" {
		t.Errorf("the client that was cut off took %q, want b", got)
	}
	mustDone(t, early)
	mustDone(t, late)
	catchUp(t, other, dir)
	mustDrain(t, early)
	mustBeClear(t, other, dir)
}

// A client that comes back and does not find what it has put must not conclude that it never did: another client took it.
func queueDoesNotPutAgainWhatWasTaken(t *testing.T, v venue, dir string, variant queueVariant) {
	c, cutter, comeBack := cutAway(t, v, dropReply)
	other := clients(t, v, 1)[0]
	producer, consumer := openQueue(t, variant, c, dir), openQueue(t, variant, other, dir)
	cutter.arm()
	var wait sync.WaitGroup
	wait.Go(func() { mustPut(t, producer, "a") })
	eventually(t, "the item was never put", func() bool { return mustTake(t, consumer) == "a" })
	mustDone(t, consumer)
	comeBack()
	wait.Wait()
	if !cutter.fired() {
		t.Error("the connection was not cut: the test tests nothing")
	}
	catchUp(t, other, dir)
	mustDrain(t, consumer)
	mustBeClear(t, other, dir)
}

// A take of which the client did not learn whether it had taken effect takes exactly one item.
func queueRecoversALostTake(t *testing.T, v venue, dir string, variant queueVariant) {
	c, cutter := cutOnce(t, v, dropReply)
	q := openQueue(t, variant, c, dir)
	mustPut(t, q, "a", "b")
	cutter.arm()
	mustDrain(t, q, "a", "b")
	mustBeClear(t, c, dir)
}

func queueRecoversALostDone(t *testing.T, v venue, dir string, variant queueVariant) {
	if !variant.claims {
		return // nothing is sent
	}
	c, cutter := cutOnce(t, v, dropReply)
	q := openQueue(t, variant, c, dir)
	mustPut(t, q, "a", "b")
	mustTake(t, q)
	cutter.arm()
	mustDone(t, q)
	mustDrain(t, q, "b")
	mustBeClear(t, c, dir)
}

// Wherever a taker's session expires, before or after each of its writes, the item is processed, or still there for
// another client, and no claim outlives the session. What was deleted first may be lost with its taker.
func TestQueueTakerExpiresAnywhere(t *testing.T) {
	t.Parallel()
	for _, variant := range queueVariants {
		for _, do := range []embedded.Action{embedded.ExpireBefore, embedded.ExpireAfter} {
			for nth := 1; nth <= 3; nth++ {
				bubbles.run(t, fmt.Sprintf("%s, write %d, action %d", variant.name, nth, do), func(t *testing.T, v venue) {
					takerExpires(t, v, variant, do, nth)
				})
			}
		}
	}
}

func takerExpires(t *testing.T, v venue, variant queueVariant, do embedded.Action, nth int) {
	dir := directory(t, v)
	cs := clients(t, v, 2)
	taker, next := openQueue(t, variant, cs[0], dir), openQueue(t, variant, cs[1], dir)
	mustPut(t, next, "a", "b")
	trap := embeddedServer(t, v).Inject(embedded.Fault{Session: cs[0].conn.SessionID(), Op: wire.OpMulti, Nth: nth, Do: do})
	_, _, err := taker.Take(testContext(t))
	if err == nil {
		err = taker.Done(testContext(t))
	}
	fired := hasFired(trap)
	if fired != errors.Is(err, variants.ErrSessionLost) {
		t.Errorf("session expired: %v, and the taker was told: %v", fired, err)
	}
	var got []string
	for text := mustTake(t, next); text != "nothing"; text = mustTake(t, next) {
		got = append(got, text)
		mustDone(t, next)
	}
	removal := 1 // the write that removes the item
	switch variant.name {
	case "lock-and-claim", "multi-claim", "wake-and-scan", "mark-and-requeue":
		removal = 2
	}
	want := "a b"
	if nth > removal || nth == removal && do == embedded.ExpireAfter {
		want = "b"
	}
	if strings.Join(got, " ") != want {
		t.Errorf("the other client took %q, want %q", got, want)
	}
	mustBeClear(t, cs[1], dir)
}

// openQueueNamed opens the end of a queue of the variant with this name.
func openQueueNamed(t testing.TB, name string, c *client, dir string) queue.Queue {
	t.Helper()
	return openQueue(t, queueVariants[slices.IndexFunc(queueVariants, func(v queueVariant) bool { return v.name == name })], c, dir)
}

// A claim that ends with its session wakes no client of wake-and-scan: the item waits for the next change of the queue.
func TestQueueThatWakesNoClientForAFreeItem(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		dir, cs := directory(t, v), clients(t, v, 2)
		crashing, next := openQueueNamed(t, "wake-and-scan", cs[0], dir), openQueueNamed(t, "wake-and-scan", cs[1], dir)
		mustPut(t, next, "a", "b")
		mustTake(t, crashing)
		mustDrain(t, next, "b")
		cs[0].Close()
		catchUp(t, cs[1], dir)
		mustDrain(t, next)
		mustPut(t, next, "c")
		mustDrain(t, next, "a", "c")
		mustBeClear(t, cs[1], dir)
	})
}

// The marks of clients that have died are removed by one that joins when no other is left, and those of a client that joined and
// died while the others did not look.
func TestQueueRequeuesTheItemsOfAllThatHaveDied(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		const name = "mark-and-requeue"
		dir, cs := directory(t, v), clients(t, v, 4)
		first, second := openQueueNamed(t, name, cs[0], dir), openQueueNamed(t, name, cs[1], dir)
		mustPut(t, first, "a", "b", "c")
		mustTake(t, first)
		mustTake(t, second)
		cs[0].Close()
		cs[1].Close()
		survivor := openQueueNamed(t, name, cs[2], dir)
		if got := mustTake(t, survivor); got != "a" {
			t.Errorf("took %q, want a", got)
		}
		if got := mustTake(t, openQueueNamed(t, name, cs[3], dir)); got != "b" {
			t.Errorf("took %q, want b", got)
		}
		cs[3].Close()
		catchUp(t, cs[2], dir)
		mustDone(t, survivor)
		mustDrain(t, survivor, "b", "c")
		mustBeClear(t, cs[2], dir)
	})
}
