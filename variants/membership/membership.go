// Package membership compares two ways to know which members a group has.
//
// A member is an ephemeral znode below the group's, with the data that others need, such as an address. Every client
// keeps a view of the group; a watch on the group's children notifies it when the view is out of date. The promise of
// both variants: every view becomes what the group is, also when a member's session is lost. No member is in a view that
// never joined, or that left before another one in the view joined. No member that has left comes back. And no member is
// missing that had joined before another one in the view did.
//
//	variant             a change of a group of N is answered by each client with
//	relist-and-reread   a listing, and a read of every member
//	diff-cache          a listing, and a read of the member that is new, if one is
//
// With both, every change notifies all N clients, as a watch on the children does. They differ in the reads that follow:
// N² or N. Each membership has a znode of its own name, so that what was read of a name is good for as long as the name is
// listed.
package membership

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

//go:embed naive_*.go optimized_*.go
var code embed.FS

// ErrMember is returned by Join to a client that is a member already.
var ErrMember = errors.New("already a member of the group")

// Member is one membership. A client that leaves and joins again is another member.
type Member struct {
	Name string // of the znode, which no other membership ever has
	Data []byte
}

// View is the members of a group, in the order of joining.
type View []Member

// Changes returns the members that have joined and those that have left between an earlier view and this one.
func (v View) Changes(earlier View) (joined, left []Member) {
	return v.without(earlier), earlier.without(v)
}

func (v View) without(other View) []Member {
	known := make(map[string]bool, len(other))
	for _, m := range other {
		known[m.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(v), func(m Member) bool { return known[m.Name] })
}

const marker = "-member-"

// Group is one client's view of a group, and its membership if it is a member. Its methods may be called concurrently;
// Join and Leave do not wait for a Changed that is under way. When their context ends, they return within about a second
// even if the server is silent. All return session.ErrSessionLost when the session, and with it the membership, is gone.
type Group struct {
	line   tickets.Line
	caches bool // a member's data is read once; otherwise after each change

	membership *session.Exclusive
	own        tickets.Ticket // while the client is a member

	following *session.Session // so that a client can join and leave while it waits for a change
	view      View             // of the last listing; belongs to the operation that follows
	watch     atomic.Pointer[session.Watch]
}

// newGroup returns one client's view of the group below dir, an existing znode.
func newGroup(s *session.Session, dir string, caches bool) *Group {
	g := &Group{line: tickets.New(s, dir, marker), caches: caches, following: s.Fork()}
	g.membership = session.NewExclusive(s, nil, g.leave)
	return g
}

// Join makes the client a member with this data, which does not change as long as it is one. It returns ErrMember
// if the client is a member already. When ctx ends first, the client is not a member.
func (g *Group) Join(ctx context.Context, data []byte) error {
	_, err := g.membership.AcquireBy(ctx, func(ctx context.Context) (session.Grant, error) {
		own, err := g.line.EnterWith(ctx, data)
		if err == nil {
			g.own = own
			g.outdate()
		}
		return session.Grant{}, err
	})
	if errors.Is(err, session.ErrHeld) {
		return ErrMember
	}
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
	return session.RunWhileAlive(ctx, g.following, func(ctx context.Context) (View, error) {
		err := g.refresh(ctx)
		return g.view, err
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
			data, found, err := g.following.Find(ctx, g.line.Path(listed))
			if err != nil {
				return nil, err
			}
			m, there = Member{Name: listed.Name, Data: data}, found // false if it has left since it was listed
		}
		if there {
			view = append(view, m)
		}
	}
	return view, nil
}

// Changed waits until the view that View returned last is out of date.
func (g *Group) Changed(ctx context.Context) error {
	return g.following.DoWhileAlive(ctx, func(ctx context.Context) error {
		if watch := g.watch.Load(); watch != nil {
			return g.following.Await(ctx, watch)
		}
		return nil
	}, nil)
}

// Recipe returns the membership recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:        "membership",
		Summary:     "every member knows all members of the group",
		Source:      "ZooKeeper recipes page, Group Membership; Junqueira and Reed, ZooKeeper, chapter 4",
		Variants:    []variants.Variant{relistAndRereadVariant(), diffCacheVariant()},
		Phases:      phases(),
		Operation:   phaseJoin,
		Workload:    variants.Workload{Collective: true},
		NewObserver: newObserver,
		Code:        code,
		Calls:       []variants.EventKind{joining, leaving},
		Events: []string{
			"takes part", "begins to join", "has joined", "begins to leave", "has left", "loses its membership", "waits for a change",
			"adds a member to its view", "drops a member from its view", "has updated its view", "has seen all members join",
		},
		Bound: variants.Bound{Phase: phaseConverge, Writes: "2", Reads: "N-1", Notifications: "2(N-1)",
			Why: "To leave and to join is a write each, of which all others are notified; they must read the new member, as no " +
				"listing has its data"},
	}
}
