package conformance_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants/blockingqueue"
)

// pollingQueue is the variant whose consumers set no watches.
const pollingQueue = "poll-10ms"

type queueOpener = openFunc[blockingqueue.Queue]

type blockingQueueCheck = func(t *testing.T, q queues)

// blockingQueueChecks are what every variant must pass, on every ensemble.
var blockingQueueChecks = []check[blockingQueueCheck]{
	{"withdraws", queueWithdraws},
	{"leaves with an item unclaimed", queueLeavesWithAnItemUnclaimed},
	{"claims no item that is gone", queueClaimsNoItemThatIsGone},
	{"takes in turn while a consumer rests", queueTakesInTurnWhileAConsumerRests},
	{"honours a deadline of a silent server", queueHonoursADeadlineOfASilentServer},
	{"ignores foreign znodes", queueIgnoresForeignZnodes},
}

func TestBlockingQueue(t *testing.T) { onEmbedded(t, checkBlockingQueues) }

func checkBlockingQueues(t *testing.T, at place) {
	checkAll(t, at, blockingQueueChecks, opensOf[blockingqueue.Queue](blockingqueue.Recipe().Variants),
		func(t *testing.T, v venue, do blockingQueueCheck, variant underTest[queueOpener]) {
			q := newQueues(t, v, variant.open)
			q.polls = variant.name == pollingQueue
			do(t, q)
		})
}

// queues is one queue under test, with the client that looks at it from outside.
type queues struct {
	*testing.T
	venue    venue
	dir      string
	open     queueOpener
	observer *client
	polls    bool // consumers wait by listing again and again
}

func newQueues(t *testing.T, v venue, open queueOpener) queues {
	t.Helper()
	return queues{T: t, venue: v, dir: directory(t, v), open: open, observer: clients(t, v, 1)[0]}
}

func (q queues) of(c *client) blockingqueue.Queue {
	q.Helper()
	view, err := q.open(testContext(q), c.session(), q.dir)
	must(q, err)
	return view
}

func (q queues) new() (blockingqueue.Queue, *client) {
	q.Helper()
	c := clients(q, q.venue, 1)[0]
	return q.of(c), c
}

func (q queues) put(p blockingqueue.Queue, text string) blockingqueue.Item {
	q.Helper()
	item, err := p.Put(testContext(q), []byte(text))
	must(q, err)
	return item
}

func (q queues) expectTake(c blockingqueue.Queue, want string) {
	q.Helper()
	if item, err := takeItem(testContext(q), c); err != nil || string(item.Data) != want {
		q.Errorf("took %q, %v; want %q", item.Data, err, want)
	}
}

func (q queues) peek(c blockingqueue.Queue) blockingqueue.Item {
	q.Helper()
	item, err := c.Peek(testContext(q))
	must(q, err)
	return item
}

// count returns how many znodes there are below a directory of the queue, without tickets that stand for no client.
func (q queues) count(sub string) int {
	q.Helper()
	if !slices.Contains(children(q, q.observer, q.dir), sub) {
		return 0
	}
	return len(unmarked(q, q.observer, q.dir+"/"+sub))
}

func (q queues) expectEmpty() {
	q.Helper()
	if items, tickets := q.count("items"), q.count("tickets"); items+tickets > 0 {
		q.Errorf("%d items and %d tickets are left", items, tickets)
	}
}

// waiting starts a take in the background, and returns when it waits. What it took comes through the channel.
func (q queues) waiting(ctx context.Context, consumer blockingqueue.Queue, c *client) <-chan string {
	q.Helper()
	took := make(chan string, 1)
	_, before := c.handle.Waiting()
	done := make(chan struct{})
	go func() {
		item, err := takeItem(ctx, consumer)
		close(done)
		if err != nil {
			took <- err.Error()
			return
		}
		took <- string(item.Data)
	}()
	if c.polls = q.polls; !q.polls {
		awaitWaits(q, opened(c, c), before+1, done)
	}
	awaitWaiting(q, c)
	return took
}

func (q queues) expect(took <-chan string, want string) {
	q.Helper()
	select {
	case got := <-took:
		if !strings.Contains(got, want) {
			q.Errorf("a waiting consumer ended with %q, want %q", got, want)
		}
	case <-time.After(patience):
		q.Fatalf("a consumer was not woken for %q", want)
	}
}

