package lock

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

// line is the queue that the sequential variants stand in: ephemeral sequential znodes below one directory, the lowest
// of which holds the lock.
type line struct {
	session variants.Session
	lost    <-chan struct{}
	dir     string
}

// ticket is one place in the line.
type ticket struct {
	name string
	seq  int32
}

// marker stands between a ticket's GUID and its sequence number, and tells tickets from foreign znodes.
const marker = "-lock-"

func parseTicket(name string) (ticket, bool) {
	i := strings.LastIndex(name, marker)
	if i < 0 {
		return ticket{}, false
	}
	seq, err := strconv.ParseInt(name[i+len(marker):], 10, 32)
	return ticket{name: name, seq: int32(seq)}, err == nil
}

// parseTickets returns the tickets among the children, the holder's first. The server's counter wraps to negative
// numbers after 2^31-1, so it is the distance between two that decides, not their values.
func parseTickets(children []string) []ticket {
	tickets := make([]ticket, 0, len(children))
	for _, name := range children {
		if t, ok := parseTicket(name); ok {
			tickets = append(tickets, t)
		}
	}
	slices.SortFunc(tickets, func(a, b ticket) int { return int(a.seq - b.seq) })
	return tickets
}

// enter takes a ticket.
//
// A create whose reply is lost may have taken effect. Then, and only then, the line is searched for the GUID that this
// attempt has put into its name: what is found is ours, and what is not found after a sync was never created. So
// recovery costs nothing as long as it is not needed, in contrast to a session id in the name, which has to be looked
// for before every create. The GUID is new for each attempt, so that a later one cannot adopt what an earlier one left.
func (l line) enter(ctx context.Context) (ticket, error) {
	guid, sessionID := rand.Text(), l.session.SessionID()
	for {
		if err := ctx.Err(); err != nil {
			return ticket{}, err
		}
		created, err := l.session.Create(path.Join(l.dir, guid+marker), nil, zk.FlagEphemeral|zk.FlagSequence, worldACL())
		switch {
		case err == nil:
			t, _ := parseTicket(path.Base(created))
			return t, nil
		case errors.Is(err, zk.ErrSessionExpired):
			return ticket{}, variants.ErrSessionLost
		case !variants.OutcomeUnknown(err):
			return ticket{}, fmt.Errorf("create a ticket in %s: %w", l.dir, err)
		}
		t, found, err := l.find(ctx, guid)
		switch {
		case err != nil:
			return ticket{}, err
		case l.session.SessionID() != sessionID: // what was created is dying with the old session, or was never ours
			if found {
				return ticket{}, l.withdraw(ctx, t, variants.ErrSessionLost)
			}
			return ticket{}, variants.ErrSessionLost
		case found:
			return t, nil
		}
	}
}

// find looks for the ticket with a GUID, even if ctx has ended: a ticket left behind would block everybody after it.
// The sync matters where the session was re-attached to a server that lags behind.
func (l line) find(ctx context.Context, guid string) (t ticket, found bool, err error) {
	ctx, cancel := variants.Cleanup(ctx)
	defer cancel()
	err = variants.Retry(ctx, l.lost, func() error {
		if _, err := l.session.Sync(l.dir); err != nil {
			return err
		}
		children, _, err := l.session.Children(l.dir)
		for _, name := range children {
			if strings.HasPrefix(name, guid+marker) {
				t, found = parseTicket(name)
			}
		}
		return err
	})
	return t, found, err
}

// leave gives a ticket back.
func (l line) leave(ctx context.Context, t ticket) error {
	return remove(ctx, l.session, l.lost, path.Join(l.dir, t.name))
}

// withdraw gives a ticket back after err, and returns err, joined with why the ticket could not be given back if that
// matters: the ticket of a lost session goes with it.
func (l line) withdraw(ctx context.Context, t ticket, err error) error {
	ctx, cancel := variants.Cleanup(ctx)
	defer cancel()
	if left := l.leave(ctx, t); left != nil && !errors.Is(left, variants.ErrSessionLost) {
		return errors.Join(err, left)
	}
	return err
}

// behind returns the ticket just before mine among the children, or false if mine is the first. That mine is missing
// means that its session is gone.
func behind(mine ticket, children []string) (predecessor ticket, waiting bool, err error) {
	tickets := parseTickets(children)
	i := slices.Index(tickets, mine)
	switch {
	case i < 0:
		return ticket{}, false, variants.ErrSessionLost
	case i == 0:
		return ticket{}, false, nil
	default:
		return tickets[i-1], true, nil
	}
}

// sequential is what the variants with tickets share: one client's place in the line and its life cycle. They differ
// in how they wait.
type sequential struct {
	exclusive
	line
	mine *ticket // nil while the lock is not held
	wait func(ctx context.Context, mine ticket) error
}

// init makes a sequential lock of a way to wait.
func (s *sequential) init(l line, wait func(context.Context, ticket) error) {
	l.dir = path.Clean(l.dir) // a trailing slash would make it a path that no listing accepts
	s.line, s.wait = l, wait
	s.exclusive = newExclusive(l.lost, s.acquire, s.release)
}

func (s *sequential) acquire(ctx context.Context) (Grant, error) {
	if s.mine != nil {
		return Grant{}, ErrHeld
	}
	mine, err := s.enter(ctx)
	if err != nil {
		return Grant{}, err
	}
	if err := s.wait(ctx, mine); err != nil {
		return Grant{}, s.withdraw(ctx, mine, err)
	}
	s.mine = &mine
	return Grant{Token: int64(mine.seq), Lost: s.lost}, nil
}

func (s *sequential) release(ctx context.Context) error {
	if s.mine == nil {
		return nil
	}
	err := s.leave(ctx, *s.mine)
	if err == nil || errors.Is(err, variants.ErrSessionLost) {
		s.mine = nil
	}
	return err
}

// list returns the children, asking again while the connection is down. It arms a watch only if list itself does.
func (l line) list(ctx context.Context, list func(dir string) ([]string, error)) ([]string, error) {
	var children []string
	err := variants.Retry(ctx, l.lost, func() error {
		var err error
		children, err = list(l.dir)
		return err
	})
	return children, err
}
