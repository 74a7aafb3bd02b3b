// Package tickets is the queue in which clients stand by creating sequential znodes below one directory.
//
// It takes one position: a place in a line must survive a lost reply without being taken twice, and must cost nothing extra
// as long as no reply is lost. Locks, elections, barriers and queues are built on it.
package tickets

import (
	"context"
	"crypto/rand"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// Line is one client's view of a line. It may be copied.
type Line struct {
	Session *session.Session
	Dir     string // an existing znode
	Marker  string // stands between a ticket's mark and its number, such as "-lock-"; foreign znodes do not have it
	Mark    Mark   // the beginning of a ticket's name
}

// New returns a client's view of the line below an existing znode dir, with [GUID] for a mark. A trailing slash would make
// dir a path that no listing accepts.
func New(s *session.Session, dir, marker string) Line {
	return Line{Session: s, Dir: path.Clean(dir), Marker: marker}
}

// Mark is the part of the name of a ticket by which its client finds it again if the reply to the create is lost.
type Mark int

const (
	// GUID is new for each attempt to take a ticket. Only after a lost reply is the line searched for it, so that recovery
	// costs nothing as long as it is not needed. A later attempt cannot adopt the ticket that an earlier one left.
	GUID Mark = iota
	// SessionID is the same for all tickets of a session. An earlier attempt may have left a ticket, so the line is
	// searched before every create, whether or not a reply was lost. Two objects of one session that stand in one line end
	// up with one ticket.
	SessionID
)

// Ticket is one place in a line.
type Ticket struct {
	Name string // of the znode, without its directory
	Seq  int32
}

// Parse reads a znode's name; ok is false if the znode is not a ticket.
func Parse(name, marker string) (t Ticket, ok bool) {
	i := strings.LastIndex(name, marker)
	if i < 0 {
		return Ticket{}, false
	}
	seq, err := strconv.ParseInt(name[i+len(marker):], 10, 32)
	return Ticket{Name: name, Seq: int32(seq)}, err == nil
}

// Before reports whether t stands before other. After 2^31-1, the server's counter stands still, or goes on with negative numbers while
// creates are pending, so the difference between two numbers decides, not their values.
func (t Ticket) Before(other Ticket) bool { return t.Seq-other.Seq < 0 }

// Sorted returns the tickets among the children of a directory, the first in line first.
func Sorted(children []string, marker string) []Ticket {
	tickets := make([]Ticket, 0, len(children))
	for _, name := range children {
		if t, ok := Parse(name, marker); ok {
			tickets = append(tickets, t)
		}
	}
	slices.SortFunc(tickets, func(a, b Ticket) int { return int(a.Seq - b.Seq) })
	return tickets
}

// Path returns a ticket's znode.
func (l Line) Path(t Ticket) string { return path.Join(l.Dir, t.Name) }

// AppendRequest returns the write that creates a persistent ticket whose name is its marker and its number.
func (l Line) AppendRequest(data []byte) *zk.CreateRequest {
	return &zk.CreateRequest{Path: l.Path(Ticket{Name: l.Marker}), Data: data, Flags: zk.FlagSequence}
}

// EnterWith takes a ticket: an ephemeral and sequential znode with this data.
//
// A create whose reply is lost may have taken effect. Then the line is searched for the mark in the ticket's name. A ticket
// with this mark is the client's own. If there is none after a sync, the create never took effect.
func (l Line) EnterWith(ctx context.Context, data []byte) (Ticket, error) {
	return l.enter(ctx, func(ctx context.Context, mark string) (Ticket, error) { return l.create(ctx, mark, data) })
}

// Enter is EnterWith for a ticket without data.
func (l Line) Enter(ctx context.Context) (Ticket, error) { return l.EnterWith(ctx, nil) }

// enter is Enter with attempt, which makes one attempt to create a ticket whose name begins with mark.
func (l Line) enter(ctx context.Context, attempt func(ctx context.Context, mark string) (Ticket, error)) (Ticket, error) {
	return l.enterAs(ctx, rand.Text(), attempt)
}

// enterAs is enter for a mark, which is that of the session if the line says so.
func (l Line) enterAs(ctx context.Context, mark string, attempt func(ctx context.Context, mark string) (Ticket, error)) (Ticket, error) {
	id := l.Session.ID()
	if l.Mark == SessionID {
		mark = strconv.FormatInt(id, 16)
		children, err := l.List(ctx)
		if err != nil {
			return Ticket{}, err
		}
		if t, found := l.marked(children, mark); found {
			return t, nil
		}
	}
	for {
		t, err := attempt(ctx, mark)
		if !session.OutcomeUnknown(err) {
			return t, err
		}
		t, found, err := l.find(ctx, mark)
		switch {
		case err != nil:
			return Ticket{}, err
		case l.Session.ID() != id && found: // the znode goes with the old session, or never belonged to it
			return Ticket{}, l.Withdraw(ctx, t, session.ErrSessionLost)
		case l.Session.ID() != id:
			return Ticket{}, session.ErrSessionLost
		case found:
			return t, nil
		}
	}
}

func (l Line) create(ctx context.Context, mark string, data []byte) (t Ticket, err error) {
	err = l.Session.Once(ctx, func(c session.Conn) error {
		created, err := c.Create(path.Join(l.Dir, mark+l.Marker), data, zk.FlagEphemeral|zk.FlagSequence, nil)
		if err == nil {
			t, _ = Parse(path.Base(created), l.Marker)
		}
		return err
	})
	return t, session.Attempted("create a ticket in "+l.Dir, err)
}

// find looks for the ticket with a mark, even if ctx has ended: a ticket left behind would block all clients after it. The
// sync matters where the session was re-attached to a server that lags behind.
func (l Line) find(ctx context.Context, mark string) (t Ticket, found bool, err error) {
	ctx, cancel := session.Cleanup(ctx)
	defer cancel()
	err = l.Session.Synced(ctx, l.Dir, func(c session.Conn) error {
		children, _, err := c.Children(l.Dir)
		t, found = l.marked(children, mark)
		return err
	})
	return t, found, err
}

func (l Line) marked(children []string, mark string) (t Ticket, found bool) {
	for _, t := range Sorted(children, l.Marker) {
		if strings.HasPrefix(t.Name, mark+l.Marker) {
			return t, true
		}
	}
	return Ticket{}, false
}

// Place is how a client takes a ticket of a line and gives it back: a [Line], a [BackToBack] or a [Marking].
type Place interface {
	Enter(ctx context.Context) (Ticket, error)
	Leave(ctx context.Context, t Ticket) error               // after its turn
	Withdraw(ctx context.Context, t Ticket, err error) error // before
}

// Take takes a ticket and calls wait, which returns when its turn has come. If wait fails, the client withdraws.
func Take(ctx context.Context, p Place, wait func(context.Context, Ticket) error) (Ticket, error) {
	mine, err := p.Enter(ctx)
	if err != nil {
		return Ticket{}, err
	}
	if err := wait(ctx, mine); err != nil {
		return Ticket{}, p.Withdraw(ctx, mine, err)
	}
	return mine, nil
}

// NewExclusive returns a lock that a client holds from when wait has returned until its ticket is given back. The ticket's number is
// the fencing token.
func NewExclusive(s *session.Session, p Place, wait func(context.Context, Ticket) error) *session.Exclusive {
	var mine Ticket
	return session.NewExclusive(s, func(ctx context.Context) (_ session.Grant, err error) {
		mine, err = Take(ctx, p, wait)
		return session.Grant{Token: int64(mine.Seq)}, err
	}, func(ctx context.Context) error { return p.Leave(ctx, mine) })
}

// Leave gives a ticket back.
func (l Line) Leave(ctx context.Context, t Ticket) error {
	return l.Session.Remove(ctx, l.Path(t))
}

// Withdraw gives a ticket back after err, as [session.Withdraw] does.
func (l Line) Withdraw(ctx context.Context, t Ticket, err error) error {
	return session.Withdraw(ctx, err, func(ctx context.Context) error { return l.Leave(ctx, t) })
}

// Predecessor returns the ticket just before mine among the children, or false if mine is the first. If mine is missing, its
// session is gone: session.ErrSessionLost.
func (l Line) Predecessor(mine Ticket, children []string) (predecessor Ticket, waiting bool, err error) {
	there := false
	for _, name := range children { // not sorted, as a herd lists thousands of times
		switch t, ok := Parse(name, l.Marker); {
		case !ok:
		case t == mine:
			there = true
		case t.Before(mine) && (!waiting || predecessor.Before(t)):
			predecessor, waiting = t, true
		}
	}
	if !there {
		return Ticket{}, false, session.ErrSessionLost
	}
	return predecessor, waiting, nil
}

// List returns the children of the directory.
func (l Line) List(ctx context.Context) ([]string, error) {
	children, _, err := l.Session.Children(ctx, l.Dir)
	return children, err
}

// ListW is List with a watch, which fires when a ticket is taken or given back.
func (l Line) ListW(ctx context.Context) ([]string, *session.Watch, error) {
	children, _, watch, err := l.Session.ChildrenW(ctx, l.Dir)
	return children, watch, err
}

// AwaitTurn returns when mine is the first in line. It watches only the ticket just before it. When that is gone it lists
// again, because the client there may have withdrawn before its turn.
func (l Line) AwaitTurn(ctx context.Context, mine Ticket) error {
	return l.AwaitEach(ctx, l.Before(mine))
}

// Next finds among the children of a directory the ticket that a client must wait for, if there is one.
type Next = func(children []string) (watched Ticket, waiting bool, err error)

// Before returns the Next that finds the predecessor of mine.
func (l Line) Before(mine Ticket) Next {
	return func(children []string) (Ticket, bool, error) { return l.Predecessor(mine, children) }
}

// AwaitEach lists the children of the directory, without a watch, waits until the ticket that next finds among them is given
// back, and begins again, until next finds none.
func (l Line) AwaitEach(ctx context.Context, next Next) error {
	return l.AwaitEachBy(ctx, next, func(ctx context.Context, watched Ticket) (bool, error) { return false, l.AwaitWatch(ctx, watched) })
}

// AwaitEachBy lists the children of the directory, without a watch, and calls wait with the ticket that next finds among them, until next
// finds none or wait returns true.
func (l Line) AwaitEachBy(ctx context.Context, next Next, wait func(context.Context, Ticket) (over bool, err error)) error {
	for {
		children, err := l.List(ctx)
		if err != nil {
			return err
		}
		watched, waiting, err := next(children)
		if err != nil || !waiting {
			return err
		}
		if over, err := wait(ctx, watched); err != nil || over {
			return err
		}
	}
}

// AwaitChildren lists the children of the directory with a watch, waits for the watch, and begins again, as long as waiting
// reports that there is something to wait for. The watch of the last listing stays behind.
func (l Line) AwaitChildren(ctx context.Context, waiting func(children []string) (bool, error)) error {
	for {
		children, watch, err := l.ListW(ctx)
		if err != nil {
			return err
		}
		if wait, err := waiting(children); err != nil || !wait {
			return err
		}
		if err := l.Session.Await(ctx, watch); err != nil {
			return err
		}
	}
}

// AwaitWatch returns when a ticket has been given back, at once if it is gone. It reads the ticket with a watch, because
// getData leaves none behind on a znode that does not exist. A write to the ticket ends the wait, too.
func (l Line) AwaitWatch(ctx context.Context, t Ticket) error {
	_, _, watch, err := l.Session.GetW(ctx, l.Path(t))
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil
	case err != nil:
		return err
	}
	return l.Session.Await(ctx, watch)
}

// LockstepCost returns the cost of one operation in a lockstep run, if a client that gives its ticket back notifies the next one alone.
func LockstepCost(requests, writes variants.Formula) variants.Cost {
	return variants.Cost{Requests: requests, Writes: writes, FailedWrites: "0", Notifications: "(N-1)/N", HerdMax: "1 (0 for N=1)"}
}

// FreeCost is the counterpart of LockstepCost for a free run.
func FreeCost(requests, writes variants.Formula) variants.Cost {
	return variants.Cost{Requests: requests, Writes: writes, FailedWrites: "0", Notifications: "1 (0 for N=1)", HerdMax: "1 (0 for N=1)"}
}
