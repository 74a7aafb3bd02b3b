package config

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// WatchedCache is the configuration that changes in one transaction, and that readers keep a copy of.
//
// The writer sets <dir>/version and <dir>/m1 … m<S> in one multi. A reader:
//
//  1. Read <dir>/version with a watch.
//  2. Read <dir>/m1 … m<S>, without watches.
//  3. If all were written by the transaction that wrote the version, keep this copy. Else there has been an update: go
//     to 1. A multi writes at once, but S reads are not one.
//  4. Use the copy until the watch fires, then go to 1.
//
// The transaction that wrote a znode shows an update even if the connection was down meanwhile. So does the watch when the
// client sets it again: the server compares when the znode was changed last.
//
// Cost of one update of S znodes with K = N-1 readers, however often they use it:
//
//	writes         1
//	notifications  K, all from the multi, which is the herd; watching each znode instead would make it KS
//	requests       the multi, and S+1 reads for each reader  =  1 + (S+1)(N-1)
//
// Freely, this is a bound: a reader begins to read only when an update has been made since it last began.
//
// So between two updates it costs each reader S+2 messages, its notification included, where [ReadThrough] costs S for
// each use: the copy pays from (S+2)/S uses on, which is 5/3 for S = 3, and 1.1 for S = 20. A single znode needs no znode
// with a version, because its own shows the same: its copy pays from 2 uses on.
//
// Grows: with the readers, because each of them must learn of each update and read it: S+1 requests of each reader, and 1 of the writer.
//
// Bound: in the phase propagation, one quorum write, one notification and one read must lie one after another, because a
// notification does not carry the data. Here, one write, one notification and S+1 reads do. The reads after the first are of the
// other znodes, and of the version, which shows that all are of one update. A single znode with all values would meet the bound.
// In the phase read, no request is needed while nothing changes, and none is sent.
//
// Source: as written, but with one watch, on a znode for the version: Junqueira and Reed, ZooKeeper, chapter 4 (Watches
// as a Replacement for Explicit Cache Management). There, each value has a watch of its own: here, that on the version
// stands for all, and shows which values belong together. The multi comes from Order of Notifications.
type WatchedCache struct {
	versioned
	copy copied // its watch is on the version, set just before the values were read
}

// NewWatchedCache returns one client's view of the configuration of so many znodes below dir.
func NewWatchedCache(s *session.Session, dir string, znodes int) *WatchedCache {
	c := &WatchedCache{versioned: versioned{newStore(s, dir, znodes)}}
	c.strategy = strategy{c.update, c.read, c.changed}
	return c
}

func (c *WatchedCache) read(ctx context.Context) ([][]byte, error) {
	if c.copy.current() {
		return c.copy.values, nil
	}
	c.copy = copied{}
	var values [][]byte
	var of int64 // the transaction that made them
	for {
		version, watch, err := c.version(ctx)
		switch {
		case err != nil:
			return nil, err
		case version < of: // an older version than the values, although it was read later
			return nil, fmt.Errorf("read the version: %w", ErrForeign)
		case version > of:
			if values, of, err = c.whole(ctx, version); err != nil {
				return nil, err
			}
		}
		if version == of {
			c.copy = copied{values, watch}
			return values, nil
		}
	}
}

func (c *WatchedCache) changed(ctx context.Context) error { return c.copy.await(ctx, c.session) }

// multiVariant is this variant in the recipe for writing. Its cost is the same whether readers wait for the update or not.
func multiVariant() variants.Variant {
	cost := variants.Cost{Requests: "1 + (S+1)(N-1)", Writes: "1", FailedWrites: "0", Notifications: "N-1", HerdMax: "N-1"}
	return variants.Variant{
		Name:     "multi",
		Type:     "WatchedCache",
		Kind:     variants.Optimized,
		Summary:  "one multi changes the znodes and a version; readers watch the version and keep a copy",
		BadAt:    "changes that come faster than the znodes can be read, and more of them than one request may hold",
		Lockstep: cost,
		Free:     cost,
		Join:     join(func(env variants.Env) Configuration { return NewWatchedCache(env.Session, env.Root, znodes(env)) }),
	}
}

// watchedCacheVariant is this variant in the recipe for reading.
func watchedCacheVariant() variants.Variant {
	v := multiVariant()
	v.Name, v.Type = "watched-cache", ""
	v.Summary = "uses are served from a copy until the watch on the version fires"
	v.BadAt = "configurations that change more often than they are used: every change costs a notification and a read of all"
	v.Join = joinReading(func(env variants.Env) Configuration { return NewWatchedCache(env.Session, env.Root, znodes(env)) })
	return v
}
