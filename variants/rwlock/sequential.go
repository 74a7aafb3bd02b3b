package rwlock

import (
	"context"
	"slices"
	"strings"

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
	for _, t := range tickets.Sorted(children, readMarker) {
		all = append(all, newContender(t, Read))
	}
	for _, t := range tickets.Sorted(children, writeMarker) {
		all = append(all, newContender(t, Write))
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

// sequential is one client's place in the line. The variants that share it differ in how they wait.
type sequential struct {
	tickets.Line // with the marker of readers
	exclusive    *session.Exclusive[Grant]
	mine         tickets.Ticket // while the lock is held
	wait         func(ctx context.Context, mine contender) error
}

func (s *sequential) init(sess *session.Session, dir string, wait func(context.Context, contender) error) {
	s.Line = tickets.New(sess, dir, readMarker)
	s.exclusive = session.NewExclusive[Grant](sess, ErrHeld, nil, func(ctx context.Context) error { return s.Leave(ctx, s.mine) })
	s.wait = wait
}

func (s *sequential) Acquire(ctx context.Context, mode Mode) (Grant, error) {
	return s.exclusive.AcquireBy(ctx, func(ctx context.Context) (granted Grant, err error) {
		s.mine, err = s.lineFor(mode).Take(ctx, func(ctx context.Context, mine tickets.Ticket) error {
			return s.wait(ctx, newContender(mine, mode))
		})
		if err != nil {
			return granted, err
		}
		return Grant{Mode: mode, Token: int64(s.mine.Seq), Lost: s.Session.Lost()}, nil
	})
}

func (s *sequential) Release(ctx context.Context) error { return s.exclusive.Release(ctx) }

func (s *sequential) lineFor(mode Mode) tickets.Line {
	l := s.Line
	l.Marker = markerFor(mode)
	return l
}

func markerFor(mode Mode) string {
	if mode == Write {
		return writeMarker
	}
	return readMarker
}

func (s *sequential) await(ctx context.Context, mine contender, find finder) error {
	return s.AwaitEach(ctx, next(mine, find))
}

// finder finds the ticket that a client must wait for among the contenders before it, if there is one.
type finder = func(Mode, []contender) (watched tickets.Ticket, waiting bool)

func next(mine contender, find finder) tickets.Next {
	return func(children []string) (tickets.Ticket, bool, error) {
		before, err := ahead(mine, children)
		if err != nil {
			return tickets.Ticket{}, false, err
		}
		watched, waiting := find(mine.mode, before)
		return watched, waiting, nil
	}
}
