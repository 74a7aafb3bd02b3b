package rwlock

import (
	"context"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/variants/revocation"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

const (
	readMarker   = "-read-"
	writeMarker  = "-write-"
	urgentMarker = "-urgent" // before one of these, where clients differ in priority
)

// contender is one place in the line, with its mode.
type contender struct {
	tickets.Ticket
	mode   Mode
	urgent bool
}

func newContender(t tickets.Ticket, mode Mode) contender {
	return contender{t, mode, strings.Contains(t.Name, urgentMarker)}
}

// contenders returns the readers and writers among the children of a directory, the first in line first. The numbers of
// both kinds come from the directory's one counter, so that they compare.
func contenders(children []string) []contender {
	var all []contender
	for _, mode := range []Mode{Read, Write} {
		for _, t := range tickets.Sorted(children, markerFor(mode)) {
			all = append(all, newContender(t, mode))
		}
	}
	slices.SortFunc(all, func(a, b contender) int { return int(a.Seq - b.Seq) })
	return all
}

// ahead returns the contenders before mine. If mine is missing, its session is gone: session.ErrSessionLost.
func ahead(mine contender, children []string) ([]contender, error) {
	all := contenders(children)
	i := slices.Index(all, mine)
	if i < 0 {
		return nil, session.ErrSessionLost
	}
	return all[:i], nil
}

func isWriter(c contender) bool { return c.mode == Write }

// sequential is one client's place in the line, and what it listens for from its turn on. The variants that share it differ in their
// turn.
type sequential struct {
	tickets.Line // with the marker of readers
	exclusive    *session.Exclusive
	turn         turn
	leave        func(context.Context, tickets.Ticket) error
	mine         contender             // while the lock is held, as is listening
	listening    *revocation.Listening // nil if no client can ask it
}

// turn waits for a client's turn. It returns the requests that the client listens for from then on, nil if no client
// may ask it.
type turn func(ctx context.Context, mine contender) (*revocation.Listening, error)

func (s *sequential) init(sess *session.Session, dir string, turn turn) {
	s.Line = tickets.New(sess, dir, readMarker)
	s.turn, s.leave = turn, s.Leave
	s.exclusive = session.NewExclusive(sess, nil, func(ctx context.Context) error {
		s.listening.Stop()
		return s.leave(ctx, s.mine.Ticket)
	})
}

// Acquire implements [Lock].
func (s *sequential) Acquire(ctx context.Context, mode Mode) (session.Grant, error) {
	return s.acquire(ctx, mode, s.lineFor(mode).Enter)
}

func (s *sequential) acquire(
	ctx context.Context, mode Mode, enter func(context.Context) (tickets.Ticket, error),
) (session.Grant, error) {
	return s.exclusive.AcquireBy(ctx, func(ctx context.Context) (granted session.Grant, err error) {
		mine, err := enter(ctx)
		if err != nil {
			return granted, err
		}
		s.mine = newContender(mine, mode)
		if s.listening, err = s.turn(ctx, s.mine); err != nil {
			return granted, s.Withdraw(ctx, mine, err)
		}
		if s.listening != nil {
			granted.Revoked, granted.Lost = s.listening.Revoked, s.listening.Lost
		}
		granted.Token = int64(mine.Seq)
		return granted, nil
	})
}

// Release implements [Lock].
func (s *sequential) Release(ctx context.Context) error { return s.exclusive.Release(ctx) }

func (s *sequential) lineFor(mode Mode) tickets.Line {
	l := s.Line
	l.Marker = markerFor(mode)
	return l
}

func markerFor(mode Mode) string { return [...]string{Read: readMarker, Write: writeMarker}[mode] }

// next returns the [tickets.Next] that looks for the ticket that mine must wait for among the contenders before it, if there is one.
func next(mine contender, find func(Mode, []contender) (watched tickets.Ticket, waiting bool)) tickets.Next {
	return func(children []string) (watched tickets.Ticket, waiting bool, err error) {
		before, err := ahead(mine, children)
		watched, waiting = find(mine.mode, before)
		return watched, waiting, err
	}
}
