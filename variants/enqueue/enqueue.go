// Package enqueue compares ways to put an item into a queue although replies may be lost.
//
// A create whose reply was lost may have taken effect or not. A search for the item does not show it, because a consumer
// may have taken the item meanwhile. The promise: an item that was enqueued is in the queue (no variant loses one), and,
// for the variants that claim so, consumers see it once.
//
//	variant          znodes                                       writes  after a lost reply
//	session-per-put  <dir>/items/<key>-item-<seq>                 3       a duplicate
//	blind-retry      the same                                     1       a duplicate
//	consumable-flag  the same                                     2       an orphan of a producer that dies, which no client consumes
//	guid-marker      the same, and <dir>/markers/<key>            1       the marker of a producer that dies
//
// As long as no reply is lost all of them keep the promise, and a run measures the cost of their protection.
//
// The writes are the ones on the critical path of one enqueue; the opening and the closing of a session are a write each.
//
// The promise is made to a producer that tries again within its session. When the session is lost, it is unknown whether the
// last item was enqueued. A producer that tries again with a new session enqueues the item a second time with session-per-put and
// blind-retry, and with consumable-flag if it had been marked. With guid-marker the item is enqueued once, also if two producers try
// at the same time, as long as its marker stands: until the producer that has enqueued it enqueues its next item, or leaves.
package enqueue

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// marker is in the names of items, between the key and the number.
const marker = "-item-"

// Producer puts items into a queue. Its methods may be called concurrently and then run one after another.
type Producer interface {
	// Enqueue appends an item. key is the caller's name for it, such as a GUID, and is used for no other item. After an
	// error it is unknown whether the item was enqueued: call Enqueue again with the same key. When ctx ends first, its
	// error comes back within about a second even from a session that does not answer.
	Enqueue(ctx context.Context, key string, data []byte) error
	// Leave removes the znodes that the producer needed in order to recover. It removes no item.
	Leave(ctx context.Context) error
}

// Recipe returns the enqueue recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:    "enqueue",
		Summary: "an item that was enqueued is in the queue, and once",
		Source: "Robinson, Building a distributed concurrent queue with Apache ZooKeeper, Failure modes; " +
			"kropponline, My 1st ZooKeeper Recipe: Distributed Queue with Locking",
		Variants:  []variants.Variant{sessionPerPutVariant(), blindRetryVariant(), consumableFlagVariant(), guidMarkerVariant()},
		Phases:    phases(),
		Operation: phaseEnqueue,
		Workload:  variants.Workload{NeverHolds: true},
		Losses:    []variants.Loss{variants.ItemsDoubled, variants.ItemsLost, variants.Orphans},
		Orphans:   orphans,
		Events: []string{
			"enqueues an item, perhaps twice", "enqueues an item once", "has enqueued it", "finds a copy", "has counted its copies",
		},
		Calls:       []variants.EventKind{enqueuing, enqueuingOnce},
		NewObserver: newObserver,
		Code:        code,
		Bound: variants.Bound{Phase: phaseEnqueue, Writes: "2", Reads: "2", Notifications: "0",
			Why: "To enqueue an item is a write; the others, a listing, a read and a delete, are the audit of the workload"},
	}
}

// The first byte of an item says whether it may be consumed.
const (
	unready = 0
	ready   = 1
)

func flagged(flag byte, data []byte) []byte { return append([]byte{flag}, data...) }

// Consumable returns the data of a stored item; false if the item may not be consumed (yet). Consumers of all variants read
// items with it.
func Consumable(stored []byte) ([]byte, bool) {
	if len(stored) == 0 || stored[0] != ready {
		return nil, false
	}
	return stored[1:], true
}

// producer is the common part of the variants. They differ in how they write.
type producer struct {
	session *session.Session
	dir     string // of the items
}

// Leave is for the variants that leave nothing behind.
func (producer) Leave(context.Context) error { return nil }

func open(ctx context.Context, s *session.Session, dir string) (producer, error) {
	p := producer{s, path.Join(dir, "items")}
	return p, s.Ensure(ctx, p.dir, nil, 0)
}

func (p producer) item(key string, stored []byte) *zk.CreateRequest {
	return &zk.CreateRequest{Path: path.Join(p.dir, key+marker), Data: stored, Flags: zk.FlagSequence}
}

func create(c session.Conn, r *zk.CreateRequest) (string, error) {
	return c.Create(r.Path, r.Data, r.Flags, r.Acl)
}

// put creates an item that may be consumed, in one of the producer's sessions and again until a reply comes.
func (p producer) put(ctx context.Context, s *session.Session, key string, data []byte) error {
	_, err := s.Retry(ctx, func(c session.Conn) error {
		_, err := create(c, p.item(key, flagged(ready, data)))
		return err
	})
	return session.Attempted("create item "+key, err)
}

// orphans counts the markers, and the items that can never be consumed. Other items that are left wait for a consumer.
func orphans(ctx context.Context, env variants.Env) (int64, error) {
	if err := env.Session.Sync(ctx, env.Root); err != nil {
		return 0, fmt.Errorf("sync: %w", err)
	}
	markers, _, err := env.Session.Children(ctx, path.Join(env.Root, "markers"))
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return 0, fmt.Errorf("list markers: %w", err)
	}
	found := int64(len(markers))
	dir := path.Join(env.Root, "items")
	names, _, err := env.Session.Children(ctx, dir)
	if err != nil {
		return 0, fmt.Errorf("list items: %w", err)
	}
	for _, name := range names {
		stored, _, err := env.Session.Get(ctx, path.Join(dir, name))
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", name, err)
		}
		if _, ok := Consumable(stored); !ok {
			found++
		}
	}
	return found, nil
}
