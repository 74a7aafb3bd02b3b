package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/variants/priorityqueue"
	"github.com/zkbench/zkbench/variants/queue"
	"github.com/zkbench/zkbench/variants/takequeue"
)

type queueVariant = underTest[opener[queue.Queue]]

var queueVariants = openersOf[queue.Queue](queue.Recipe().Variants)

type queueCheck = func(t *testing.T, v venue, dir string, variant queueVariant)

// queueChecks are what every variant must pass, on every ensemble.
var queueChecks = []check[queueCheck]{
	{"gives back", queueGivesBack},
	{"honours a deadline of a silent server", itemQueueHonoursADeadlineOfASilentServer},
	{"honours a cancelled context", queueHonoursACancelledContext},
	{"ignores foreign znodes", itemQueueIgnoresForeignZnodes},
}

func TestQueue(t *testing.T) {
	onEmbedded(t, func(t *testing.T, at place) { checkQueues(t, at, queueVariants) })
}

// ordinary is a priority queue whose items all have one priority. It must pass the checks of a queue.
type ordinary struct{ priorityqueue.Queue }

func (q ordinary) Put(ctx context.Context, data []byte) error { return q.Queue.Put(ctx, 50, data) }

func TestPriorityQueue(t *testing.T) {
	own := openersOf[priorityqueue.Queue](priorityqueue.Recipe().Variants)
	all := list.Map(own, func(v underTest[opener[priorityqueue.Queue]]) queueVariant {
		return queueVariant{v.name, func(t testing.TB, c *client, dir string) queue.Queue { return ordinary{v.open(t, c, dir)} }}
	})
	onEmbedded(t, func(t *testing.T, at place) { checkQueues(t, at, all) })
}

// checkQueues runs every check on every variant, each in a directory of its own.
func checkQueues(t *testing.T, at place, all []queueVariant) {
	checkAll(t, at, queueChecks, all, func(t *testing.T, v venue, do queueCheck, variant queueVariant) {
		do(t, v, directory(t, v), variant)
	})
}

func mustPut(t testing.TB, q queue.Queue, texts ...string) {
	t.Helper()
	for _, text := range texts {
		must(t, q.Put(testContext(t), []byte(text)))
	}
}

func mustTake(t testing.TB, q takequeue.Taker) string {
	t.Helper()
	item, ok, err := q.Take(testContext(t))
	switch {
	case err != nil:
		t.Fatal(err)
	case !ok:
		return "nothing"
	}
	return string(item.Data)
}

func mustDone(t testing.TB, q takequeue.Taker) {
	t.Helper()
	must(t, q.Done(testContext(t)))
}

func mustDrain(t testing.TB, q takequeue.Taker, want ...string) {
	t.Helper()
	var got []string
	for {
		text := mustTake(t, q)
		if text == "nothing" {
			break
		}
		got = append(got, text)
		mustDone(t, q)
	}
	if !slices.Equal(got, want) {
		t.Errorf("took %q, want %q", got, want)
	}
	must(t, q.Return(testContext(t))) // a client that stands in a line leaves it
}

// returned is the order of a and b after a was given back: some variants put it behind all others.
func returned(variant queueVariant) []string {
	if strings.HasPrefix(variant.name, "matched-") {
		return []string{"b", "a"}
	}
	return []string{"a", "b"}
}

// mustBeClear looks for items and claims that were left behind.
func mustBeClear(t testing.TB, c *client, dir string) {
	t.Helper()
	for _, name := range children(t, c, dir) {
		switch name {
		case "journals", "locks", "consumers": // what is in them ends with the sessions
		case "claims", "tickets", "items":
			if left := unmarked(t, c, dir+"/"+name); len(left) > 0 {
				t.Errorf("%s are left: %q", name, left)
			}
		default:
			t.Errorf("%s is left", name)
		}
	}
}

// An item that is given back stands at its old place, or behind all others.
func queueGivesBack(t *testing.T, v venue, dir string, variant queueVariant) {
	cs := clients(t, v, 2)
	quitter, next := variant.open(t, cs[0], dir), variant.open(t, cs[1], dir)
	mustPut(t, quitter, "a", "b")
	if got := mustTake(t, quitter); got != "a" {
		t.Errorf("took %q, want a", got)
	}
	if _, _, err := quitter.Take(testContext(t)); !errors.Is(err, takequeue.ErrHeld) {
		t.Errorf("Take with an item in hand returned %v, want ErrHeld", err)
	}
	must(t, quitter.Return(testContext(t)))
	catchUp(t, cs[1], dir)
	mustDrain(t, next, returned(variant)...)
	mustBeClear(t, cs[0], dir)
}

