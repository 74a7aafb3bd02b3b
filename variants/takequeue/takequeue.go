// Package takequeue is the common part of the queues whose clients look for an item and take it, or find none: how items are
// put, held, finished and given back, and the promise that each history of such a queue must keep.
//
// It takes one position: queues differ in how a client finds an item and in which item is next, and in nothing else. Every
// write travels through a [session.Journal], so that no lost reply puts an item twice or takes a second one.
package takequeue

import (
	"context"
	"errors"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// Taker is the taking end of a queue. Its methods may be called concurrently and then run one after another.
//
// When ctx ends first, the context's error comes back within about a second even from a session that does not answer. The
// operation is then finished in the background, and later calls wait for it.
type Taker interface {
	// Take takes the next item. It returns false if there is no item that no client has, or for an [InLine] client, if the item of its
	// place is not there; it never waits for one. A client takes no second item before Done or Return. If ctx has ended, the item is
	// given back.
	Take(ctx context.Context) (Item, bool, error)
	// Scan is one pass of Take. It returns ErrScanAgain where Take would make another pass at once.
	Scan(ctx context.Context) (Item, bool, error)
	// Done says that the item taken last has been processed. session.ErrSessionLost means that its claim was lost before,
	// so that another client may process the item, too. After any other error Done may be tried again.
	Done(ctx context.Context) error
	// Return gives the item taken last back, unprocessed, at its old place unless the variant says otherwise. An [InLine] client gives
	// its place up, too.
	Return(ctx context.Context) error
}

// Item is an item in the hands of the client that took it.
type Item struct {
	Data []byte
	// Lost is closed when the claim is gone or must be assumed to be: the client must stop processing the item. It is nil
	// where an item is deleted first, because no other client can take it then.
	Lost <-chan struct{}
}

// ErrHeld is returned by Take to a client that has an item already.
var ErrHeld = errors.New("an item is held already")

// ErrScanAgain is returned by Scan if the client's list has no item left for it, and there may be items that are not in the list.
var ErrScanAgain = errors.New("the client's list is exhausted, and may be out of date")

// Client is the common part of the variants of all these queues: how items are put, and that operations run one after
// another. The variants differ in how they take. Client implements [Taker].
type Client struct {
	tickets.Line // of items; they are put through the journal, not by Enter
	Journal      session.Journal
	strategy     Strategy
	held         *Taken // nil while there is none
}

// Taken is an item in a client's hands, as the client's strategy sees it.
type Taken struct {
	tickets.Ticket
	Item
}

// Strategy is how a variant takes items. Its methods are not called concurrently.
type Strategy interface {
	// TakeNext walks a list of the items once, or the rest of one. It returns nil if there is nothing to take, and
	// ErrScanAgain if another list may have an item.
	TakeNext(ctx context.Context) (*Taken, error)
	// Finish removes the remains of an item that was processed.
	Finish(ctx context.Context, t *Taken) error
	// GiveBack undoes TakeNext.
	GiveBack(ctx context.Context, t *Taken) error
}

// TryEach tries to take the items of a list until it has one, and returns nil if it gets none. It drops the items from the
// list that it has tried.
func TryEach(ctx context.Context, list *[]tickets.Ticket, try func(context.Context, tickets.Ticket) (*Taken, error)) (*Taken, error) {
	for len(*list) > 0 {
		item, err := try(ctx, (*list)[0])
		if err != nil {
			return nil, err
		}
		*list = (*list)[1:]
		if item != nil {
			return item, nil
		}
	}
	return nil, nil
}

// Open prepares a client that takes items by a strategy, and creates further directories that this needs.
func (c *Client) Open(ctx context.Context, items tickets.Line, strategy Strategy, further ...string) error {
	return c.OpenBeside(ctx, items, path.Join(items.Dir, "journals"), strategy, further...)
}

// OpenBeside is Open with the directory of the journals, for a strategy that counts the znodes beside the items.
func (c *Client) OpenBeside(
	ctx context.Context, items tickets.Line, journals string, strategy Strategy, further ...string,
) (err error) {
	c.Line, c.strategy = items, strategy
	for _, dir := range further {
		if err := c.Session.Ensure(ctx, dir, nil, 0); err != nil {
			return err
		}
	}
	c.Journal, err = session.OpenJournal(ctx, c.Session, journals)
	return err
}

// Put appends an item. If ctx has ended, the item may have been put nevertheless.
func (c *Client) Put(ctx context.Context, data []byte) error { return c.PutNamed(ctx, c.Marker, data) }

// PutNamed is Put for an item whose name has another prefix before its sequence number.
func (c *Client) PutNamed(ctx context.Context, prefix string, data []byte) error {
	return c.Session.Do(ctx, func(ctx context.Context) error {
		_, err := c.Journal.Do(ctx, &zk.CreateRequest{Path: path.Join(c.Dir, prefix), Data: data, Flags: zk.FlagSequence})
		return session.Attempted("create an item in "+c.Dir, err)
	}, nil)
}

// Take implements [Taker] by repeated scans.
func (c *Client) Take(ctx context.Context) (Item, bool, error) {
	for {
		if item, ok, err := c.Scan(ctx); !errors.Is(err, ErrScanAgain) {
			return item, ok, err
		}
	}
}

// Scan implements [Taker].
func (c *Client) Scan(ctx context.Context) (Item, bool, error) {
	t, err := session.Run(ctx, c.Session, func(ctx context.Context) (_ *Taken, err error) {
		if c.held != nil {
			return nil, ErrHeld
		}
		c.held, err = c.strategy.TakeNext(ctx)
		return c.held, err
	}, func(ctx context.Context, _ *Taken) error {
		return c.settle(ctx, c.strategy.GiveBack) // the caller may still call Done and Return
	})
	if err != nil || t == nil {
		return Item{}, false, err
	}
	return t.Item, true, nil
}

// Done implements [Taker].
func (c *Client) Done(ctx context.Context) error {
	return c.Session.Do(ctx, func(ctx context.Context) error { return c.settle(ctx, c.strategy.Finish) }, nil)
}

// Return implements [Taker].
func (c *Client) Return(ctx context.Context) error {
	return c.Session.Do(ctx, func(ctx context.Context) error { return c.settle(ctx, c.strategy.GiveBack) }, nil)
}

func (c *Client) settle(ctx context.Context, end func(context.Context, *Taken) error) error {
	if c.held == nil {
		return nil
	}
	err := end(ctx, c.held)
	if err == nil || errors.Is(err, session.ErrSessionLost) {
		c.held = nil
	}
	return err
}
