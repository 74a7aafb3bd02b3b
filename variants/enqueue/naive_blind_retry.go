package enqueue

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// BlindRetry enqueues by creating the item until a reply comes.
//
//  1. Create <dir>/items/<key>-item-, sequential.
//  2. If the reply is lost, go to 1.
//
// Each reply that is lost after the create has taken effect leaves one more copy of the item.
//
// Cost of one enqueue: 1 write. The workload's audit (see worker) adds a listing, a read and a delete: 4 requests, 2 of
// them writes, for every N, and no notification.
//
// Source: as written, but with the caller's key in the item's name: Robinson, Building a distributed concurrent queue with Apache
// ZooKeeper, Failure modes, first approach. The workload's audit finds the copies by the key.
type BlindRetry struct{ producer }

// NewBlindRetry returns a producer for a queue below an existing znode dir.
func NewBlindRetry(ctx context.Context, s *session.Session, dir string) (*BlindRetry, error) {
	p, err := open(ctx, s, dir)
	return &BlindRetry{p}, err
}

// Enqueue implements [Producer].
func (q *BlindRetry) Enqueue(ctx context.Context, key string, data []byte) error {
	return q.session.DoWhileAlive(ctx, func(ctx context.Context) error { return q.put(ctx, q.session, key, data) }, nil)
}

func blindRetryVariant() variants.Variant {
	return variants.Variant{
		Name:     "blind-retry",
		Kind:     variants.Naive,
		Summary:  "create the item again until a reply comes",
		BadAt:    "lost replies: each may leave another copy of the item",
		Forgoes:  []variants.Loss{variants.ItemsDoubled},
		Lockstep: costs("4", "2"),
		Free:     costs("4", "2"),
		Join:     join(enqueuing, NewBlindRetry),
	}
}

// An enqueue neither waits nor fails.
func costs(requests, writes variants.Formula) variants.Cost {
	return variants.Cost{Requests: requests, Writes: writes, FailedWrites: "0", Notifications: "0", HerdMax: "0"}
}
