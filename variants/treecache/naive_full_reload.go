package treecache

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// FullReload is a cache that reads the whole tree again after each reconnect.
//
//  1. Read the root's data and list its children, both with a watch; then do the same for the children, and so on. Znodes
//     at the tree's depth have no children: these are not listed.
//  2. When the data of a znode has changed, read it again, with a watch.
//  3. When the children of a znode have changed, list them again, with a watch. Read the new ones as in step 1, and forget those
//     that have gone.
//  4. When the connection has been lost and is made again, do step 1 for the whole tree, at once.
//
// Cost of one change, with one writer and N-1 caches; every other change sets a znode, and the ones in between replace one by
// another in one transaction:
//
//	writes         1
//	notifications  a set: N-1. A replacement: 2(N-1) by one transaction, because each client watches the znode that is deleted
//	               and the children of its parent  =  3(N-1)/2 on average
//	reads          a set: N-1. A replacement: each client lists the children, and reads the new znode  =  3(N-1)/2 on average
//	requests       1 + 3(N-1)/2  =  (3N-1)/2
//
// The listings are O(children) bytes each. A reconnect of all clients costs (Z+p)·(N-1) reads for a tree of Z znodes, p of which may
// have children, all at the same time. Nearly all of them find nothing new. Without a known depth it would be 2·Z·(N-1), as with
// the caches of Curator and kazoo by default.
//
// A znode that is watched in both ways and then deleted would cost one notification all the same, but servers count two (see
// ZooKeeper's WatchManager): their counts could not be compared with what the clients received.
//
// Source: as written, but without a listing of znodes at the tree's depth: Apache Curator, TreeCache; kazoo, TreeCache (issue 664).
type FullReload struct{ *cache }

// NewFullReload returns one client's cache of a tree.
func NewFullReload(s *session.Session, tree Tree, listen Listener) (FullReload, error) {
	c, err := open(s, tree, listen)
	c.reconnected = func(context.Context) error {
		c.reload = time.Now()
		return nil
	}
	return FullReload{c}, err
}

func fullReloadVariant() variants.Variant {
	// The cost of a change as long as all connections hold: the average of one that sets a znode and one that replaces one, with one
	// writer and N-1 caches. Without a wait between the changes, notifications coalesce, and these are upper bounds.
	cost := variants.Cost{Requests: "(3N-1)/2", Writes: "1", FailedWrites: "0", Notifications: "3(N-1)/2", HerdMax: "2(N-1)"}
	return variants.Variant{
		Name:     "full-reload",
		Kind:     variants.Naive,
		Summary:  "after a reconnect, every client reads the whole tree again, at once",
		BadAt:    "large trees with many caches: when the leader changes, all of them read everything at the same moment",
		Lockstep: cost,
		Free:     cost,
		Join:     join(NewFullReload),
	}
}
