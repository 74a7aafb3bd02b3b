package enqueue

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// GUIDMarker enqueues an item in one transaction with a marker that has its key as name.
//
//  1. In one multi, create <dir>/markers/<key>, create <dir>/items/<key>-item-, sequential, and delete the marker of
//     this producer's previous item.
//  2. If the reply is lost, go to 1. That the marker exists means that the transaction took effect.
//
// The marker stays when the item is consumed: it is the producer's memory, and only the producer knows when it needs it
// no longer. It is persistent, so that even a producer with a new session can find out by trying again. One that dies
// leaves its last marker behind. (The server could remove it after a while, but a znode with a time to live can be
// created in a multi by no released version of this client library.)
//
// Cost of one enqueue: 1 write; a multi is one request and one transaction. The workload's audit (see worker) adds a
// listing, a read and a delete: 4 requests, 2 of them writes, whatever N is, and no notification.
//
// Source: own; idempotency keys as in any other database, made of a multi.
type GUIDMarker struct {
	producer
	markers string
	old     []string // keys whose markers are needed no longer once the next item is in
}

var _ Producer = (*GUIDMarker)(nil)

// NewGUIDMarker returns a producer for a queue below an existing znode dir. lost is closed when the session is.
func NewGUIDMarker(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) (*GUIDMarker, error) {
	p, err := open(ctx, session, dir, lost, "markers")
	return &GUIDMarker{producer: p, markers: path.Join(path.Clean(dir), "markers")}, err
}

// Enqueue implements [Producer].
func (q *GUIDMarker) Enqueue(ctx context.Context, key string, data []byte) error {
	return q.run(ctx, func(ctx context.Context) error {
		err := variants.Retry(ctx, q.lost, func() error {
			_, err := q.session.Multi(q.transaction(key, data)...)
			if errors.Is(err, zk.ErrNoNode) && len(q.old) > 0 { // somebody has tidied up the old markers
				q.old = nil
				_, err = q.session.Multi(q.transaction(key, data)...)
			}
			return err
		})
		switch {
		case err == nil:
			q.old = []string{key}
		case errors.Is(err, zk.ErrNodeExists):
			q.old = []string{key} // the attempt that took effect has deleted the others
		default:
			return fmt.Errorf("create item %s: %w", key, err)
		}
		return nil
	})
}

func (q *GUIDMarker) transaction(key string, data []byte) []any {
	ops := []any{
		&zk.CreateRequest{Path: path.Join(q.markers, key), Acl: variants.WorldACL()},
		q.item(key, flagged(ready, data)),
	}
	for _, old := range q.old {
		if old != key {
			ops = append(ops, &zk.DeleteRequest{Path: path.Join(q.markers, old), Version: -1})
		}
	}
	return ops
}

// Leave implements [Producer].
func (q *GUIDMarker) Leave(ctx context.Context) error {
	return q.run(ctx, func(ctx context.Context) error {
		for _, key := range q.old {
			err := variants.Retry(ctx, q.lost, func() error {
				return q.session.Delete(path.Join(q.markers, key), -1)
			})
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				return fmt.Errorf("delete the marker of item %s: %w", key, err)
			}
		}
		q.old = nil
		return nil
	})
}

func guidMarkerVariant() variants.Variant {
	return variants.Variant{
		Name:     "guid-marker",
		Type:     "GUIDMarker",
		Kind:     variants.Optimized,
		Summary:  "one transaction creates the item and a marker named by its key",
		Source:   "own: an idempotency key made of a multi",
		BadAt:    "producers that come and go: each that dies leaves a marker, which somebody else has to tidy up",
		Lockstep: costs("4", "2"),
		Free:     costs("4", "2"),
		Join: join(enqueuingOnce, func(ctx context.Context, s variants.Session, env variants.Env) (Producer, error) {
			return NewGUIDMarker(ctx, s, env.Root, env.Lost)
		}),
	}
}
