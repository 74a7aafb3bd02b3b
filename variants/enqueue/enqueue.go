// Package enqueue compares three ways to put an item into a queue although replies may be lost.
//
// A create whose reply was lost may have taken effect or not. A search for the item does not show it, because a consumer
// may have taken the item meanwhile. The promise: an item that was enqueued is in the queue (no variant loses one), and,
// for the variants that claim so, consumers see it once.
//
//	variant          znodes                                       writes  after a lost reply
//	blind-retry      <dir>/items/<key>-item-<seq>                 1       a duplicate
//	consumable-flag  the same                                     2       an orphan at worst, which no client consumes
//	guid-marker      the same, and <dir>/markers/<key>            1       nothing
//
// As long as no reply is lost all three keep the promise, and a run measures the cost of their protection. Lost replies are
// the subject of the conformance tests.
package enqueue

import (
	"context"
	"embed"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
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
		Name:        "enqueue",
		Summary:     "an item that was enqueued is in the queue, and once",
		Source:      "Robinson, Building a distributed concurrent queue with Apache ZooKeeper, Failure modes",
		Variants:    []variants.Variant{blindRetryVariant(), consumableFlagVariant(), guidMarkerVariant()},
		Phases:      phases(),
		Operation:   phaseEnqueue,
		CountFrom:   variants.FromStart,
		NeverHolds:  true,
		NewObserver: newObserver,
		Code:        code,
	}
}

// The first byte of an item says whether it may be consumed.
const (
	unready = 0
	ready   = 1
)

// flagged returns the data that is stored for an item.
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
	session *variants.Session
	dir     string // of the items
}

// open creates the directories of a queue below an existing znode dir.
func open(ctx context.Context, session *variants.Session, dir string, subs ...string) (producer, error) {
	dir = path.Clean(dir)
	for _, sub := range append(subs, "items") {
		if err := session.Ensure(ctx, path.Join(dir, sub), nil, 0); err != nil {
			return producer{}, err
		}
	}
	return producer{session, path.Join(dir, "items")}, nil
}

// item returns the request that creates an item.
func (p producer) item(key string, stored []byte) *zk.CreateRequest {
	return &zk.CreateRequest{
		Path: path.Join(p.dir, key+marker), Data: stored, Acl: variants.WorldACL(), Flags: zk.FlagSequence,
	}
}

// create creates an item, in one attempt.
func create(c variants.Conn, r *zk.CreateRequest) (string, error) {
	return c.Create(r.Path, r.Data, r.Flags, r.Acl)
}

// run gives the caller control back when ctx ends. Nothing is undone: the caller should try again.
func (p producer) run(ctx context.Context, op func(context.Context) error) error {
	return p.session.Do(ctx, func(ctx context.Context) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return op(ctx)
	}, nil)
}
