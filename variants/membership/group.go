package membership

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

const marker = "-member-"

// group is shared by the variants: how a client joins and leaves, and when its view is out of date. They differ in what
// they read to bring it up to date.
type group struct {
	line tickets.Line
	read func(ctx context.Context, members []tickets.Ticket) (View, error) // the variant's

	membership *session.Exclusive
	own        tickets.Ticket // while the client is a member

	following *session.Session // so that a client can join and leave while it waits for a change
	view      View             // of the last listing; belongs to the operation that follows
	watch     atomic.Pointer[session.Watch]
}

func (g *group) init(s *session.Session, dir string, read func(context.Context, []tickets.Ticket) (View, error)) {
	g.line, g.read, g.following = tickets.New(s, dir, marker), read, s.Fork()
	g.membership = session.NewExclusive(s, ErrMember, nil, g.leave)
}

func (g *group) Join(ctx context.Context, data []byte) error {
	_, err := g.membership.AcquireBy(ctx, func(ctx context.Context) (session.Grant, error) {
		own, err := g.line.Enter(ctx, data, zk.FlagEphemeral)
		if err == nil {
			g.own = own
			g.outdate()
		}
		return session.Grant{}, err
	})
	return err
}

func (g *group) Leave(ctx context.Context) error { return g.membership.Release(ctx) }

func (g *group) leave(ctx context.Context) error {
	err := g.line.Leave(ctx, g.own)
	if err == nil || errors.Is(err, session.ErrSessionLost) {
		g.outdate()
	}
	return err
}

// outdate makes the view count as out of date, because the client itself has joined or left. The watch fires for that,
// too, but not for certain if the connection was down meanwhile.
func (g *group) outdate() { g.watch.Load().Invalidate() }

func (g *group) View(ctx context.Context) (View, error) {
	return session.Run(ctx, g.following, func(ctx context.Context) (View, error) {
		if err := g.refresh(ctx); err != nil {
			return nil, err
		}
		return g.view, g.following.Alive()
	}, nil)
}

// refresh lists the group unless nothing has happened since it was listed last. A change that comes during the listing and
// the reads is left for the next time: if every change began it anew, it might never end.
func (g *group) refresh(ctx context.Context) error {
	if watch := g.watch.Load(); watch != nil && !watch.Fired() {
		return nil
	}
	children, watch, err := g.line.ListW(ctx)
	if err != nil {
		return fmt.Errorf("list the group: %w", err)
	}
	view, err := g.read(ctx, tickets.Sorted(children, marker))
	if err != nil {
		return err
	}
	g.view = view
	g.watch.Store(watch)
	return nil
}

func (g *group) Changed(ctx context.Context) error {
	return g.following.Do(ctx, func(ctx context.Context) error {
		if watch := g.watch.Load(); watch != nil {
			if err := g.following.Await(ctx, watch); err != nil {
				return err
			}
		}
		return g.following.Alive()
	}, nil)
}

// get reads the data of a member; false if the member has left since it was listed.
func (g *group) get(ctx context.Context, member tickets.Ticket) (m Member, there bool, err error) {
	data, _, err := g.following.Get(ctx, g.line.Path(member))
	if errors.Is(err, zk.ErrNoNode) {
		return Member{}, false, nil
	}
	return Member{Name: member.Name, Data: data}, err == nil, session.Attempted("read a member", err)
}
