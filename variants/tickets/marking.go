package tickets

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// released is the data of a ticket whose client has had its turn.
const released = "released"

// Marking is a line in which a client gives its turn up by writing to its ticket, and deletes the ticket in the
// transaction in which it takes its next one. One write ends a turn and one begins the wait for the next, as in a [Line], but
// the client behind need not list the line when its turn comes.
//
// That rests on an invariant: a ticket is marked only by its own client and only while that client has its turn. When it
// had its turn, each ticket before its own was marked or gone, and stays so. New tickets stand behind all others. So a client
// whose immediate predecessor is marked has its turn: nothing that is not marked stands before it, and nothing can come
// between. A notification that the predecessor's data has changed proves the same as reading the mark, because nothing else
// is ever written to a ticket (see [Line.AwaitMark]). A predecessor that is gone proves nothing: it may have withdrawn, or its
// session may have ended.
//
// A client that does not come back leaves one or two marked tickets until its session ends. All clients of a line must mark: in a [Line], a
// client would wait behind a marked ticket until that is deleted. A Marking must not be copied.
//
// To withdraw, a client deletes its ticket: a mark would promise a turn that it never had.
type Marking struct {
	Line
	old  []Ticket // marked by this client and not deleted yet
	next Ticket   // taken by Pass or Stand; without a name if there is none
	mark string   // of the ticket of a Pass whose outcome is unknown
}

// Enter takes an ephemeral ticket without data. In the same transaction it deletes the client's marked tickets. It sends nothing
// if the client has its next ticket already.
func (m *Marking) Enter(ctx context.Context) (mine Ticket, err error) {
	if m.next.Name != "" {
		mine, m.next = m.next, mine
		return mine, nil
	}
	mine, err = m.enter(ctx, m.replace)
	if err == nil {
		m.old = nil
	}
	return mine, err
}

// Stand takes the client's next ticket ahead of Enter.
func (m *Marking) Stand(ctx context.Context) (err error) {
	m.next, err = m.Enter(ctx)
	return err
}

// Unstand gives back the ticket that the client has taken ahead of Enter, if any.
func (m *Marking) Unstand(ctx context.Context) error {
	if m.next.Name == "" {
		return nil
	}
	err := m.Line.Leave(ctx, m.next)
	if err == nil {
		m.next = Ticket{}
	}
	return err
}

// Pass gives a turn up, as [Marking.Leave] does, and takes the next ticket in the same transaction. After an error it must be called
// again, because the next ticket may have been taken.
func (m *Marking) Pass(ctx context.Context, t Ticket) error {
	ctx, cancel := session.Cleanup(ctx) // an attempt is made even if ctx has ended
	defer cancel()
	m.mark = cmp.Or(m.mark, rand.Text())
	next, err := m.enterAs(ctx, m.mark, func(ctx context.Context, mark string) (Ticket, error) { return m.pass(ctx, t, mark) })
	if err == nil {
		m.old, m.next, m.mark = []Ticket{t}, next, ""
	}
	return err
}

// pass makes one attempt. Only a ticket of version 0 is marked, so that an earlier attempt that has taken effect is noticed.
func (m *Marking) pass(ctx context.Context, t Ticket, mark string) (Ticket, error) {
	next, found, err := m.createAnd(ctx, mark, &zk.SetDataRequest{Path: m.Path(t), Data: []byte(released)})
	if err == nil && !found {
		err = session.ErrSessionLost
	}
	return next, err
}

// replace makes one attempt to create a ticket, and to delete the old one in the same transaction. If the old one is gone, an earlier
// attempt has taken effect that a search did not show yet, or the old one's session has ended. In the latter case, the ticket is created
// without it.
func (m *Marking) replace(ctx context.Context, mark string) (Ticket, error) {
	if len(m.old) == 0 {
		return m.create(ctx, mark, nil)
	}
	t, found, err := m.createAnd(ctx, mark)
	if err == nil && !found {
		m.old = nil
		return m.create(ctx, mark, nil)
	}
	return t, err
}

// createAnd makes one attempt at a transaction that deletes old tickets, makes more writes, and creates a ticket. If it is refused because
// of what it finds, createAnd returns the ticket of an earlier attempt, or false if there is none.
func (m *Marking) createAnd(ctx context.Context, mark string, more ...any) (t Ticket, found bool, err error) {
	var ops []any
	for _, old := range m.old {
		ops = append(ops, &zk.DeleteRequest{Path: m.Path(old), Version: -1})
	}
	ops = append(append(ops, more...),
		&zk.CreateRequest{Path: path.Join(m.Dir, mark+m.Marker), Flags: zk.FlagEphemeral | zk.FlagSequence})
	err = m.Session.Once(ctx, func(c session.Conn) error {
		results, err := c.Multi(ops...)
		if err == nil {
			t, found = Parse(path.Base(results[len(results)-1].String), m.Marker)
		}
		return err
	})
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion) {
		return m.find(ctx, mark)
	}
	return t, found, session.Attempted("replace a ticket in "+m.Dir, err)
}

// Leave gives a turn up by marking the ticket. Only a client that has its turn may call it. If the ticket is gone, the session
// that owned it has ended: session.ErrSessionLost.
func (m *Marking) Leave(ctx context.Context, t Ticket) error {
	_, err := m.Session.Set(ctx, m.Path(t), []byte(released), -1)
	if errors.Is(err, zk.ErrNoNode) {
		return session.ErrSessionLost
	}
	if err == nil {
		m.GivenUp(t)
	}
	return session.Attempted("mark "+m.Path(t), err)
}

// GiveUp returns the write that marks a ticket, for a transaction of a client that does more in it than [Marking.Leave]. Only a
// client that has its turn may send it. When it has taken effect, the client must call [Marking.GivenUp].
func (m *Marking) GiveUp(t Ticket) any {
	return &zk.SetDataRequest{Path: m.Path(t), Data: []byte(released), Version: -1}
}

// GivenUp notes that a ticket of this client has been marked, so that the client deletes it when it takes its next one.
func (m *Marking) GivenUp(t Ticket) { m.old = append(m.old, t) }

// AwaitTurn returns when mine has its turn: when its predecessor is marked, or when it is the first in line. If the
// predecessor is gone without a mark, it lists the line again. The client knows that its own old ticket is marked.
func (m *Marking) AwaitTurn(ctx context.Context, mine Ticket) error {
	return m.AwaitEachBy(ctx, func(children []string) (Ticket, bool, error) {
		predecessor, waiting, err := m.Predecessor(mine, children)
		return predecessor, waiting && !slices.Contains(m.old, predecessor), err
	}, m.AwaitMark)
}

// AwaitMark returns true when a ticket is marked, at once if it is already. It returns false when the ticket is gone, or may be.
//
// The ticket must stand before the client's own: after a reconnect, a server reports each watched znode as changed that
// is newer than the last state that the client has seen, and the client has seen its own ticket.
func (l Line) AwaitMark(ctx context.Context, t Ticket) (marked bool, err error) {
	data, _, watch, err := l.Session.GetW(ctx, l.Path(t))
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return false, nil
	case err != nil:
		return false, err
	case string(data) == released:
		return true, nil
	}
	event, err := l.Session.AwaitEvent(ctx, watch)
	return err == nil && event.Type == zk.EventNodeDataChanged, err
}
