package blockingqueue

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// pollInterval is how long a consumer that has found no item pauses.
const pollInterval = 10 * time.Millisecond

// Poll is the queue whose consumers list the items again and again until there is one.
//
//  1. To put, create <dir>/items/-item-, sequential.
//  2. To take, list <dir>/items, without a watch. If there is no item, pause for the interval, the first time for a random part of it, and
//     list again. Consumers that began together would otherwise list together each time.
//  3. Read the first item of the listing. If it is gone, continue with the next.
//  4. Delete it. If it is gone, another client has taken it: continue with the next one in 3.
//  5. If none is left, go to 2.
//
// As in [AllWatch] puts and deletes carry a write to the client's journal.
//
// Cost: consumers set no watches, so that an item wakes none. Instead each of m consumers that wait sends a request per interval T:
// m/T requests per second for nothing, and for a given number of consumers more per item the rarer items are. So the requests have no bound
// that depends on N alone. With one client they are the put, a listing, a read and a delete. An item goes unnoticed for T/(m+1) on
// average. The consumers that have listed the item before it is gone all try to take it:
//
//	writes  1 put + up to N-1 deletes, of which up to N-2 fail
//
// The producer's check whether its last round has been taken (see worker) adds up to one request and one notification per round. A
// consumer that polls never comes to rest, so there is no cost in lockstep.
//
// An item is lost if its taker dies or its session is lost before it knows the outcome of its claim. A client that dies keeps no other
// one from an item.
//
// Source: as written, but with a pause after a listing without items, a GUID in the item's name and a journal: Robinson, Building a
// distributed concurrent queue with Apache ZooKeeper, Blocking reads, which mentions it as what watches replace.
type Poll struct {
	scan
	began bool // it has paused before
}

// NewPoll returns one client's view of a queue below an existing znode dir.
func NewPoll(ctx context.Context, s *session.Session, dir string) (*Poll, error) {
	c, err := open(ctx, s, dir)
	q := &Poll{scan: scan{client: c}}
	q.refill = q.poll
	return q, err
}

func (q *Poll) poll(ctx context.Context) ([]tickets.Ticket, error) {
	children, err := q.items.List(ctx)
	if err != nil {
		return nil, session.Attempted("list "+q.items.Dir, err)
	}
	found := tickets.Sorted(children, itemMarker)
	if len(found) > 0 {
		return found, nil
	}
	pause := pollInterval
	if !q.began {
		q.began, pause = true, q.session.Jitter(pollInterval)
	}
	return nil, q.session.Sleep(ctx, pause)
}

func pollVariant() variants.Variant {
	return variants.Variant{
		Name:    fmt.Sprintf("poll-%s", pollInterval),
		Type:    "Poll",
		Kind:    variants.Naive,
		Summary: fmt.Sprintf("consumers list the items every %s", pollInterval),
		BadAt:   "consumers that wait: each loads the servers while nothing happens, and an item waits for the next listing",
		Forgoes: []variants.Loss{variants.ItemsLost},
		Free: variants.Cost{
			Requests: "no bound: more the rarer items are (4 for N=1)", Writes: "N (2 for N=1)", FailedWrites: "N-2 (0 for N=1)",
			Notifications: "1/(N-1) (0 for N=1)", HerdMax: "1 (0 for N=1)",
		},
		Join: join(NewPoll, false),
	}
}
