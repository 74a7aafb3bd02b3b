package priorityqueue

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/tickets"
)

// StaleList is the priority queue in which a client lists the items again only when it has exhausted its last list.
//
//  1. To put, create <dir>/queue-<priority>-, persistent and sequential, with a priority of two digits.
//  2. To take, if the list is empty, list <dir>, the lowest priority first and then the lowest sequence number. If there
//     is no item, there is nothing to take.
//  3. Read the first item of the list, and drop it from the list. If it is gone, go to 2.
//  4. Delete it. If it is gone, another client was faster: go to 2.
//
// That is right where new items always stand behind old ones. Here an item that is more urgent than the rest of the list
// waits until the list is exhausted: each take until then is a priority inversion.
//
// Cost of a lockstep run, in which N clients put k-1 = 9 ordinary items each, then take a = 4 each, in turn, then put one
// urgent item each, then take the other k-a. Each lists once, at its first turn, when all items are ordinary; at each of
// its turns 2 to k-1 the N-1 items next in its list have been taken since. At its last turn client i finds the rest of
// its list, N-1-i items, gone, and lists again:
//
//	gets in vain  N(N-1)(k-2) + N(N-1)/2 for Nk takes  =  0.85(N-1) per take
//	requests      and 1 put, 2/k listings, 1 get and 1 delete  =  3.2 + 0.85(N-1)
//	inversions    at each of the turns a+1 to k-1 of each client  =  0.5 per take
//
// For one client that loops freely the cost is the same. With several, each item costs each client at most one get and one
// delete, and each listing of a client has at least one item that the client has not tried:
//
//	requests  at most 1 put + N listings + N gets + N deletes
//	writes    at most 1 + N, of which N-1 fail
//
// An item is lost if its taker dies after step 4 and before it has processed the item.
//
// Source: as written, but a client that finds an item gone goes on with its list, where the source drops the list, and with the
// journal: kazoo's Queue. It keeps its list although its items have priorities.
type StaleList struct{ takequeue.Cached }

// NewStaleList returns one client's end of the queue below an existing znode dir.
func NewStaleList(ctx context.Context, s *session.Session, dir string) (*StaleList, error) {
	q := &StaleList{}
	q.Arrange = byUrgency
	return q, q.Open(ctx, tickets.New(s, dir, marker), q)
}

// Put implements [Queue].
func (q *StaleList) Put(ctx context.Context, p Priority, data []byte) error {
	return put(ctx, &q.Client, p, data)
}

func staleListVariant() variants.Variant {
	return variants.Variant{
		Name:     "stale-list",
		Kind:     variants.Naive,
		Summary:  "takes from a list of items until it is exhausted, without regard to newer items",
		BadAt:    "urgent items, its very purpose: one waits until the takers' old lists are exhausted",
		Forgoes:  []variants.Loss{variants.ItemsLost},
		Lockstep: variants.Cost{Requests: "3.2 + 0.85(N-1)", Writes: "2", FailedWrites: "0", Notifications: "0", HerdMax: "0"},
		Free:     variants.Cost{Requests: "3N+1 (3.2 for N=1)", Writes: "N+1", FailedWrites: "N-1", Notifications: "0", HerdMax: "0"},
		Join: variants.JoinBy(func(ctx context.Context, env variants.Env) (Queue, error) {
			env.Record(takequeue.Unordered, 0)
			return NewStaleList(ctx, env.Session, env.Root)
		}, newWorker),
	}
}
