package enqueue

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// ConsumableFlag enqueues in two phases: the item is first created, then marked as consumable.
//
//  1. Create <dir>/items/<key>-item-, sequential, with a flag in its data that keeps consumers from taking it.
//  2. If the reply is lost, sync and look for the key among the items. An item that was created is still there, because
//     no client may take it yet. If it is not there, go to 1.
//  3. Set the flag, expecting the version of a new znode.
//  4. If the reply is lost, repeat 3. Another version, or an item that is gone, shows that the flag was set.
//
// The source sets the flag when the producer "is sure it is in the queue", and does not say how it knows after a lost reply: the
// key in the name is ours. So is the expected version, without which a repeated 3 would write the data once more.
//
// A producer that dies between the two leaves an item that is never consumed. Consumers have to read each item to see
// whether they may take it, and those that wait need a watch on its data, too: a watch on the directory fires when the
// item is created, not when it is marked.
//
// Cost of one enqueue: 2 writes. The workload's audit (see worker) adds a listing, a read and a delete: 5 requests, 3 of
// them writes, for every N, and no notification.
//
// Bound: a producer cannot know that its item is in the queue before one quorum write has been answered; two lie on the path of the
// enqueue phase here. Between them lies the reply to the first, which names the item to be marked. [GUIDMarker] needs no second write, as
// its marker commits together with the item.
//
// Source: as written, but with a key in the item's name and an expected version of the data: Robinson, Building a distributed concurrent
// queue with Apache ZooKeeper, Failure modes, two-phase protocol.
type ConsumableFlag struct {
	producer
	begun   string // the key of an item that may have been created
	created string // the path of this item; empty until it is known
}

// NewConsumableFlag returns a producer for a queue below an existing znode dir.
func NewConsumableFlag(ctx context.Context, s *session.Session, dir string) (*ConsumableFlag, error) {
	p, err := open(ctx, s, dir)
	return &ConsumableFlag{producer: p}, err
}

// Enqueue implements [Producer]. A caller may try again with the last key only.
func (q *ConsumableFlag) Enqueue(ctx context.Context, key string, data []byte) error {
	return q.session.DoWhileAlive(ctx, func(ctx context.Context) error {
		if q.begun != key {
			q.begun, q.created = "", ""
		}
		if err := q.ensure(ctx, key, data); err != nil {
			return fmt.Errorf("create item %s: %w", key, err)
		}
		return session.Attempted("mark item "+key, q.mark(ctx, data))
	}, nil)
}

func (q *ConsumableFlag) ensure(ctx context.Context, key string, data []byte) error {
	if q.created != "" {
		return nil
	}
	_, err := q.session.Retry(ctx, func(c session.Conn) error {
		if q.begun == key {
			if err := q.find(c, key); err != nil || q.created != "" {
				return err
			}
		}
		q.begun = key
		created, err := create(c, q.item(key, flagged(unready, data)))
		q.created = created
		return err
	})
	return err
}

// find looks for an item that may have been created. The sync matters where the session was re-attached to a server
// that lags behind.
func (q *ConsumableFlag) find(c session.Conn, key string) error {
	if _, err := c.Sync(q.dir); err != nil {
		return err
	}
	names, _, err := c.Children(q.dir)
	for _, name := range names {
		if strings.HasPrefix(name, key+marker) {
			q.created = path.Join(q.dir, name)
		}
	}
	return err
}

func (q *ConsumableFlag) mark(ctx context.Context, data []byte) error {
	_, err := q.session.Set(ctx, q.created, flagged(ready, data), 0)
	if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) {
		return nil // an earlier attempt has set it
	}
	return err
}

func consumableFlagVariant() variants.Variant {
	return variants.Variant{
		Name:     "consumable-flag",
		Kind:     variants.Optimized,
		Summary:  "create the item, then mark it as consumable",
		BadAt:    "cost: two quorum writes for each item, one after the other, and a second watch for consumers that wait",
		Forgoes:  []variants.Loss{variants.Orphans},
		Lockstep: costs("5", "3"),
		Free:     costs("5", "3"),
		Join:     join(enqueuingOnce, NewConsumableFlag),
	}
}
