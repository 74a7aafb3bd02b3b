package config

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// ReadThrough is the configuration that is read from the servers whenever it is used.
//
// The writer sets <dir>/version and <dir>/m1 … m<S> in one multi, as with [WatchedCache]. A reader:
//
//  1. Read <dir>/m1 … m<S>. A multi writes at once, but S reads are not one.
//  2. If all were written by the same transaction, use them, once; the next use begins at 1. Else read on, beginning
//     with the first, until the last S values are of one transaction.
//
// To act upon a change rather than to use what there is, a reader reads <dir>/version with a watch, and waits for that
// unless the version is new already.
//
// Cost of one update of S znodes, which each of N-1 readers reads u times:
//
//	writes         1
//	notifications  none
//	requests       the multi, and S for each read  =  1 + uS(N-1). The first reader of the workload reads once, the
//	               second twice, and so on, which makes u = N/2 on average, and 1 + SN(N-1)/2
//
// Freely, each update may make each reader read up to S-1 values again: (S-1)(N-1) more.
//
// With one znode this is also how a name service is used without a cache: the name is a znode, and to look it up is to read it.
//
// Source: as written, but with a check that all values are of one update: Junqueira and Reed, ZooKeeper, chapter 4 (Watches as
// a Replacement for Explicit Cache Management), and the multi (Order of Notifications); ZooKeeper recipes page, Out of the Box
// Applications, where the API itself is the recipe. The book has "clients accessing ZooKeeper every time they need to get the
// data".
type ReadThrough struct {
	versioned
	used  int64          // transaction whose values were read last, zero if none
	watch *session.Watch // on the version, nil if there is none
}

// NewReadThrough returns one client's view of the configuration of so many znodes below dir.
func NewReadThrough(s *session.Session, dir string, znodes int) *ReadThrough {
	c := &ReadThrough{versioned: versioned{newStore(s, dir, znodes)}}
	c.strategy = strategy{c.update, c.read, c.changed}
	return c
}

func (c *ReadThrough) read(ctx context.Context) ([][]byte, error) {
	values, transaction, err := c.whole(ctx, c.used)
	if err != nil {
		return nil, err
	}
	c.used = transaction
	return values, nil
}

// changed leaves its watch behind if there is nothing to wait for, and waits for that one the next time.
func (c *ReadThrough) changed(ctx context.Context) error {
	if c.used == 0 {
		return nil
	}
	if c.watch == nil || c.watch.Fired() {
		c.watch = nil
		transaction, watch, err := c.version(ctx)
		if err != nil {
			return err
		}
		c.watch = watch
		if transaction != c.used {
			return nil
		}
	}
	err := c.session.Await(ctx, c.watch)
	if err == nil {
		c.watch = nil
	}
	return err
}

func readThroughVariant() variants.Variant {
	lockstep := variants.Cost{Requests: "1 + SN(N-1)/2", Writes: "1", FailedWrites: "0", Notifications: "0", HerdMax: "0"}
	free := lockstep
	free.Requests = "1 + (SN/2+S-1)(N-1)"
	return variants.Variant{
		Name:     "read-through",
		Kind:     variants.Naive,
		Summary:  "every use reads all znodes",
		BadAt:    "configurations that are used more often than they change: every use costs as many requests as there are znodes",
		Lockstep: lockstep,
		Free:     free,
		Join:     joinReading(func(env variants.Env) Configuration { return NewReadThrough(env.Session, env.Root, znodes(env)) }),
	}
}
