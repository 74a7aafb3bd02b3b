// Package priorityqueue compares three ways to take the most urgent item out of a queue to which more urgent ones may come
// at any time.
//
// The promise that all of them must keep: an item whose put was acknowledged is taken, and it is taken once. It is lost if
// its taker dies before it has processed it, as in every queue in which a client takes by deleting. invalidated-list and
// marked-ticket promise in addition, and stale-list does not, that there are no priority inversions:
//
//	An inversion is a take of an item although its taker knew of a more urgent one, which no client had begun to take when
//	the take ended. A taker knows of an item if, before the take began, either its own put of that item was acknowledged,
//	or it began a write (a put or a take), acknowledged since, after the item's put had been acknowledged.
//
// No client can promise more. A read is answered by the client's own server, which may not know yet of other clients'
// puts, so that neither a fresh listing nor a watch that has not fired proves that there is no item more urgent. But the
// reply to a client's own write comes when its server has applied that write and everything before it. A client that must
// not overtake items that are newer than its own last write sends a sync first.
//
//	variant           znodes                                 cost of one take, its put included
//	stale-list        <dir>/queue-<priority>-<seq>           1 get, 1 delete, 2 writes in all; inversions until the list ends
//	invalidated-list  the same                               1 listing more, and 1 notification of its own delete; alone
//	marked-ticket     and <dir>/tickets/<guid>-ticket-<seq>  2 listings, 2 gets, 3 writes, 1 notification; one client at a time
//
// Every write travels in one multi with one to <dir>/journals/<guid>: see [session.Journal].
package priorityqueue

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/tickets"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// Queue is one client's end of a priority queue.
type Queue interface {
	takequeue.Taker
	// Put adds an item. If ctx has ended, the item may have been put nevertheless.
	Put(ctx context.Context, p Priority, data []byte) error
}

// Priority is the urgency of an item: the lower, the more urgent. Among equally urgent items the oldest is next.
type Priority uint8

// LeastUrgent is the highest priority number: an item's name has two digits for it.
const LeastUrgent Priority = 99

// marker starts the names of items; the priority and the sequence number follow.
const marker = "queue-"

func prefix(p Priority) (string, error) {
	if p > LeastUrgent {
		return "", fmt.Errorf("priority %d is over %d", p, LeastUrgent)
	}
	return fmt.Sprintf("%s%02d-", marker, p), nil
}

// parse reads the name of an item; ok is false for a foreign znode.
func parse(name string) (t tickets.Ticket, ok bool) {
	digits, _, _ := strings.Cut(strings.TrimPrefix(name, marker), "-")
	n, err := strconv.ParseUint(digits, 10, 8)
	if err != nil {
		return t, false
	}
	start, err := prefix(Priority(n))
	if err != nil || !strings.HasPrefix(name, start) {
		return t, false
	}
	return tickets.Parse(name, start)
}

func byUrgency(children []string) []tickets.Ticket {
	const digits = len(marker) + 2 // up to here, names are in the order of their priorities
	var found []tickets.Ticket
	for _, name := range children {
		if t, ok := parse(name); ok {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b tickets.Ticket) int {
		return cmp.Or(cmp.Compare(a.Name[:digits], b.Name[:digits]), int(a.Seq-b.Seq))
	})
	return found
}

func put(ctx context.Context, c *takequeue.Client, p Priority, data []byte) error {
	start, err := prefix(p)
	if err != nil {
		return err
	}
	return c.PutNamed(ctx, start, data)
}

// Recipe returns the priority queue recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:        "priorityqueue",
		Summary:     "each item is taken once, the most urgent first",
		Source:      "ZooKeeper recipes page, Priority Queues",
		Variants:    []variants.Variant{staleListVariant(), invalidatedListVariant(), markedTicketVariant()},
		Phases:      phases(),
		Operation:   takequeue.PhaseTake,
		Workload:    variants.Workload{Batch: batch},
		Losses:      []variants.Loss{variants.ItemsLost, variants.ItemsDoubled},
		Events:      takequeue.Events(),
		Calls:       takequeue.Calls(),
		NewObserver: newObserver,
		Code:        code,
		Bound: variants.Bound{Phase: takequeue.PhaseTake, Writes: "2", Reads: "1", Notifications: "0",
			Why: "A put is a write; a take is a write that decides between the takers, after a read, as no listing has the data " +
				"of an item"},
	}
}
