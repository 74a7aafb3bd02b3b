// Package enqueue compares three ways to put an item into a queue although replies may be lost.
//
// A create whose reply was lost may have taken effect or not, and a look whether the item is there does not tell: a
// consumer may have taken it meanwhile. The promise: an item that was enqueued is in the queue (no variant loses one),
// and, for the variants that claim so, consumers see it once.
//
//	variant          znodes                                       writes  after a lost reply
//	blind-retry      <dir>/items/<key>-item-<seq>                 1       a duplicate
//	consumable-flag  the same                                     2       an orphan at worst, which nobody consumes
//	guid-marker      the same, and <dir>/markers/<key>            1       nothing
//
// As long as no reply is lost all three keep the promise; what their protection costs is what a run measures. What
// happens to lost replies is tested rather than measured: see the conformance tests.
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
	// Enqueue appends an item. key is the caller's name for it, such as a GUID, and is used for no other item. Whether
	// the item was enqueued is not known after an error: call Enqueue again with the same key. When ctx ends first, its
	// error comes back within about a second even from a session that does not answer.
	Enqueue(ctx context.Context, key string, data []byte) error
	// Leave removes what the producer needed in order to recover, and nothing that is in the queue.
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
		Spans:       spans,
		Operation:   phaseEnqueue,
		CountFrom:   variants.FromStart,
		Check:       check,
		CheckPrefix: check,
		Code:        code,
	}
}

// The first byte of an item tells whether it may be consumed.
const (
	unready = 0
	ready   = 1
)

// flagged returns what is stored for an item.
func flagged(flag byte, data []byte) []byte { return append([]byte{flag}, data...) }

// Consumable returns the data of an item as it is stored; false if it may not be consumed (yet). Consumers of all
// variants read items by it.
func Consumable(stored []byte) ([]byte, bool) {
	if len(stored) == 0 || stored[0] != ready {
		return nil, false
	}
	return stored[1:], true
}

// producer is what the variants share. They differ in how they write.
type producer struct {
	session variants.Session
	lost    <-chan struct{}
	lane    variants.Lane
	dir     string // of the items
}

// open makes the directories of a queue below an existing znode dir.
func open(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}, subs ...string) (producer, error) {
	dir = path.Clean(dir)
	for _, sub := range append(subs, "items") {
		if err := variants.Ensure(ctx, session, lost, path.Join(dir, sub), 0); err != nil {
			return producer{}, err
		}
	}
	return producer{session, lost, variants.NewLane(), path.Join(dir, "items")}, nil
}

// item is the request that creates an item.
func (p producer) item(key string, stored []byte) *zk.CreateRequest {
	return &zk.CreateRequest{
		Path: path.Join(p.dir, key+marker), Data: stored, Acl: variants.WorldACL(), Flags: zk.FlagSequence,
	}
}

// create creates an item once, whatever becomes of the reply.
func (p producer) create(r *zk.CreateRequest) (string, error) {
	return p.session.Create(r.Path, r.Data, r.Flags, r.Acl)
}

// run gives the caller control back when ctx ends. There is nothing to undo: the caller is to try again.
func (p producer) run(ctx context.Context, op func(context.Context) error) error {
	return variants.Do(ctx, p.lane, func(ctx context.Context) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return op(ctx)
	}, nil)
}
