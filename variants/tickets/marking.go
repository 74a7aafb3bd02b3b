package tickets

import (
	"context"
	"errors"
	"path"

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
// A client that does not come back leaves one marked ticket until its session ends. All clients of a line must mark: in a [Line], a
// client would wait behind a marked ticket until that is deleted. A Marking must not be copied.
//
// To withdraw, a client deletes its ticket: a mark would promise a turn that it never had.
type Marking struct {
	Line
	old Ticket // marked by this client and not deleted yet; without a name if there is none
}

// Enter takes an ephemeral ticket without data. In the same transaction it deletes the client's marked ticket, if any.
func (m *Marking) Enter(ctx context.Context) (Ticket, error) {
	mine, err := m.enter(ctx, m.replace)
	if err == nil {
		m.old = Ticket{}
	}
	return mine, err
}

// replace makes one attempt to create a ticket, and to delete the old one in the same transaction. If the old one is gone, an earlier
// attempt has taken effect that a search did not show yet, or the old one's session has ended. In the latter case, the ticket is created
// without it.
func (m *Marking) replace(ctx context.Context, mark string) (t Ticket, err error) {
	if m.old.Name == "" {
		return m.create(ctx, mark, nil)
	}
	err = m.Session.Once(ctx, func(c session.Conn) error {
		results, err := c.Multi(&zk.DeleteRequest{Path: m.Path(m.old), Version: -1},
			&zk.CreateRequest{Path: path.Join(m.Dir, mark+m.Marker), Flags: zk.FlagEphemeral | zk.FlagSequence})
		if err == nil {
			t, _ = Parse(path.Base(results[1].String), m.Marker)
		}
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		if t, found, err := m.find(ctx, mark); err != nil || found {
			return t, err
		}
		m.old = Ticket{}
		return m.create(ctx, mark, nil)
	}
	return t, session.Attempted("replace a ticket in "+m.Dir, err)
}

// Leave gives a turn up by marking the ticket. Only a client that has its turn may call it. If the ticket is gone, the session
// that owned it has ended: session.ErrSessionLost.
func (m *Marking) Leave(ctx context.Context, t Ticket) error {
	_, err := m.Session.Set(ctx, m.Path(t), []byte(released), -1)
	switch {
	case err == nil:
		m.GivenUp(t)
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return session.ErrSessionLost
	default:
		return session.Attempted("mark "+m.Path(t), err)
	}
}

// GiveUp returns the write that marks a ticket, for a transaction of a client that does more in it than [Marking.Leave]. Only a
// client that has its turn may send it. When it has taken effect, the client must call [Marking.GivenUp].
func (m *Marking) GiveUp(t Ticket) any {
	return &zk.SetDataRequest{Path: m.Path(t), Data: []byte(released), Version: -1}
}

// GivenUp notes that a ticket of this client has been marked, so that the client deletes it when it takes its next one.
func (m *Marking) GivenUp(t Ticket) { m.old = t }

// AwaitTurn returns when mine has its turn: when its predecessor is marked, or when it is the first in line. If the
// predecessor is gone without a mark, it lists the line again.
func (m *Marking) AwaitTurn(ctx context.Context, mine Ticket) error {
	return m.AwaitEachBy(ctx, m.Before(mine), m.AwaitMark)
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
