package blockingqueue

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// The markers of items and of tickets, see [tickets.Line].
const (
	itemMarker   = "-item-"
	ticketMarker = "-ticket-"
)

// client is the common part of the variants: one client's journal, and how it puts. They differ in how they wait.
type client struct {
	session *session.Session
	items   tickets.Line
	journal session.Journal
	flags   int32 // of the znodes of items

	awaitGone func(context.Context, tickets.Ticket) error // returns when an item is gone, or stands at another place
}

func open(ctx context.Context, s *session.Session, dir string) (*client, error) {
	c := &client{session: s, items: tickets.New(s, path.Join(dir, "items"), itemMarker), flags: zk.FlagSequence}
	c.awaitGone = c.items.AwaitWatch
	err := s.Ensure(ctx, c.items.Dir, nil, 0)
	if err == nil {
		c.journal, err = session.OpenJournal(ctx, s, path.Join(dir, "journals"))
	}
	return c, err
}

func (c *client) Put(ctx context.Context, data []byte) (Item, error) {
	return session.Run(ctx, c.session, func(ctx context.Context) (Item, error) { return c.put(ctx, data) },
		c.unput)
}

// unput removes an item. One that is gone was taken or moved.
func (c *client) unput(ctx context.Context, item Item) error {
	if item.place.Name == "" {
		return nil
	}
	return c.items.Leave(ctx, item.place)
}

func (c *client) put(ctx context.Context, data []byte) (Item, error) {
	create := c.items.AppendRequest(data)
	create.Flags = c.flags
	results, err := c.journal.Do(ctx, create)
	if err != nil {
		return Item{}, fmt.Errorf("put: %w", err)
	}
	if results == nil {
		item, err := c.written(ctx, data)
		return item, session.Attempted("put, then look for its name", err)
	}
	place, _ := tickets.Parse(path.Base(results[0].String), itemMarker)
	return Item{data, place}, nil
}

// written finds the item that the last put has created, unless it has been taken since.
func (c *client) written(ctx context.Context, data []byte) (Item, error) {
	ctx, cancel := session.Cleanup(ctx)
	defer cancel()
	zxid, err := c.journal.Zxid(ctx)
	if err != nil {
		return Item{}, err
	}
	children, err := c.items.List(ctx)
	for _, place := range slices.Backward(tickets.Sorted(children, itemMarker)) {
		exists, stat, err := c.session.Exists(ctx, c.items.Path(place))
		switch {
		case err != nil:
			return Item{}, err
		case exists && stat.Czxid == zxid:
			return Item{data, place}, nil
		case exists && stat.Czxid < zxid: // numbers grow as zxids do
			return Item{Data: data}, nil
		}
	}
	return Item{Data: data}, err
}

func (c *client) AwaitTaken(ctx context.Context, item Item) error {
	if item.place.Name == "" {
		return nil
	}
	return c.session.Do(ctx, func(ctx context.Context) error { return c.awaitGone(ctx, item.place) }, nil)
}

func (c *client) read(ctx context.Context, place tickets.Ticket) (Item, bool, error) {
	data, found, err := c.session.Find(ctx, c.items.Path(place))
	return Item{data, place}, found, err
}

// claim runs a claim to its end even if ctx ends meanwhile: the caller must learn whether it has taken the item.
func (c *client) claim(ctx context.Context, claim func(context.Context) (bool, error)) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return session.Run(context.WithoutCancel(ctx), c.session, func(ctx context.Context) (bool, error) {
		ctx, cancel := session.Cleanup(ctx)
		defer cancel()
		return claim(ctx)
	}, nil)
}

// remove deletes an item and makes these writes to further znodes, or does nothing; false if one of the znodes was gone already.
func (c *client) remove(ctx context.Context, item tickets.Ticket, writes ...any) (bool, error) {
	writes = append(writes, &zk.DeleteRequest{Path: c.items.Path(item), Version: -1})
	_, err := c.journal.Do(ctx, writes...)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}
