package config

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// InvalidFlag is the configuration whose writer changes one znode after another, with a flag up while it does.
//
// The writer:
//
//  1. Create <dir>/invalid. If it exists, a writer that died has left it; it stays until step 3.
//  2. Set <dir>/m1 … m<S>, one by one.
//  3. Delete <dir>/invalid.
//
// A reader:
//
//  1. Look for <dir>/invalid with exists and a watch. If it is there, wait for the watch, and begin anew.
//  2. Read <dir>/m1 … m<S>.
//  3. If the watch has fired meanwhile, begin anew. This costs no request: a session is notified of the flag before it
//     can read anything that was written after it.
//  4. Use this copy until the watch fires.
//
// The flag is not ephemeral: with its session gone, half a configuration would look like a whole one. So a writer that
// dies stops all readers until its successor has written everything once more.
//
// And the watch does not notice every update. A client that was cut off sets its watches again, and a server then notifies
// it of a flag that exists, but not of one that was created and deleted meanwhile: an update that begins and ends while a
// reader is cut off goes unnoticed until the next. A reader that is cut off between two reads may even mix two updates. A
// version that is written with the values has neither flaw.
//
// Cost of one update of S znodes with K = N-1 readers, each at rest before and when the flag is up:
//
//	writes         a create, S sets and a delete  =  S+2, one after another
//	notifications  the flag's creation and its deletion  =  2K, of which the first is spurious
//	requests       the writes; and for each reader an exists that finds the flag, one that does not, and S reads:
//	               S+2 + K(S+2)  =  N(S+2)
//	herd           K
//
// Freely, this is a bound: each exists follows a notification, and each round of reads the deletion of a flag.
//
// Source: as written, but readers keep a copy, and begin anew if the flag appears while they read: Junqueira and Reed,
// ZooKeeper, chapter 4 (Order of Notifications). There, readers watch the flag, and read when it is gone.
type InvalidFlag struct {
	store
	copy copied // its watch is on the flag, set just before the values were read
}

// NewInvalidFlag returns one client's view of the configuration of so many znodes below dir.
func NewInvalidFlag(s *session.Session, dir string, znodes int) *InvalidFlag {
	c := &InvalidFlag{store: newStore(s, dir, znodes)}
	c.strategy = strategy{c.update, c.read, c.changed}
	return c
}

func (c *InvalidFlag) flag() string { return path.Join(c.dir, flagName) }

func (c *InvalidFlag) update(ctx context.Context, prepare func(context.Context) ([][]byte, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	finish, cancel := session.Cleanup(ctx)
	defer cancel()
	raised, err := c.raise(finish)
	if err != nil {
		return err
	}
	values, err := c.prepared(ctx, prepare)
	switch {
	case err != nil && raised:
		return errors.Join(err, c.lower(finish))
	case err != nil: // a writer that died has left the flag, and its values are still torn
		return err
	}
	if err := c.set(finish, values); err != nil {
		return fmt.Errorf("change the configuration, which stays invalid: %w", err)
	}
	return c.lower(finish)
}

func (c *InvalidFlag) raise(ctx context.Context) (raised bool, err error) {
	owner := rand.Text()
	repeated, err := c.session.Create(ctx, c.flag(), []byte(owner), 0)
	var data []byte
	if errors.Is(err, zk.ErrNodeExists) && repeated { // an attempt whose reply was lost may have created it
		data, _, err = c.session.Get(ctx, c.flag())
		return err == nil && string(data) == owner, err
	}
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return false, fmt.Errorf("create %s: %w", c.flag(), err)
	}
	return err == nil, nil
}

func (c *InvalidFlag) lower(ctx context.Context) error { return c.session.Discard(ctx, c.flag()) }

func (c *InvalidFlag) read(ctx context.Context) ([][]byte, error) {
	if c.copy.current() {
		return c.copy.values, nil
	}
	c.copy = copied{}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		invalid, _, watch, err := c.session.ExistsW(ctx, c.flag())
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", c.flag(), err)
		}
		if invalid {
			if err := c.session.Await(ctx, watch); err != nil {
				return nil, err
			}
			continue
		}
		values, err := c.values(ctx)
		if err != nil {
			return nil, err
		}
		if !watch.Fired() {
			c.copy = copied{values, watch}
			return values, nil
		}
	}
}

func (c *InvalidFlag) changed(ctx context.Context) error { return c.copy.await(ctx, c.session) }

func invalidFlagVariant() variants.Variant {
	cost := variants.Cost{Requests: "N(S+2)", Writes: "S+2", FailedWrites: "0", Notifications: "2(N-1)", HerdMax: "N-1"}
	return variants.Variant{
		Name:     "invalid-flag",
		Kind:     variants.Naive,
		Summary:  "the znodes are changed one by one while a flag is up; readers watch the flag and keep a copy",
		BadAt:    "failures: a writer that dies stops all readers, and a reader that is cut off misses what came and went",
		Forgoes:  []variants.Loss{variants.TornReads, variants.Blocked},
		Lockstep: cost,
		Free:     cost,
		Join:     join(func(env variants.Env) Configuration { return NewInvalidFlag(env.Session, env.Root, znodes(env)) }),
	}
}
