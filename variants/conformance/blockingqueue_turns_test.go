package conformance_test

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/variants/blockingqueue"
)

// A consumer that has taken an item and does not come back holds up neither those that come after it nor those that wait, while its
// session lives and when it ends.
func queuePassesAConsumerThatDoesNotComeBack(_ *testing.T, q queues) {
	producer, _ := q.new()
	gone, c := q.new()
	q.put(producer, "a")
	q.expectTake(gone, "a")
	consumers, cs := q.several(3)
	q.expectTakes(producer, consumers, cs)
	c.Close()
	q.expectTakes(producer, consumers[1:], cs[1:]) // behind what the first consumer has left, if anything
	cs[0].Close()
	q.expectTakes(producer, consumers[1:], cs[1:])
	late, _ := q.new()
	q.put(producer, "d")
	q.expectTake(late, "d")
	q.expectEmpty()
}

// several returns n clients' ends of the queue, with their clients.
func (q queues) several(n int) (all []blockingqueue.Queue, cs []*client) {
	q.Helper()
	for range n {
		one, c := q.new()
		all, cs = append(all, one), append(cs, c)
	}
	return all, cs
}

// expectTakes lets these consumers wait one behind the other, and puts an item for each.
func (q queues) expectTakes(producer blockingqueue.Producer, consumers []blockingqueue.Queue, cs []*client) {
	q.Helper()
	var took []<-chan string
	for i, consumer := range consumers {
		took = append(took, q.waiting(testContext(q), consumer, cs[i]))
	}
	for range consumers {
		q.put(producer, "b")
	}
	for _, taken := range took {
		q.expect(taken, "b")
	}
}

// While one consumer rests after its take, the others take in turn again and again.
func queueTakesInTurnWhileAConsumerRests(_ *testing.T, q queues) {
	producer, _ := q.new()
	resting, _ := q.new()
	q.put(producer, "a")
	q.expectTake(resting, "a")
	others, cs := q.several(2)
	for range 3 {
		q.expectTakes(producer, others, cs)
	}
	q.put(producer, "c")
	q.expectTake(resting, "c")
	q.expectEmpty()
}

// A consumer that takes again, and whose ticket's reply is lost, stands in the line once, and none of its last turn is left.
func queueWaitsOnceMore(t *testing.T, q queues, fault fault) {
	t.Helper()
	consumer, c, cutter := q.cutting(fault)
	producer, _ := q.new()
	q.put(producer, "a")
	q.expectTake(consumer, "a")
	q.put(producer, "b")
	cutter.arm()
	item := q.peek(consumer)
	if all := children(t, q.observer, q.dir); slices.Contains(all, "tickets") {
		if left := children(t, q.observer, q.dir+"/tickets"); len(left) > 1 {
			t.Errorf("the tickets of one consumer are %v", left)
		}
	}
	if taken, err := consumer.Claim(testContext(t), item); err != nil || !taken {
		t.Errorf("the claim returned %v, %v", taken, err)
	}
	cutter.mustHaveCutOnce(t, c) // for a variant without tickets this was the claim
	q.put(producer, "c")
	q.expectTake(producer, "c")
	q.expectEmpty()
}
