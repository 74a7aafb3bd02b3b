package enqueue

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// GUIDMarker enqueues an item in one transaction with a marker that has its key as name.
//
//  1. In one multi, create <dir>/markers/<key>, create <dir>/items/<key>-item-, sequential, and delete the marker of
//     this producer's previous item.
//  2. If the reply is lost, go to 1. If the marker exists then, the transaction has taken effect.
//
// The marker stays when the item is consumed, because only the producer knows how long it needs the marker. It is
// persistent, so that a producer with a new session finds it, too, when it tries again. A producer that dies leaves its last
// marker behind. (A znode with a time to live would be removed by the server, but no released version of this client
// library can create one in a multi.)
//
// Cost of one enqueue: 1 write; a multi is one request and one transaction. The workload's audit (see worker) adds a
// listing, a read and a delete: 4 requests, 2 of them writes, for every N, and no notification.
//
// Bound: a producer cannot know that its item is in the queue before one quorum write has been answered, and one lies on the path of
// the enqueue phase. Markers and item commit in the same transaction, and the marker of the previous item is removed on the way.
//
// Source: ours: an idempotency key, as other databases have it, made of a multi.
type GUIDMarker struct {
	producer
	markers string
	old     string // the key whose marker is obsolete once the next item is in the queue; empty if there is none
}

// NewGUIDMarker returns a producer for a queue below an existing znode dir.
func NewGUIDMarker(ctx context.Context, s *session.Session, dir string) (*GUIDMarker, error) {
	p, err := open(ctx, s, dir)
	q := &GUIDMarker{producer: p, markers: path.Join(dir, "markers")}
	if err == nil {
		err = s.Ensure(ctx, q.markers, nil, 0)
	}
	return q, err
}

// Enqueue implements [Producer].
func (q *GUIDMarker) Enqueue(ctx context.Context, key string, data []byte) error {
	return q.session.DoWhileAlive(ctx, func(ctx context.Context) error {
		_, _, err := q.session.Multi(ctx, q.transaction(key, data)...)
		if errors.Is(err, zk.ErrNoNode) && q.old != "" { // another client has removed the old marker
			q.old = ""
			_, _, err = q.session.Multi(ctx, q.transaction(key, data)...)
		}
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("create item %s: %w", key, err)
		}
		q.old = key // the attempt that took effect has deleted the other
		return nil
	}, nil)
}

func (q *GUIDMarker) transaction(key string, data []byte) []any {
	ops := []any{&zk.CreateRequest{Path: path.Join(q.markers, key)}, q.item(key, flagged(ready, data))}
	if q.old != "" && q.old != key {
		ops = append(ops, &zk.DeleteRequest{Path: path.Join(q.markers, q.old), Version: -1})
	}
	return ops
}

// Leave implements [Producer].
func (q *GUIDMarker) Leave(ctx context.Context) error {
	return q.session.DoWhileAlive(ctx, func(ctx context.Context) error {
		if q.old == "" {
			return nil
		}
		if err := q.session.Discard(ctx, path.Join(q.markers, q.old)); err != nil {
			return err
		}
		q.old = ""
		return nil
	}, nil)
}

func guidMarkerVariant() variants.Variant {
	return variants.Variant{
		Name:     "guid-marker",
		Kind:     variants.Optimized,
		Summary:  "one transaction creates the item and a marker named by its key",
		BadAt:    "short-lived producers: each that dies leaves a marker, which another client has to remove",
		Forgoes:  []variants.Loss{variants.Orphans},
		Lockstep: costs("4", "2"),
		Free:     costs("4", "2"),
		Join:     join(enqueuingOnce, NewGUIDMarker),
	}
}
