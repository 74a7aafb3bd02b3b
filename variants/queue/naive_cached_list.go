package queue

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/tickets"
)

// CachedList is the queue in which a client lists the items again only when it has exhausted its last list.
//
//  1. To put, create <dir>/item-, persistent and sequential.
//  2. To take, if the list is empty, list <dir>. If there is no item, there is nothing to take.
//  3. Read the first item of the list, and drop it from the list. If it is gone, go to 2.
//  4. Delete it. If it is gone, another client was faster: go to 2.
//
// New items stand behind all existing ones. So an old list is wrong only in that some of its items are gone, and the order
// is kept.
//
// Cost of a lockstep run, in which N clients put k = 10 items each, then take in turn. Each lists once, at its first turn,
// and at each of its k-1 other turns finds that the N-1 items next in its list were taken since:
//
//	requests  per client k puts, 1 listing, k gets, k deletes, and (k-1)(N-1) gets in vain
//	          per take: 3 + 1/k + (N-1)(k-1)/k  =  3.1 + 0.9(N-1)
//
// The variant saves listings of O(items) bytes each; several clients pay for that with reads in vain, which are small. For
// one client that loops freely the cost is the same. With several, each item costs each client at most one get and one
// delete, and each listing of a client has at least one item that the client has not tried:
//
//	requests  at most 1 put + N listings + N gets + N deletes
//	writes    at most 1 + N, of which N-1 fail
//
// Items are taken in the order in which they were put. An item is lost if its taker dies after step 4 and before it has processed the item.
//
// Bound: a take needs one read, which shows the client an item that it may not have put, and then one quorum write, which decides
// between the clients. On this variant's path lie one get and one delete, and a listing for every tenth take of a client alone.
// Between them lie the gets in vain, up to N-1 after each of the others' takes: no client learns what the others have taken, which
// would cost a listing or a notification each time.
//
// Source: as written, but with items that outlive their producer, without a watch, as a take does not wait, and with the journal: ZooKeeper
// recipes page, Queues. There, a client "does not need to issue another getChildren until it exhausts the list".
type CachedList struct{ takequeue.Cached }

// NewCachedList returns one client's end of the queue below an existing znode dir.
func NewCachedList(ctx context.Context, s *session.Session, dir string) (*CachedList, error) {
	q := &CachedList{}
	q.Arrange = func(children []string) []tickets.Ticket { return tickets.Sorted(children, marker) }
	return q, q.Open(ctx, tickets.New(s, dir, marker), q)
}

func cachedListVariant() variants.Variant {
	return variants.Variant{
		Name:    "cached-list",
		Kind:    variants.Naive,
		Summary: "lists the queue again only when its last list is exhausted",
		BadAt: "many clients: each tries every item and finds most of them gone, " +
			"so that requests and failed writes of a take grow with their number",
		Forgoes:  []variants.Loss{variants.ItemsLost},
		Lockstep: variants.Cost{Requests: "3.1 + 0.9(N-1)", Writes: "2", FailedWrites: "0", Notifications: "0", HerdMax: "0"},
		Free:     variants.Cost{Requests: "3N+1 (3.1 for N=1)", Writes: "N+1", FailedWrites: "N-1", Notifications: "0", HerdMax: "0"},
		Join:     join(NewCachedList),
	}
}
