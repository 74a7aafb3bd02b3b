package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
)

// The intervals that are compared: a long one, and the book's example of an aggressive one.
const (
	slow = time.Second
	fast = 50 * time.Millisecond
)

// Poll is the election in which the candidates ask again and again whether there is a master.
//
//  1. Ask with exists, without a watch, whether <dir>/master is there. If it is, go to 3.
//  2. Create it, ephemeral. If that succeeds, the client leads.
//  3. Wait for the interval, the first time for a random part of it, then go to 1. Candidates that began together would
//     otherwise ask together each time, and the office would be vacant until they do.
//  4. To resign, delete <dir>/master.
//
// The create travels in one multi with a set of <dir>/fence, whose version is the epoch. The delete travels with a check
// of that version, so that it cannot end the term of a successor. Either is one request and one transaction.
//
// Cost: there are no notifications, so no event sets off a herd. Instead each of m candidates sends a request per interval
// T for as long as another client leads: m/T requests per second for nothing, and for a given number of candidates more per
// term the longer the term. So the requests have no bound that depends on N alone. With one client they are exists, create
// and delete. A vacant office goes unnoticed for T/2 on average until a given candidate asks, and for about T/(m+1) until
// the first of m does. Those that asked before that one had created the znode try in vain, once per term at most:
//
//	writes   1 delete + up to N creates, of which up to N-1 fail
//
// A leader that resigns and campaigns again finds the office vacant, while the others wait for their interval to pass:
// candidates may starve. A candidate that polls never comes to rest, so there is no cost in lockstep.
//
// Source: as written, but with a fence and a random first interval: Junqueira and Reed, ZooKeeper, chapter 4, the beginning, as
// what watches replace. "In this case, each backup master generates 20 requests/second".
type Poll struct{ *session.Exclusive }

// NewPoll returns the part of one client in the elections below an existing znode dir, and makes sure that the fence
// exists. The interval must be positive.
func NewPoll(ctx context.Context, s *session.Session, dir string, interval time.Duration) (Poll, error) {
	node := master(s, dir)
	held, err := node.Exclusive(ctx, func(ctx context.Context) (epoch int64, err error) { return poll(ctx, node, interval) })
	return Poll{held}, err
}

func poll(ctx context.Context, node session.FencedNode, interval time.Duration) (epoch int64, err error) {
	for pause := node.Session.Jitter(interval); ; pause = interval {
		taken, _, err := node.Session.Exists(ctx, node.Path)
		if err != nil {
			return 0, err
		}
		if !taken {
			epoch, err := node.Take(ctx)
			if !errors.Is(err, zk.ErrNodeExists) {
				return epoch, err
			}
		}
		if err := node.Session.Sleep(ctx, pause); err != nil {
			return 0, err
		}
	}
}

func pollVariant(interval time.Duration) variants.Variant {
	return variants.Variant{
		Name:    fmt.Sprintf("poll-%s", interval),
		Type:    "Poll",
		Kind:    variants.Naive,
		Summary: fmt.Sprintf("one znode; all candidates ask every %s whether it is there", interval),
		BadAt:   "load and failover at once: a short interval loads the servers while nothing happens, a long one leaves the office vacant",
		Free: variants.Cost{
			Requests: "no bound: more the longer a term (3 for N=1)", Writes: "N+1", FailedWrites: "N-1",
			Notifications: "0", HerdMax: "0",
		},
		Join: exclusion.JoinIn(func(ctx context.Context, s *session.Session, dir string) (Poll, error) {
			return NewPoll(ctx, s, dir, interval)
		}),
	}
}
