// Package line is the queue that clients stand in by creating sequential znodes below one directory.
//
// It takes one position: a place in a line must survive a lost reply without being taken twice, and cost nothing extra
// as long as no reply is lost. Locks, elections, barriers and queues are built on it.
package line

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// Line is one client's view of a line. It may be copied.
type Line struct {
	Session variants.Session
	Lost    <-chan struct{} // closed when the session is lost
	Dir     string          // an existing znode
	Marker  string          // stands between a ticket's mark and its number, such as "-lock-", and tells tickets from foreign znodes
	Mark    Mark            // what a ticket's name begins with
}

// New is a client's view of the line below an existing znode dir, with [GUID] for a mark. A trailing slash would make dir
// a path that no listing accepts.
func New(session variants.Session, dir, marker string, lost <-chan struct{}) Line {
	return Line{Session: session, Lost: lost, Dir: path.Clean(dir), Marker: marker}
}

// Mark is what a client puts into the name of its ticket, so that it finds it again if the reply to the create is lost.
type Mark int

const (
	// GUID is new for each attempt to take a ticket. The line is searched for it after a lost reply, and only then, so
	// that recovery costs nothing as long as it is not needed; and a later attempt cannot adopt what an earlier one left.
	GUID Mark = iota
	// SessionID is the same for all tickets of a session. A ticket that is there already may be what an earlier attempt
	// left, so that the line has to be searched before every create, whether or not a reply was ever lost. And two
	// who stand in one line with one session end up on one ticket.
	SessionID
)

// Ticket is one place in a line.
type Ticket struct {
	Name string // of the znode, without its directory
	Seq  int32
}

// Parse reads a znode's name; ok is false for one that is no ticket.
func Parse(name, marker string) (t Ticket, ok bool) {
	i := strings.LastIndex(name, marker)
	if i < 0 {
		return Ticket{}, false
	}
	seq, err := strconv.ParseInt(name[i+len(marker):], 10, 32)
	return Ticket{Name: name, Seq: int32(seq)}, err == nil
}

// Before tells whether t stands before other. The server's counter wraps to negative numbers after 2^31-1, so it is the
// distance between two that decides, not their values.
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

// Enter takes a ticket: a sequential znode with this data, and with zk.FlagEphemeral one that ends with the session.
//
// A create whose reply is lost may have taken effect. Then the line is searched for the mark that was put into the name:
// what is found is ours, and what is not found after a sync was never created.
func (l Line) Enter(ctx context.Context, data []byte, flags int32) (Ticket, error) {
	mark, sessionID := rand.Text(), l.Session.SessionID()
	if l.Mark == SessionID {
		mark = strconv.FormatInt(sessionID, 16)
		children, err := l.List(ctx)
		if err != nil {
			return Ticket{}, err
		}
		if t, found := l.marked(children, mark); found {
			return t, nil
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return Ticket{}, err
		}
		created, err := l.Session.Create(path.Join(l.Dir, mark+l.Marker), data, flags|zk.FlagSequence, variants.WorldACL())
		switch {
		case err == nil:
			t, _ := Parse(path.Base(created), l.Marker)
			return t, nil
		case errors.Is(err, zk.ErrSessionExpired):
			return Ticket{}, variants.ErrSessionLost
		case !variants.OutcomeUnknown(err):
			return Ticket{}, fmt.Errorf("create a ticket in %s: %w", l.Dir, err)
		}
		t, found, err := l.find(ctx, mark)
		switch {
		case err != nil:
			return Ticket{}, err
		case l.Session.SessionID() != sessionID: // what was created is dying with the old session, or was never ours
			if found {
				return Ticket{}, l.Withdraw(ctx, t, variants.ErrSessionLost)
			}
			return Ticket{}, variants.ErrSessionLost
		case found:
			return t, nil
		}
	}
}

// find looks for the ticket with a mark, even if ctx has ended: a ticket left behind would block everybody after it.
// The sync matters where the session was re-attached to a server that lags behind.
func (l Line) find(ctx context.Context, mark string) (t Ticket, found bool, err error) {
	ctx, cancel := variants.Cleanup(ctx)
	defer cancel()
	err = variants.Retry(ctx, l.Lost, func() error {
		if _, err := l.Session.Sync(l.Dir); err != nil {
			return err
		}
		children, _, err := l.Session.Children(l.Dir)
		t, found = l.marked(children, mark)
		return err
	})
	return t, found, err
}

// marked returns the ticket with a mark among the children.
func (l Line) marked(children []string, mark string) (t Ticket, found bool) {
	for _, t := range Sorted(children, l.Marker) {
		if strings.HasPrefix(t.Name, mark+l.Marker) {
			return t, true
		}
	}
	return Ticket{}, false
}

