package membership

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/line"
)

// marker is in the names of members, between the GUID and the number.
const marker = "-member-"

// group is what the variants share: how a client joins and leaves, and when its view is out of date. They differ in
// what they read to bring it up to date.
type group struct {
	line line.Line
	read func(ctx context.Context, members []line.Ticket) (View, error) // the variant's, on the watching lane

	joining variants.Lane
	own     *line.Ticket  // nil for none; belongs to the joining lane
	changed chan zk.Event // has one event if the client itself has joined or left since its last listing

	watching variants.Lane
	view     View            // of the last listing; this and the rest belong to the watching lane
	watch    <-chan zk.Event // set with that listing; nil if the view is known to be out of date
	cut      bool            // the connection was down since the watch was set, so that it may never fire
}

// init makes a client of a group below an existing znode dir.
func (g *group) init(session variants.Session, dir string, lost <-chan struct{}, read func(context.Context, []line.Ticket) (View, error)) {
	g.line = line.New(session, dir, marker, lost)
	g.read, g.changed = read, make(chan zk.Event, 1)
	g.joining, g.watching = variants.NewLane(), variants.NewLane()
}

// Join implements [Group].
func (g *group) Join(ctx context.Context, data []byte) error {
	return variants.Do(ctx, g.joining, func(ctx context.Context) error {
		return g.join(ctx, data)
	}, func() {
		ctx, cancel := variants.Cleanup(ctx)
		defer cancel()
		_ = g.leave(ctx) // the caller has left; if this fails too, the znode ends with the session
	})
}

// join makes nobody a member whose session is lost: the client library goes on with a new one, and the znode may be its.
func (g *group) join(ctx context.Context, data []byte) error {
	if g.own != nil {
		return ErrMember
	}
	own, err := g.line.Enter(ctx, data, zk.FlagEphemeral)
	if err != nil {
		return err
	}
	g.own = &own
	g.outdate()
	if variants.Alive(g.line.Lost) != nil {
		return errors.Join(variants.ErrSessionLost, g.leave(ctx))
	}
	return nil
}

// Leave implements [Group].
func (g *group) Leave(ctx context.Context) error {
	return variants.Do(ctx, g.joining, g.leave, nil)
}

func (g *group) leave(ctx context.Context) error {
	if g.own == nil {
		return nil
	}
	err := g.line.Leave(ctx, *g.own)
	if err == nil || errors.Is(err, variants.ErrSessionLost) {
		g.own = nil
		g.outdate()
	}
	return err
}

// outdate says that the view is out of date, because the client itself has joined or left. The watch says so, too, but
// not for certain: should the connection be down meanwhile, it may never fire, see get.
func (g *group) outdate() {
	select {
	case g.changed <- zk.Event{}:
	default:
	}
}

// View implements [Group].
func (g *group) View(ctx context.Context) (View, error) {
	return variants.Run(ctx, g.watching, func(ctx context.Context) (View, error) {
		if err := g.refresh(ctx); err != nil {
			return nil, err
		}
		return g.view, variants.Alive(g.line.Lost)
	}, func(View) {})
}

// refresh lists the group unless nothing has happened since it was listed last. A change that comes in the midst of it
// is left for the next time: if every change began it anew, it might never end.
func (g *group) refresh(ctx context.Context) error {
	if g.watch != nil && variants.Fired(g.watch) {
		g.watch = nil
	}
	if variants.Fired(g.changed) || g.cut {
		g.watch = nil
	}
	if g.watch != nil {
		return nil
	}
	children, watch, err := g.line.ListW(ctx)
	if err != nil {
		return fmt.Errorf("list the group: %w", err)
	}
	g.cut = false
	view, err := g.read(ctx, line.Sorted(children, marker))
	if err != nil {
		return err
	}
	g.view, g.watch = view, watch
	return nil
}

// Changed implements [Group].
func (g *group) Changed(ctx context.Context) error {
	return variants.Do(ctx, g.watching, func(ctx context.Context) error {
		if g.watch == nil || g.cut {
			return variants.Alive(g.line.Lost)
		}
		err := variants.AwaitAny(ctx, g.line.Lost, g.watch, g.changed)
		if err == nil {
			g.watch = nil
			err = variants.Alive(g.line.Lost)
		}
		return err
	}, nil)
}

// get reads what a member has written; false if it has left since it was listed.
//
// When it reconnects, the client asks the server which of its watches have missed something since the last reply; but a
// request that is sent again at that moment may be answered first, and its reply hides what came before it. The watch
// on the group would never fire. So after a read that had to be sent again the group is listed once more.
func (g *group) get(ctx context.Context, member line.Ticket) (Member, bool, error) {
	m := Member{Name: member.Name}
	attempts := 0
	err := variants.Retry(ctx, g.line.Lost, func() error {
		attempts++
		var err error
		m.Data, _, err = g.line.Session.Get(g.line.Path(member))
		return err
	})
	g.cut = g.cut || attempts > 1
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return Member{}, false, nil
	case err != nil:
		return Member{}, false, fmt.Errorf("read a member: %w", err)
	default:
		return m, true, nil
	}
}