// A caller gets control back although the server does not answer at all. The item that it was about to take is not
// lost.
func itemQueueHonoursADeadlineOfASilentServer(t *testing.T, v venue, dir string, variant queueVariant) {
	c, cable := cabled(t, v, ensemble.SessionTimeout)
	other := clients(t, v, 1)[0]
	q, next := variant.open(t, c, dir), variant.open(t, other, dir)
	mustPut(t, q, "a", "b")
	cable.mustTimeOut(t, "Take", func(ctx context.Context) error { _, _, err := q.Take(ctx); return err })
	mustDone(t, q) // waits for the clean-up
	catchUp(t, other, dir)
	mustDrain(t, next, returned(variant)...)
	mustBeClear(t, other, dir)
}

func queueHonoursACancelledContext(t *testing.T, v venue, dir string, variant queueVariant) {
	c := clients(t, v, 1)[0]
	q := variant.open(t, c, dir)
	mustPut(t, q, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, "Put", q.Put(ctx, nil), context.Canceled)
	if _, _, err := q.Take(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Take returned %v, want context.Canceled", err)
	}
	mustDrain(t, q, "a")
	mustBeClear(t, c, dir)
}

// Foreign znodes in the queue's directory are not items.
func itemQueueIgnoresForeignZnodes(t *testing.T, v venue, dir string, variant queueVariant) {
	c := clients(t, v, 1)[0]
	foreign := []string{"a", "item-", "item-abc", "x-claim", "queue-", "queue-abc"}
	for _, name := range foreign {
		must(t, errorOf(c.conn.Create(dir+"/"+name, nil, 0, zk.WorldACL(zk.PermAll))))
	}
	q := variant.open(t, c, dir)
	mustPut(t, q, "a")
	mustDrain(t, q, "a")
	left := children(t, c, dir)
	for _, name := range foreign {
		if !slices.Contains(left, name) {
			t.Errorf("%s is gone: left are %q", name, left)
		}
	}
}

// A claim that ends with its session wakes no client of wake-and-scan: the item waits for the next change of the queue.
func TestQueueThatWakesNoClientForAFreeItem(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		variant := queueVariants[slices.IndexFunc(queueVariants, func(v queueVariant) bool { return v.name == "wake-and-scan" })]
		dir, cs := directory(t, v), clients(t, v, 2)
		crashing, next := variant.open(t, cs[0], dir), variant.open(t, cs[1], dir)
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

// A number that an item has lost, or that a foreign znode has taken, costs its consumer a while, and no item.
func TestMatchedTicketsOfNoItem(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		dir, cs := directory(t, v), clients(t, v, 2)
		q, err := queue.NewMatchedTicket(testContext(t), cs[0].session(), dir)
		must(t, err)
		items := dir + "/items/"
		must(t, errorOf(cs[1].conn.Create(items+"foreign", nil, 0, zk.WorldACL(zk.PermAll))))
		mustPut(t, q, "a", "b", "c")
		must(t, cs[1].conn.Delete(items+"item-0000000001", -1))
		for _, want := range []string{"b", "c"} {
			got := mustTake(t, q)
			for ; got == "nothing"; got = mustTake(t, q) {
				must(t, q.AwaitChange(testContext(t)))
			}
			if got != want {
				t.Errorf("took %q, want %q", got, want)
			}
			mustDone(t, q)
		}
		must(t, cs[1].conn.Delete(items+"foreign", -1))
		mustBeClear(t, cs[1], dir)
	})
}

// An item whose consumer has died goes to one that waits.
func TestMatchedTicketOfADeadConsumer(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		dir, cs := directory(t, v), clients(t, v, 2)
		open := func(c *client) *queue.MatchedTicket {
			q, err := queue.NewMatchedTicket(testContext(t), c.session(), dir)
			must(t, err)
			return q
		}
		dead, next := open(cs[0]), open(cs[1])
		mustPut(t, next, "a")
		mustTake(t, dead)
		if got := mustTake(t, next); got != "nothing" {
			t.Errorf("took %q, which another client has", got)
		}
		cs[0].Close()
		must(t, next.AwaitChange(testContext(t)))
		if got := mustTake(t, next); got != "a" {
			t.Errorf("took %q, want a", got)
		}
		mustDone(t, next)
		mustBeClear(t, cs[1], dir)
	})
}