// Take takes an ephemeral ticket and waits with it, in the way that is given, for what tickets are taken for. If the
// wait fails, the ticket is given back.
func (l Line) Take(ctx context.Context, wait func(context.Context, Ticket) error) (Ticket, error) {
	mine, err := l.Enter(ctx, nil, zk.FlagEphemeral)
	if err != nil {
		return Ticket{}, err
	}
	if err := wait(ctx, mine); err != nil {
		return Ticket{}, l.Withdraw(ctx, mine, err)
	}
	return mine, nil
}

// NewExclusive makes something that one client holds or does not of a way to wait in a line: it is held from when the
// wait is over until the ticket is given back. grant says what a ticket then grants; already is as in
// [variants.NewExclusive]. The mark of the line may still be set afterwards.
func NewExclusive[G any](l *Line, already error, wait func(context.Context, Ticket) error, grant func(Ticket) G) *variants.Exclusive[G] {
	var mine Ticket
	return variants.NewExclusive(l.Lost, already, func(ctx context.Context) (granted G, err error) {
		if mine, err = l.Take(ctx, wait); err != nil {
			return granted, err
		}
		return grant(mine), nil
	}, func(ctx context.Context) error { return l.Leave(ctx, mine) })
}

// Leave gives a ticket back.
func (l Line) Leave(ctx context.Context, t Ticket) error {
	return variants.Remove(ctx, l.Session, l.Lost, l.Path(t))
}

// Withdraw gives a ticket back after err, and returns err, joined with why the ticket could not be given back if that
// matters: the ticket of a lost session goes with it.
func (l Line) Withdraw(ctx context.Context, t Ticket, err error) error {
	ctx, cancel := variants.Cleanup(ctx)
	defer cancel()
	if left := l.Leave(ctx, t); left != nil && !errors.Is(left, variants.ErrSessionLost) {
		return errors.Join(err, left)
	}
	return err
}

// Behind returns the ticket just before mine among the children, or false if mine is the first. That mine is missing
// means that its session is gone: variants.ErrSessionLost.
func (l Line) Behind(mine Ticket, children []string) (predecessor Ticket, waiting bool, err error) {
	there := false
	for _, name := range children { // a herd that lists thousands of times has no time to sort
		switch t, ok := Parse(name, l.Marker); {
		case !ok:
		case t == mine:
			there = true
		case t.Before(mine) && (!waiting || predecessor.Before(t)):
			predecessor, waiting = t, true
		}
	}
	if !there {
		return Ticket{}, false, variants.ErrSessionLost
	}
	return predecessor, waiting, nil
}

// List returns the children of the directory, asking again while the connection is down.
func (l Line) List(ctx context.Context) ([]string, error) {
	var children []string
	err := variants.Retry(ctx, l.Lost, func() error {
		var err error
		children, _, err = l.Session.Children(l.Dir)
		return err
	})
	return children, err
}

// ListW is List with a watch.
func (l Line) ListW(ctx context.Context) ([]string, <-chan zk.Event, error) {
	var children []string
	var watch <-chan zk.Event
	err := variants.Retry(ctx, l.Lost, func() error {
		var err error
		children, _, watch, err = l.Session.ChildrenW(l.Dir)
		return err
	})
	return children, watch, err
}

// AwaitFirst returns when mine is the first in line. It watches only the ticket just before it; when that is gone it
// lists again, because whoever stood there may have given up rather than had its turn.
func (l Line) AwaitFirst(ctx context.Context, mine Ticket) error {
	return l.AwaitEach(ctx, func(children []string) (Ticket, bool, error) { return l.Behind(mine, children) })
}

// AwaitEach lists the children of the directory, without a watch, waits for the ticket that next finds among them, and
// begins anew, until there is none to wait for.
func (l Line) AwaitEach(ctx context.Context, next func(children []string) (watched Ticket, waiting bool, err error)) error {
	for {
		children, err := l.List(ctx)
		if err != nil {
			return err
		}
		watched, waiting, err := next(children)
		if err != nil || !waiting {
			return err
		}
		if err := l.AwaitChange(ctx, watched); err != nil {
			return err
		}
	}
}

// AwaitChildren lists the children of the directory with a watch, waits for the watch, and begins anew, for as long as
// there is something to wait for among them. The watch of the last listing stays behind.
func (l Line) AwaitChildren(ctx context.Context, waiting func(children []string) (bool, error)) error {
	for {
		children, watch, err := l.ListW(ctx)
		if err != nil {
			return err
		}
		if wait, err := waiting(children); err != nil || !wait {
			return err
		}
		if err := variants.Await(ctx, l.Lost, watch); err != nil {
			return err
		}
	}
}

// AwaitChange returns when a ticket has been given back, or at once if it is gone: it is read with a watch, because
// getData leaves none behind on a znode that does not exist. Writing to a ticket ends the wait, too.
func (l Line) AwaitChange(ctx context.Context, t Ticket) error {
	var watch <-chan zk.Event
	err := variants.Retry(ctx, l.Lost, func() error {
		var err error
		_, _, watch, err = l.Session.GetW(l.Path(t))
		return err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil
	case err != nil:
		return err
	}
	return variants.Await(ctx, l.Lost, watch)
}
