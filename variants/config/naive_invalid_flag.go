package config

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// InvalidFlag is the configuration whose writer changes one znode after another, with a flag up while it does.
//
// The writer:
//
//  1. Create <dir>/invalid. One that is there was left by a writer that died, and stays until step 3 is done.
//  2. Set <dir>/m1 … m<m>, one by one.
//  3. Delete <dir>/invalid.
//
// A reader:
//
//  1. Look for <dir>/invalid with exists and a watch. If it is there, wait for the watch, and begin anew.
//  2. Read <dir>/m1 … m<m>.
//  3. If the watch has fired meanwhile, begin anew. This costs no request: a session is notified of the flag before it
//     can read anything that was written after it.
//  4. Use this copy until the watch fires.
//
// The flag is not ephemeral: with its session gone, half a configuration would look like a whole one. So a writer that
// dies stops all readers until its successor has written everything once more.
//
// And the watch is less than it seems. A client that was cut off sets its watches again, and a server then tells of a
// flag that is there, but not of one that came and went: an update that begins and ends while a reader is cut off goes
// unnoticed until the next. A reader that is cut off between two reads can so even mix two updates. A version that is
// written with the values has neither flaw.
//
// Cost of one update of m znodes with K = N-1 readers, each at rest before and when the flag is up:
//
//	writes         a create, m sets and a delete  =  m+2, one after another
//	notifications  the flag's creation and its deletion  =  2K, of which the first is of no use
//	requests       the writes; and for each reader an exists that finds the flag, one that does not, and m reads:
//	               m+2 + K(m+2)  =  N(m+2)  =  5N for m = 3
//	herd           K
//
// Freely, this is a bound: each exists follows a notification, and each round of reads the deletion of a flag.
//
// Source: Junqueira and Reed, ZooKeeper, chapter 4 (Order of Notifications).
type InvalidFlag struct {
	serial
	store
	copy  [][]byte        // nil if there is none
	watch <-chan zk.Event // on the flag, set just before the copy was read
}

var _ Configuration = (*InvalidFlag)(nil)

// NewInvalidFlag returns one client's view of the configuration of so many znodes below dir. lost is closed when the
// session is.
func NewInvalidFlag(session variants.Session, dir string, znodes int, lost <-chan struct{}) *InvalidFlag {
	c := &InvalidFlag{store: newStore(session, dir, znodes, lost)}
	c.serial = newSerial(lost, steps{c.update, c.read, c.changed})
	return c
}

func (c *InvalidFlag) flag() string { return path.Join(c.dir, flagName) }

func (c *InvalidFlag) update(ctx context.Context, prepare func(context.Context) ([][]byte, error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	finish, cancel := variants.Cleanup(ctx)
	defer cancel()
	raised, err := c.raise(finish)
	if err != nil {
		return err
	}
	values, err := c.prepared(ctx, prepare)
	switch {
	case err != nil && raised:
		return errors.Join(err, c.lower(finish))
	case err != nil: // what a writer left that died is no better for it
		return err
	}
	for i, value := range values {
		err := variants.Retry(finish, c.lost, func() error {
			_, err := c.session.Set(path.Join(c.dir, valueName(i)), value, -1)
			return err
		})
		if err != nil {
			return fmt.Errorf("change the configuration, which stays invalid: %w", err)
		}
	}
	return c.lower(finish)
}

// raise puts the flag up and tells whether it was not up before.
func (c *InvalidFlag) raise(ctx context.Context) (raised bool, err error) {
	owner, attempts := rand.Text(), 0
	err = variants.Retry(ctx, c.lost, func() error {
		attempts++
		_, err := c.session.Create(c.flag(), []byte(owner), 0, variants.WorldACL())
		if errors.Is(err, zk.ErrNodeExists) && attempts > 1 { // ours, perhaps, if a reply was lost
			var data []byte
			data, _, err = c.session.Get(c.flag())
			raised = err == nil && string(data) == owner
			return err
		}
		raised = err == nil
		return err
	})
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return false, fmt.Errorf("create %s: %w", c.flag(), err)
	}
	return raised, nil
}

// lower takes the flag down. That it is gone already is what a lost reply did not tell.
func (c *InvalidFlag) lower(ctx context.Context) error {
	err := variants.Retry(ctx, c.lost, func() error { return c.session.Delete(c.flag(), -1) })
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("delete %s: %w", c.flag(), err)
	}
	return nil
}

func (c *InvalidFlag) read(ctx context.Context) ([][]byte, error) {
	if c.copy != nil && !variants.Fired(c.watch) {
		return c.copy, nil
	}
	c.copy = nil
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var invalid bool
		err := variants.Retry(ctx, c.lost, func() error {
			var err error
			invalid, _, c.watch, err = c.session.ExistsW(c.flag())
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look for %s: %w", c.flag(), err)
		}
		if invalid {
			if err := variants.Await(ctx, c.lost, c.watch); err != nil {
				return nil, err
			}
			continue
		}
		values, err := c.values(ctx)
		if err != nil {
			return nil, err
		}
		if !variants.Fired(c.watch) {
			c.copy = values
			return values, nil
		}
	}
}

func (c *InvalidFlag) changed(ctx context.Context) error {
	if c.copy == nil {
		return nil
	}
	err := variants.Await(ctx, c.lost, c.watch)
	if err == nil {
		c.copy = nil
	}
	return err
}

func invalidFlagVariant() variants.Variant {
	cost := variants.Cost{
		Requests:      "5N",
		Writes:        "5",
		FailedWrites:  "0",
		Notifications: "2(N-1)",
		HerdMax:       "N-1",
	}
	return variants.Variant{
		Name:     "invalid-flag",
		Type:     "InvalidFlag",
		Kind:     variants.Naive,
		Summary:  "the znodes are changed one by one while a flag is up; readers watch the flag and keep a copy",
		Source:   "Junqueira and Reed, ZooKeeper, chapter 4",
		BadAt:    "failures: a writer that dies stops all readers, and a reader that is cut off misses what came and went",
		Lockstep: cost,
		Free:     cost,
		Prepare:  prepare,
		Join: join(func(s variants.Session, env variants.Env) Configuration {
			return NewInvalidFlag(s, env.Root, znodes, env.Lost)
		}),
	}
}
