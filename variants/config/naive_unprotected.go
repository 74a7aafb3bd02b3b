package config

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// Unprotected is the configuration whose writer changes one znode after another, as if no client could read in between.
//
// The writer:
//
//  1. Set <dir>/m1 … m<S>, one by one.
//
// A reader:
//
//  1. Read <dir>/m1 … m<S>, each with a watch, and keep the values.
//  2. Use these values until a watch fires.
//  3. Read each znode whose watch has fired again, with a watch, and go to 2.
//
// This is how an application works that keeps each znode in a cache of its own. Each cache is correct: it misses no update
// of its znode, and never goes back in time. But nothing connects the znodes. A reader that is faster than the writer's next
// write acts on a torn configuration, which mixes the values of two updates, also while nothing fails. A writer that dies between
// two znodes leaves the configuration torn for all readers, until its successor has written everything once more: for as
// long as the writer's session lasts, and the successor takes.
//
// Cost of one update of S znodes with K = N-1 readers:
//
//	writes         S, one after another
//	notifications  K for each znode  =  S(N-1); only a reader's last one shows it the whole update
//	requests       the writes, and a read for each notification  =  S + KS  =  SN
//	herd           K, once for each znode
//
// Freely, this is a bound: each read follows a notification, and a watch fires at most once for each write.
//
// Source: as written: Junqueira and Reed, ZooKeeper, chapter 4: the writer invokes setData on each znode (Order of
// Notifications), and readers cache each with a watch (Watches as a Replacement for Explicit Cache Management). There it is the
// problem that the flag and the multi solve: the writer "can’t have a client reading a partial update to these znodes".
type Unprotected struct {
	store
	copies  [][]byte         // the values as they were read last, one for each znode
	watches []*session.Watch // one for each znode, set when its value was read; nil before that
}

// NewUnprotected returns one client's view of the configuration of so many znodes below dir.
func NewUnprotected(s *session.Session, dir string, znodes int) *Unprotected {
	c := &Unprotected{
		store:  newStore(s, dir, znodes),
		copies: make([][]byte, znodes), watches: make([]*session.Watch, znodes),
	}
	c.strategy = strategy{c.update, c.read, c.changed}
	return c
}

func (c *Unprotected) update(ctx context.Context, prepare func(context.Context) ([][]byte, error)) error {
	values, err := c.prepared(ctx, prepare)
	if err != nil {
		return err
	}
	ctx, cancel := session.Cleanup(ctx)
	defer cancel()
	return session.Attempted("change the configuration, which may stay torn", c.set(ctx, values))
}

// read returns the copies, each as new as its watch says. If a read fails, the watch stays fired, and the next call reads again.
func (c *Unprotected) read(ctx context.Context) ([][]byte, error) {
	for i, watch := range c.watches {
		if watch != nil && !watch.Fired() {
			continue
		}
		value, _, next, err := c.session.GetW(ctx, path.Join(c.dir, valueName(i)))
		if err != nil {
			return nil, fmt.Errorf("read the configuration: %w", err)
		}
		c.copies[i], c.watches[i] = value, next
	}
	return slices.Clone(c.copies), nil
}

func (c *Unprotected) changed(ctx context.Context) error {
	if slices.Contains(c.watches, nil) {
		return nil
	}
	return c.session.Await(ctx, c.watches...)
}

func unprotectedVariant() variants.Variant {
	cost := variants.Cost{Requests: "SN", Writes: "S", FailedWrites: "0", Notifications: "S(N-1)", HerdMax: "N-1"}
	return variants.Variant{
		Name:          "unprotected",
		Kind:          variants.Naive,
		Summary:       "the znodes are changed one by one; readers watch each of them and keep copies, which may not fit each other",
		BadAt:         "values that must fit each other: readers act on half an update, and go on with it if the writer dies in between",
		Forgoes:       []variants.Loss{variants.TornReads},
		ForgoesAlways: []variants.Loss{variants.TornReads},
		Lockstep:      cost,
		Free:          cost,
		Join:          join(func(env variants.Env) Configuration { return NewUnprotected(env.Session, env.Root, znodes(env)) }),
	}
}
