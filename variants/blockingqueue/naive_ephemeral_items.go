package blockingqueue

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// EphemeralItems is the queue of the ZooKeeper recipes page: items are ephemeral, and a consumer works off a listing before it lists again.
//
//  1. To put, create <dir>/items/-item-, sequential and ephemeral.
//  2. To take, list <dir>/items and set a watch on it, unless items are left of the last listing. If there is no item, wait for the
//     watch, then list again.
//  3. Read the item with the lowest number of the listing. If it is gone, continue with the next.
//  4. Delete it. If it is gone, another client has taken it: continue with the next one in 3.
//  5. If none is left, go to 2. After a take, the rest of the listing is for the next one.
//
// As in [AllWatch] puts and deletes carry a write to the client's journal. An item ends with the session of its producer: what it has put
// and no client has taken is lost when it dies, loses its session, or leaves.
//
// Cost of one item in a lockstep run, where items come one by one, so that no listing has two: as with [AllWatch]. When clients
// loop freely, the bounds of [AllWatch] apply, too: a consumer reads and tries to delete each item at most once, and lists at
// most once for each put and each delete.
//
// An item is also lost if its taker dies or its session is lost before it knows the outcome of its claim. A client that dies keeps no
// other one from an item that is there.
//
// Source: as written, but with a GUID in the item's name and a journal: ZooKeeper recipes page, Queues. That an item is read
// and deleted, and the next one tried if it is gone, is ours: the page says that a client processes the nodes with the lowest
// number.
type EphemeralItems struct{ scan }

// NewEphemeralItems returns one client's view of a queue below an existing znode dir.
func NewEphemeralItems(ctx context.Context, s *session.Session, dir string) (*EphemeralItems, error) {
	c, err := open(ctx, s, dir)
	c.flags |= zk.FlagEphemeral
	return &EphemeralItems{scan{client: c, keeps: true, refill: c.watched}}, err
}

func ephemeralItemsVariant() variants.Variant {
	v := allWatchVariant()
	v.Name = "ephemeral-items"
	v.Summary = "items end with their producer; consumers work off a listing"
	v.BadAt = "producers that fail or leave: their items are lost; and many consumers, all of which each item wakes"
	v.Join = join(NewEphemeralItems, true)
	return v
}
