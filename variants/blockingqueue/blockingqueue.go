// Package blockingqueue compares ways in which consumers can wait for the items of a queue.
//
// The promise that all of them must keep: every item that was put is taken, by one consumer and once; a consumer that waits
// while there are items is woken; and items are taken in the order in which they were put, except by matched-ticket. An item that a taker's
// transaction has removed belongs to the taker: if it dies at that moment, the item is lost. That is at most once, as in
// every queue in which a client takes by deleting.
//
//	variant          znodes                               cost of one item with m consumers waiting
//	poll-10ms        <dir>/items/-item-<seq>              m listings each 10 ms until it comes, up to m attempts
//	all-watch        the same                             2m notifications, m attempts of which m-1 fail
//	ephemeral-items  the same, ephemeral                  2m notifications, m attempts of which m-1 fail
//	ticket           those and <dir>/tickets/<guid>-ticket-<seq>  2 notifications, 1 attempt
//	marked-ticket    the same, of which some say "released"  2 notifications, 1 attempt, and one listing less
//	matched-ticket   <dir>/items/-item-<seq> and <dir>/tickets/<guid>-ticket-<seq>  1 notification, 1 attempt
//
// With ephemeral-items, an item that no client has taken is also lost when its producer's session ends.
//
// Beside them each client has an ephemeral znode <dir>/journals/<guid>, which makes its writes exactly-once at no cost:
// see [session.Journal].
package blockingqueue

import (
	"context"
	"embed"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/tickets"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// Queue is one client's view of a queue. Its methods are for one goroutine at a time. After session.ErrSessionLost it is
// unknown whether the item of the last operation was put or taken. A consumer peeks and claims the item that it has seen, and repeats
// both until a claim succeeds.
type Queue interface {
	// Put appends an item; it costs one write. When ctx ends first, the context's error comes back within about a second
	// even from a session that does not answer; the item is then removed, unless a consumer was faster.
	Put(ctx context.Context, data []byte) (Item, error)
	// AwaitTaken returns when an item that this client has put is gone, or stands at another place, so that a producer can keep pace
	// with its consumers. It costs one read, or one and a notification.
	AwaitTaken(ctx context.Context, item Item) error
	// Peek waits for an item and returns one that seems to be free, without taking it. When ctx ends first, the client
	// withdraws and the context's error comes back within about a second even from a session that does not answer.
	Peek(ctx context.Context) (Item, error)
	// Claim takes an item that Peek has returned; false means that another client has it. A claim that has been sent is
	// not given up when ctx ends, because its item might be lost: it ends with the answer or with the session.
	Claim(ctx context.Context, item Item) (bool, error)
	// Leave withdraws a consumer that has peeked and does not want to claim.
	Leave(ctx context.Context) error
}

// Item is one item of a queue.
type Item struct {
	Data  []byte
	place tickets.Ticket // zero for an item that was taken before its producer knew its name
}

// position returns how many items had been put or moved up to and including this one; 0 if its name is unknown.
func (i Item) position() int64 {
	if i.place.Name == "" {
		return 0
	}
	return int64(i.place.Seq) + 1
}

// Recipe returns the blocking queue recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:    "blockingqueue",
		Summary: "consumers wait for items; each is taken once, in order",
		Source:  "Robinson, Building a distributed concurrent queue with Apache ZooKeeper, Blocking reads; ZooKeeper recipes page, Queues",
		Variants: []variants.Variant{
			pollVariant(), allWatchVariant(), ephemeralItemsVariant(), ticketVariant(), markedTicketVariant(), matchedTicketVariant(),
		},
		Phases:      phases(),
		Operation:   phaseTake,
		Workload:    variants.Workload{Collective: true},
		Losses:      []variants.Loss{variants.ItemsLost, variants.ItemsDoubled, variants.Blocked},
		NewObserver: newObserver,
		Code:        code,
		Calls:       []variants.EventKind{putting, claiming},
		Events: []string{
			"begins to put an item", "has put it", "begins to take an item", "claims an item", "has taken it",
			"waits until its items are taken", "knows that its items are taken", "uses items that end with their producer's session",
			"promises no order",
		},
		Bound: variants.Bound{Phase: phaseTake, Writes: "2", Reads: "1", Notifications: "1 (0 for N=1)",
			Why: "A put is a write, of which a consumer that waits is notified; it must read the item, and write to take it " +
				"before others do"},
	}
}
