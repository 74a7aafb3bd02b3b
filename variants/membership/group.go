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

// Group is one client's view of a group, and its membership if it is a member. Its methods may be called concurrently;
// Join and Leave do not wait for a Changed that is under way. When their context ends, they return within about a second
// even if the server is silent. All return session.ErrSessionLost when the session, and with it the membership, is gone.
type Group struct {
	line   tickets.Line
	caches bool // a member's data is read once; otherwise after each change

	membership *session.Exclusive[tickets.Ticket]
	own        tickets.Ticket // while the client is a member

	following *session.Session // so that a client can join and leave while it waits for a change
	view      View             // of the last listing; belongs to the operation that follows
	watch     atomic.Pointer[session.Watch]
}

// newGroup returns one client's view of the group below dir, an existing znode.
func newGroup(s *session.Session, dir string, caches bool) *Group {
	g := &Group{line: tickets.New(s, dir, marker), caches: caches, following: s.Fork()}
	g.membership = session.NewExclusive[tickets.Ticket](s, ErrMember, nil, g.leave)
	return g
}

// Join makes the client a member with this data, which does not change as long as it is one. It returns ErrMember
// if the client is a member already. When ctx ends first, the client is not a member.
func (g *Group) Join(ctx context.Context, data []byte) error {
	_, err := g.membership.AcquireBy(ctx, func(ctx context.Context) (tickets.Ticket, error) {
		own, err := g.line.Enter(ctx, data, zk.FlagEphemeral)
		if err == nil {
			g.own = own
			g.outdate()
		}
		return own, err
	})
	return err
}

// Leave ends the membership; it does nothing if there is none. After any error but ErrSessionLost the membership
// continues.
func (g *Group) Leave(ctx context.Context) error { return g.membership.Release(ctx) }

func (g *Group) leave(ctx context.Context) error {
	err := g.line.Leave(ctx, g.own)
	if err == nil || errors.Is(err, session.ErrSessionLost) {
		g.outdate()
	}
	return err
}

// outdate makes the view count as out of date, because the client itself has joined or left. The watch fires for that,
// too, but not for certain if the connection was down meanwhile.
func (g *Group) outdate() { g.watch.Load().Invalidate() }

// View returns the members of the group, as far as this session has seen. It must not be modified. As long as the
// group does not change, this costs no request.
func (g *Group) View(ctx context.Context) (View, error) {
	return session.Run(ctx, g.following, func(ctx context.Context) (View, error) {
		if err := g.refresh(ctx); err != nil {
			return nil, err
		}
		return g.view, g.following.Alive()
	}, nil)
}

// refresh lists the group unless nothing has happened since it was listed last. A change that comes during the listing and
// the reads is left for the next time: if every change began it anew, it might never end.
func (g *Group) refresh(ctx context.Context) error {
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

// read returns the view of the members that are listed. It reads the data of those that it does not remember.
func (g *Group) read(ctx context.Context, members []tickets.Ticket) (View, error) {
	known := map[string]Member{}
	if g.caches {
		for _, m := range g.view {
			known[m.Name] = m
		}
	}
	view := make(View, 0, len(members))
	for _, listed := range members {
		m, there := known[listed.Name]
		if !there {
			var err error
			if m, there, err = g.get(ctx, listed); err != nil {
				return nil, err
			}
		}
		if there {
			view = append(view, m)
		}
	}
	return view, nil
}

// Changed waits until the view that View returned last is out of date.
func (g *Group) Changed(ctx context.Context) error {
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
func (g *Group) get(ctx context.Context, member tickets.Ticket) (m Member, there bool, err error) {
	data, _, err := g.following.Get(ctx, g.line.Path(member))
	if errors.Is(err, zk.ErrNoNode) {
		return Member{}, false, nil
	}
	return Member{Name: member.Name, Data: data}, err == nil, session.Attempted("read a member", err)
}
