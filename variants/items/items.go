// Package items is what queues share whose clients look for an item and take it, or find none: how items are put, held,
// finished and given back, and what is asked of every history of such a queue.
//
// It takes one position: queues differ in how an item is found and in whose turn it is, and in nothing else. Every write
// travels through a [Journal], so that no lost reply puts an item twice or takes a second one.
package items

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/line"
)

// Taker is the taking end of a queue. Its methods may be called concurrently and then run one after another.
//
// When ctx ends first, the context's error comes back within about a second even from a session that does not answer.
// What was going on is then brought to an end behind the caller's back, and later calls wait for it.
type Taker interface {
	// Take takes the next item, or returns false if there is none that nobody else has; it never waits for one. A client
	// takes no second item before Done or Return. One whose ctx has ended is given back.
	Take(ctx context.Context) (Item, bool, error)
	// Done says that the item taken last has been processed. variants.ErrSessionLost says that its claim had been lost,
	// so that somebody else may process it, too. After any other error it may be tried again.
	Done(ctx context.Context) error
	// Return gives the item taken last back, unprocessed, at its old place.
	Return(ctx context.Context) error
}

// Item is an item in the hands of the client that took it.
type Item struct {
	Data []byte
	// Lost is closed when the claim is gone or must be taken to be: whoever processes the item must stop. It is nil where
	// an item is deleted first, which nobody else can take any more.
	Lost <-chan struct{}
}

// ErrHeld is returned by Take to a client that has an item already.
var ErrHeld = errors.New("an item is held already")

// Client is what the variants of all these queues share: how items are put, and whose turn it is. They differ in how
// they take. It implements [Taker].
type Client struct {
	line.Line // of items; they are put through the journal, not by Enter
	Journal   Journal
	lane      variants.Lane
	how       Algorithm
	held      *Taken // nil while there is none
}

// Taken is an item in a client's hands, as its algorithm sees it.
type Taken struct {
	line.Ticket
	Data []byte
	Lost <-chan struct{} // see [Item]
}

// Algorithm is what a variant does. Its methods are not called concurrently.
type Algorithm interface {
	// TakeNext returns nil if there is nothing to take.
	TakeNext(ctx context.Context) (*Taken, error)
	// Finish removes what is left of an item that was processed.
	Finish(ctx context.Context, t *Taken) error
	// GiveBack undoes TakeNext.
	GiveBack(ctx context.Context, t *Taken) error
}

// Open makes a client of a way to take.
func (c *Client) Open(ctx context.Context, items line.Line, how Algorithm) error {
	j, err := OpenJournal(ctx, items.Session, path.Join(items.Dir, "journals"), items.Lost)
	if err != nil {
		return err
	}
	c.Line, c.lane, c.Journal, c.how = items, variants.NewLane(), j, how
	return nil
}

// Put appends an item. One whose ctx has ended may have been put all the same.
func (c *Client) Put(ctx context.Context, data []byte) error { return c.PutNamed(ctx, c.Marker, data) }

// PutNamed is Put for an item whose name begins otherwise; the sequence number follows.
func (c *Client) PutNamed(ctx context.Context, prefix string, data []byte) error {
	return c.run(ctx, func(ctx context.Context) error {
		_, err := c.Journal.Do(ctx, &zk.CreateRequest{
			Path: path.Join(c.Dir, prefix), Data: data, Acl: variants.WorldACL(), Flags: zk.FlagSequence,
		})
		if err != nil {
			return fmt.Errorf("create an item in %s: %w", c.Dir, err)
		}
		return nil
	})
}

// Take implements [Taker].
func (c *Client) Take(ctx context.Context) (Item, bool, error) {
	t, err := variants.Run(ctx, c.lane, func(ctx context.Context) (*Taken, error) {
		if c.held != nil {
			return nil, ErrHeld
		}
		var err error
		c.held, err = c.how.TakeNext(ctx)
		return c.held, err
	}, func(*Taken) {
		ctx, cancel := variants.Cleanup(ctx)
		defer cancel()
		_ = c.settle(ctx, c.how.GiveBack) // the caller has left; Done and Return remain
	})
	if err != nil || t == nil {
		return Item{}, false, err
	}
	return Item{Data: t.Data, Lost: t.Lost}, true, nil
}

// Done implements [Taker].
func (c *Client) Done(ctx context.Context) error {
	return c.run(ctx, func(ctx context.Context) error { return c.settle(ctx, c.how.Finish) })
}

// Return implements [Taker].
func (c *Client) Return(ctx context.Context) error {
	return c.run(ctx, func(ctx context.Context) error { return c.settle(ctx, c.how.GiveBack) })
}

// settle does away with the held item, if any.
func (c *Client) settle(ctx context.Context, how func(context.Context, *Taken) error) error {
	if c.held == nil {
		return nil
	}
	err := how(ctx, c.held)
	if err == nil || errors.Is(err, variants.ErrSessionLost) {
		c.held = nil
	}
	return err
}

// run runs on the lane what need not be undone.
func (c *Client) run(ctx context.Context, op func(context.Context) error) error {
	return variants.Do(ctx, c.lane, op, nil)
}

// Read returns an item's data, or false if the item is gone.
func (c *Client) Read(ctx context.Context, t line.Ticket) (data []byte, found bool, err error) {
	err = variants.Retry(ctx, c.Lost, func() error {
		var err error
		data, _, err = c.Session.Get(c.Path(t))
		return err
	})
	switch {
	case err == nil:
		return data, true, nil
	case errors.Is(err, zk.ErrNoNode):
		return nil, false, nil
	default:
		return nil, false, fmt.Errorf("read %s: %w", c.Path(t), err)
	}
}