// Consumers whose context ends, the first in line and one in its middle, leave nothing, and the others get the items.
func queueWithdraws(t *testing.T, q queues) {
	producer, _ := q.new()
	var took []<-chan string
	var cancels []context.CancelFunc
	var first blockingqueue.Queue
	for i := range 4 {
		consumer, c := q.new()
		if i == 0 {
			first = consumer
		}
		ctx, cancel := context.WithCancel(testContext(t))
		took, cancels = append(took, q.waiting(ctx, consumer, c)), append(cancels, cancel)
	}
	for _, i := range []int{2, 0} {
		cancels[i]()
		q.expect(took[i], context.Canceled.Error())
	}
	expiring, stop := context.WithTimeout(testContext(t), 50*time.Millisecond)
	defer stop()
	late, _ := q.new()
	wantError(t, "Peek after its deadline", errorOf(late.Peek(expiring)), context.DeadlineExceeded)
	q.put(producer, "x")
	q.put(producer, "x")
	q.expect(took[1], "x")
	q.expect(took[3], "x")
	q.put(producer, "y")
	q.expectTake(first, "y") // usable again
	q.expectEmpty()
}

// A consumer that has seen an item and does not want it leaves it to the next one.
func queueLeavesWithAnItemUnclaimed(t *testing.T, q queues) {
	choosy, _ := q.new()
	other, _ := q.new()
	q.put(other, "a")
	q.peek(choosy)
	if err := choosy.Leave(testContext(t)); err != nil {
		t.Error(err)
	}
	q.expectTake(other, "a")
	q.put(other, "b")
	q.expectTake(choosy, "b")
	q.expectEmpty()
}

// An item that a consumer has seen, and that its producer has withdrawn, is not there to be claimed. The consumer gets the next one.
func queueClaimsNoItemThatIsGone(t *testing.T, q queues) {
	producer, _ := q.new()
	consumer, _ := q.new()
	q.put(producer, "a")
	item := q.peek(consumer)
	for _, name := range children(t, q.observer, q.dir+"/items") {
		must(t, q.observer.conn.Delete(q.dir+"/items/"+name, -1))
	}
	if taken, err := consumer.Claim(testContext(t), item); taken || err != nil {
		t.Errorf("a claim of an item that is gone returned %v, %v", taken, err)
	}
	q.put(producer, "b")
	q.expectTake(consumer, "b")
	q.expectEmpty()
}

// A caller gets control back although the server does not answer at all, and what it began is undone in the background.
func queueHonoursADeadlineOfASilentServer(t *testing.T, q queues) {
	for _, call := range []struct {
		name string
		do   func(context.Context, blockingqueue.Queue) error
	}{
		{"Peek", func(ctx context.Context, q blockingqueue.Queue) error { _, err := q.Peek(ctx); return err }},
		{"Put", func(ctx context.Context, q blockingqueue.Queue) error { _, err := q.Put(ctx, []byte("x")); return err }},
	} {
		c, cable := cabled(t, q.venue, ensemble.SessionTimeout)
		silent := q.of(c)
		cable.mustTimeOut(t, call.name, func(ctx context.Context) error { return call.do(ctx, silent) })
		q.put(silent, "a") // waits for the clean-up
		q.expectTake(silent, "a")
		q.expectEmpty()
	}
}

// While one consumer rests after its take, the others take in turn again and again.
func queueTakesInTurnWhileAConsumerRests(t *testing.T, q queues) {
	producer, _ := q.new()
	resting, _ := q.new()
	q.put(producer, "a")
	q.expectTake(resting, "a")
	one, first := q.new()
	other, second := q.new()
	for range 3 {
		took := []<-chan string{q.waiting(testContext(t), one, first), q.waiting(testContext(t), other, second)}
		q.put(producer, "b")
		q.put(producer, "b")
		q.expect(took[0], "b")
		q.expect(took[1], "b")
	}
	q.put(producer, "c")
	q.expectTake(resting, "c")
	q.expectEmpty()
}

// Foreign znodes are neither items nor tickets.
func queueIgnoresForeignZnodes(t *testing.T, q queues) {
	view, _ := q.new()
	foreign := []string{"a", "x-item-", "x-item-abc", "_c_1", "x-ticket-abc"}
	for _, sub := range children(t, q.observer, q.dir) {
		for _, name := range foreign {
			must(t, errorOf(q.observer.conn.Create(q.dir+"/"+sub+"/"+name, nil, 0, zk.WorldACL(zk.PermAll))))
		}
	}
	q.put(view, "a")
	q.expectTake(view, "a")
	if n := q.count("items"); n != len(foreign) {
		t.Errorf("%d foreign znodes are left of %d", n, len(foreign))
	}
}

func takeItem(ctx context.Context, c blockingqueue.Queue) (blockingqueue.Item, error) {
	for {
		item, err := c.Peek(ctx)
		if err != nil {
			return blockingqueue.Item{}, err
		}
		if taken, err := c.Claim(ctx, item); err != nil || taken {
			return item, err
		}
	}
}