// A consumer that waits is woken by the put of its item, and not by the time at which it looks for orphans.
func TestMatchedTicketIsWoken(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		dir, cs := directory(t, v), clients(t, v, 1)
		q, err := queue.NewMatchedTicket(testContext(t), cs[0].session(), dir)
		must(t, err)
		if got := mustTake(t, q); got != "nothing" {
			t.Errorf("took %q", got)
		}
		mustPut(t, q, "a")
		began := time.Now()
		must(t, q.AwaitChange(testContext(t)))
		if waited := time.Since(began); waited > time.Second {
			t.Errorf("waited for %v", waited)
		}
		mustDrain(t, q, "a")
		mustBeClear(t, cs[0], dir)
	})
}

// Two clients that look for orphans at the same time move one once, and neither fails.
func TestMatchedTicketsThatMoveOneOrphan(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		dir, cs := directory(t, v), clients(t, v, 3)
		var qs []*queue.MatchedTicket
		for _, c := range cs {
			q, err := queue.NewMatchedTicket(testContext(t), c.session(), dir)
			must(t, err)
			qs = append(qs, q)
		}
		mustPut(t, qs[0], "a")
		for i, want := range []string{"a", "nothing", "nothing"} {
			if got := mustTake(t, qs[i]); got != want {
				t.Errorf("took %q, want %q", got, want)
			}
		}
		cs[0].Close()
		taken, errs := [2]bool{}, [2]error{}
		var both sync.WaitGroup
		for i, q := range qs[1:] {
			both.Go(func() {
				if errs[i] = q.AwaitChange(testContext(t)); errs[i] == nil {
					_, taken[i], errs[i] = q.Take(testContext(t))
				}
			})
		}
		both.Wait()
		must(t, errors.Join(errs[:]...))
		if taken != [2]bool{true, false} {
			t.Errorf("took %v, want the orphan by the first ticket", taken)
		}
	})
}

// A client whose item another program has deleted may go on, whether it is done with the item or gives it back.
func TestMatchedTicketOfADeletedItem(t *testing.T) {
	for name, end := range map[string]func(*queue.MatchedTicket, context.Context) error{
		"done": (*queue.MatchedTicket).Done, "return": (*queue.MatchedTicket).Return,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, v venue) {
				dir, cs := directory(t, v), clients(t, v, 2)
				q, err := queue.NewMatchedTicket(testContext(t), cs[0].session(), dir)
				must(t, err)
				mustPut(t, q, "poison", "b")
				mustTake(t, q)
				must(t, cs[1].conn.Delete(dir+"/items/item-0000000000", -1))
				must(t, end(q, testContext(t)))
				mustDrain(t, q, "b")
				mustBeClear(t, cs[1], dir)
			})
		})
	}
}

// An item passes over the numbers of all consumers that have withdrawn, however many they are: a consumer that waits looks for orphans once.
func TestMatchedTicketsOfWithdrawnConsumers(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		c := clients(t, v, 1)[0]
		dir := directory(t, v)
		q, err := queue.NewMatchedTicket(testContext(t), c.session(), dir)
		must(t, err)
		for range 51 { // so that the next ticket is not one whose client looks for orphans at once
			if got := mustTake(t, q); got != "nothing" {
				t.Fatalf("took %q", got)
			}
			must(t, q.Return(testContext(t)))
		}
		mustPut(t, q, "a", "b")
		if got := mustTake(t, q); got != "nothing" {
			t.Errorf("took %q, although no ticket belongs to an item", got)
		}
		must(t, q.AwaitChange(testContext(t)))
		mustDrain(t, q, "a", "b")
		mustBeClear(t, c, dir)
	})
}

// A return whose context has ended before gives nothing back: the client still has its item, and may return it again.
func TestMatchedTicketReturnsAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		c := clients(t, v, 1)[0]
		dir := directory(t, v)
		q, err := queue.NewMatchedTicket(testContext(t), c.session(), dir)
		must(t, err)
		mustPut(t, q, "a")
		mustTake(t, q)
		ctx, cancel := context.WithCancel(testContext(t))
		cancel()
		wantError(t, "Return", q.Return(ctx), context.Canceled)
		must(t, q.Return(testContext(t)))
		mustDrain(t, q, "a")
		mustBeClear(t, c, dir)
	})
}
