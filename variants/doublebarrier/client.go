package doublebarrier

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

const marker = "-member-"

// client is shared by the variants: how far a client is, and its own znode. They differ in how it learns of the others.
type client struct {
	session *session.Session
	line    tickets.Line
	group   Group
	round   atomic.Int64

	inside bool           // it has entered, and not left yet
	unseen bool           // a Leave has succeeded whose caller had given up on it
	ticket tickets.Ticket // its place in the round
	held   bool           // the ticket's znode is there

	strategy strategy
}

// strategy is a variant's part of a round.
type strategy interface {
	enter(ctx context.Context) error   // returns when all have entered; if it fails, abandon is called
	leave(ctx context.Context) error   // returns when all have finished; may be called again after it failed
	abandon(ctx context.Context) error // gives up the znodes of the client, without waiting; forgets the round
}

// init prepares the client, and deletes the znodes that an earlier session of the same member has left.
func (c *client) init(ctx context.Context, sess *session.Session, group Group, s strategy) error {
	group.Dir = path.Clean(group.Dir)
	c.session, c.line, c.group, c.strategy = sess, tickets.New(sess, group.Dir, marker), group, s
	if group.Member == "" {
		return nil
	}
	children, _, err := c.list(ctx)
	for _, t := range tickets.Sorted(children, marker) {
		if err == nil {
			err = c.expel(ctx, c.line.Path(t))
		}
	}
	return err
}

// expel deletes a znode if it belongs to an earlier session of this member. The servers may not have ended that session yet,
// and the group would count the member twice.
func (c *client) expel(ctx context.Context, path string) error {
	data, _, err := c.session.Find(ctx, path)
	if err == nil && string(data) == c.group.Member {
		err = c.session.Discard(ctx, path)
	}
	return session.Attempted("look for an earlier session in "+path, err)
}

func (c *client) list(ctx context.Context) (children []string, stat *zk.Stat, err error) {
	err = c.session.Synced(ctx, c.group.Dir, func(conn session.Conn) error {
		children, stat, err = conn.Children(c.group.Dir)
		return err
	})
	return children, stat, session.Attempted("list "+c.group.Dir, err)
}

func (c *client) Round() int64 { return c.round.Load() }

func (c *client) Enter(ctx context.Context) error {
	return c.session.DoWhileAlive(ctx, c.enter, func(ctx context.Context) error { return c.withdraw(ctx, nil) })
}

func (c *client) enter(ctx context.Context) error {
	if c.inside {
		return ErrInside
	}
	c.unseen = false
	if err := cmp.Or(c.strategy.enter(ctx), c.session.Alive()); err != nil {
		return c.withdraw(ctx, err)
	}
	c.inside = true
	return nil
}

func (c *client) Leave(ctx context.Context) error {
	return c.session.DoWhileAlive(ctx, c.leave, func(context.Context) error { c.unseen = true; return nil })
}

func (c *client) leave(ctx context.Context) error {
	seen := !c.unseen
	c.unseen = false
	switch {
	case !c.inside && seen:
		return ErrOutside
	case !c.inside:
		return nil
	}
	if err := cmp.Or(c.strategy.leave(ctx), c.session.Alive()); err != nil {
		return err // a new session, whose server may lag behind, may have seen what it has seen of the others
	}
	c.inside = false
	c.round.Add(1)
	return nil
}

func (c *client) Close(ctx context.Context) error {
	return c.session.Do(ctx, func(ctx context.Context) error {
		c.inside = false
		return c.strategy.abandon(ctx)
	}, nil)
}

// withdraw gives everything up after err, as [session.Withdraw] does.
func (c *client) withdraw(ctx context.Context, err error) error {
	c.inside = false
	return session.Withdraw(ctx, err, c.strategy.abandon)
}

func (c *client) take(ctx context.Context) error {
	ticket, err := c.line.EnterWith(ctx, []byte(c.group.Member))
	if err != nil {
		return err
	}
	c.ticket, c.held = ticket, true
	return nil
}

// give deletes the client's znode, in one multi with other operations if there are any. It does nothing if the znode has
// been deleted before.
func (c *client) give(ctx context.Context, also ...any) (err error) {
	if !c.held {
		return nil
	}
	if len(also) == 0 {
		err = c.line.Leave(ctx, c.ticket)
	} else {
		err = c.end(ctx, append([]any{&zk.DeleteRequest{Path: c.line.Path(c.ticket), Version: -1}}, also...)...)
	}
	c.held = err != nil
	return err
}

// end makes a transaction that ends something of the client's own.
func (c *client) end(ctx context.Context, ops ...any) error {
	_, repeated, err := c.session.Multi(ctx, ops...)
	return c.session.Ended("leave "+c.group.Dir, repeated, err)
}

func (c *client) watch(ctx context.Context, path string) (*session.Watch, error) {
	_, _, watch, err := c.session.GetW(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return watch, err
}

// awaitCreation waits for the creation of a znode that a listing has shown to be absent. It looks again if the watch has fired before the
// wait, which may be for a creation from before the listing, or only counts as fired, after an outage. A look that finds the znode sets no
// watch, which its deletion would fire in vain.
func (c *client) awaitCreation(ctx context.Context, path string, created *session.Watch) error {
	for {
		for created.Fired() {
			found, _, err := c.session.Exists(ctx, path)
			if err == nil && !found {
				found, _, created, err = c.session.ExistsW(ctx, path)
			}
			if err != nil || found {
				return session.Attempted("look for "+path, err)
			}
		}
		event, err := c.session.AwaitEvent(ctx, created)
		if err != nil || event.Type == zk.EventNodeCreated {
			return err
		}
	}
}

func upTo(last tickets.Ticket, all []tickets.Ticket) []tickets.Ticket {
	if i := slices.IndexFunc(all, last.Before); i >= 0 {
		return all[:i]
	}
	return all
}
