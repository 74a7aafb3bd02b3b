package enqueue

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// ConsumableFlag enqueues in two phases: the item is first created, then marked as consumable.
//
//  1. Create <dir>/items/<key>-item-, sequential, with a flag in its data that keeps consumers from taking it.
//  2. If the reply is lost, sync and look for the key among the items. It is there if it was ever created, because
//     nobody may take it. If it is not there, go to 1.
//  3. Set the flag, expecting the version of a new znode.
//  4. If the reply is lost, do 3 again. That the version is another one, or the item is gone, means that it was set.
//
// A producer that dies between the two leaves an item that is never consumed. Consumers have to read each item to see
// whether they may take it, and those that wait need a watch on its data, too: a watch on the directory fires when the
// item is created, not when it is marked.
//
// Cost of one enqueue: 2 writes. The workload's audit (see worker) adds a listing, a read and a delete: 5 requests, 3 of
// them writes, whatever N is, and no notification.
//
// Source: Robinson, Building a distributed concurrent queue with Apache ZooKeeper, Failure modes, two-phase protocol.
type ConsumableFlag struct {
	producer
	begun   string // the key of an item that may have been created
	created string // and its path, as soon as that is known
}

var _ Producer = (*ConsumableFlag)(nil)

// NewConsumableFlag returns a producer for a queue below an existing znode dir. lost is closed when the session is.
func NewConsumableFlag(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) (*ConsumableFlag, error) {
	p, err := open(ctx, session, dir, lost)
	return &ConsumableFlag{producer: p}, err
}

// Enqueue implements [Producer]. Only the last key can be tried again.
func (q *ConsumableFlag) Enqueue(ctx context.Context, key string, data []byte) error {
	return q.run(ctx, func(ctx context.Context) error {
		if q.begun != key {
			q.begun, q.created = "", ""
		}
		if err := q.ensure(ctx, key, data); err != nil {
			return fmt.Errorf("create item %s: %w", key, err)
		}
		if err := q.mark(ctx, data); err != nil {
			return fmt.Errorf("mark item %s: %w", key, err)
		}
		return nil
	})
}

// ensure creates the item, unless it is there.
func (q *ConsumableFlag) ensure(ctx context.Context, key string, data []byte) error {
	if q.created != "" {
		return nil
	}
	return variants.Retry(ctx, q.lost, func() error {
		if q.begun == key {
			if err := q.find(key); err != nil || q.created != "" {
				return err
			}
		}
		q.begun = key
		created, err := q.create(q.item(key, flagged(unready, data)))
		q.created = created
		return err
	})
}

// find looks for an item that may have been created. The sync matters where the session was re-attached to a server
// that lags behind.
func (q *ConsumableFlag) find(key string) error {
	if _, err := q.session.Sync(q.dir); err != nil {
		return err
	}
	names, _, err := q.session.Children(q.dir)
	for _, name := range names {
		if strings.HasPrefix(name, key+marker) {
			q.created = path.Join(q.dir, name)
		}
	}
	return err
}

func (q *ConsumableFlag) mark(ctx context.Context, data []byte) error {
	err := variants.Retry(ctx, q.lost, func() error {
		_, err := q.session.Set(q.created, flagged(ready, data), 0)
		return err
	})
	if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) {
		return nil // an earlier attempt did it
	}
	return err
}

// Leave implements [Producer].
func (q *ConsumableFlag) Leave(context.Context) error { return nil }

func consumableFlagVariant() variants.Variant {
	return variants.Variant{
		Name:     "consumable-flag",
		Type:     "ConsumableFlag",
		Kind:     variants.Naive,
		Summary:  "create the item, then mark it as consumable",
		Source:   "Robinson, Failure modes, two-phase protocol",
		BadAt:    "cost: two quorum writes for each item, one after the other, and a second watch for consumers that wait",
		Lockstep: costs("5", "3"),
		Free:     costs("5", "3"),
		Join: join(enqueuingOnce, func(ctx context.Context, s variants.Session, env variants.Env) (Producer, error) {
			return NewConsumableFlag(ctx, s, env.Root, env.Lost)
		}),
	}
}
