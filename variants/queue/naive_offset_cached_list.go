package queue

import (
	"context"
	"slices"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/tickets"
)

// OffsetCachedList is the queue in which each client starts at another place in its list.
//
//  1. To put, create <dir>/item-, persistent and sequential.
//  2. To take, if the list is empty, list <dir>, and rotate the list so that it begins with the client's share of the way
//     from the lowest sequence number to the highest. If there is no item, there is nothing to take.
//  3. Read the first item of the list, and drop it from the list. If it is gone, go to 2.
//  4. Delete it. If it is gone, another client was faster: go to 2.
//
// Cost of a lockstep run, in which N clients put k = 10 items each, then take in turn. Client i > 0 lists when items 0, k,
// 2k … are gone, and starts at 1 + ⌊(Nk-1)i/N⌋ = ik: so each takes k items that no other client tries.
//
//	requests  per take 1 put, 1/k listings, 1 get and 1 delete  =  3.1
//
// When clients loop freely, lists are made at different times and so overlap; the bounds of [CachedList] apply.
//
// There is no order: an item is taken when a client's list comes to it, and while items are put faster than they are
// taken, the last one that was put may be taken first. An item is lost if its taker dies after step 4 and before it has processed the item.
//
// Bound: a take needs one read, which shows the client an item that it may not have put, and then one quorum write, which decides
// between the clients. On this variant's path lie one get and one delete, and a listing for every tenth take. Nothing else lies
// between them unless the clients' lists overlap.
//
// Source: ours: derived from the list of the ZooKeeper recipes page, Queues; the different starts are in no source.
type OffsetCachedList struct {
	takequeue.Cached
	// Share is where in its lists the client starts, from 0 up to but not including 1, such as a hash of its name. It must
	// not be changed after the first Take.
	Share float64
}

// NewOffsetCachedList returns one client's end of the queue below an existing znode dir. With its share still zero it
// starts at the head.
func NewOffsetCachedList(ctx context.Context, s *session.Session, dir string) (*OffsetCachedList, error) {
	q := &OffsetCachedList{}
	q.Arrange = func(children []string) []tickets.Ticket { return q.turn(tickets.Sorted(children, marker)) }
	return q, q.Open(ctx, tickets.New(s, dir, marker), q)
}

// turn rotates a list so that it begins with the client's share. It computes with sequence numbers instead of places in
// the list, so that clients agree on the shares although other takes make their lists differ.
func (q *OffsetCachedList) turn(listed []tickets.Ticket) []tickets.Ticket {
	if len(listed) == 0 {
		return nil
	}
	lowest, highest := listed[0].Seq, listed[len(listed)-1].Seq
	start := tickets.Ticket{Seq: lowest + int32(q.Share*float64(highest-lowest+1))}
	i := slices.IndexFunc(listed, func(t tickets.Ticket) bool { return !t.Before(start) })
	return append(listed[i:len(listed):len(listed)], listed[:i]...)
}

func offsetCachedListVariant() variants.Variant {
	v := cachedListVariant()
	v.Name = "offset-cached-list"
	v.Summary = "a cached list in which each client starts at another place"
	v.BadAt = "order: an item may be taken long after one that was put later; and many clients, " +
		"as far as their lists overlap: requests and failed writes of a take then grow with their number"
	v.Lockstep.Requests = "3.1"
	v.Join = variants.JoinBy(func(ctx context.Context, env variants.Env) (Queue, error) {
		env.Record(takequeue.Unordered, 0)
		q, err := NewOffsetCachedList(ctx, env.Session, env.Root)
		q.Share = float64(env.Index) / float64(env.Clients)
		return q, err
	}, newWorker)
	return v
}
