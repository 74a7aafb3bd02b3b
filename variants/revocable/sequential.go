package revocable

import (
	"context"

	"github.com/zkbench/zkbench/variants/revocation"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

const marker = "-lock-"

// sequential is shared by the variants: one client's place in the line, and the requests that it listens for while it
// holds. They differ in how a holder reads these requests, and in what waiters do besides asking.
type sequential struct {
	*session.Exclusive
	tickets.Line
	await     func(ctx context.Context, mine tickets.Ticket) error // returns when the client's own ticket is the first
	look      revocation.Look
	mine      tickets.Ticket // while the lock is held, as is listening
	listening *revocation.Listening
}

func (s *sequential) init(sess *session.Session, dir string, look revocation.Look) {
	s.Line = tickets.New(sess, dir, marker)
	s.await, s.look = s.awaitTurn, look
	s.Exclusive = session.NewExclusive(sess, s.acquire, func(ctx context.Context) error {
		s.listening.Stop()
		return s.Leave(ctx, s.mine)
	})
}

func (s *sequential) acquire(ctx context.Context) (granted session.Grant, err error) {
	s.mine, err = tickets.Take(ctx, s.Line, func(ctx context.Context, mine tickets.Ticket) (err error) {
		if err := s.await(ctx, mine); err != nil {
			return err
		}
		s.listening, err = revocation.Listen(ctx, s.Session, s.Path(mine), s.look)
		return err
	})
	if err != nil {
		return granted, err
	}
	return session.Grant{Token: int64(s.mine.Seq), Revoked: s.listening.Revoked, Lost: s.listening.Lost}, nil
}

// awaitTurn asks the client just before in the line to give up, and waits.
func (s *sequential) awaitTurn(ctx context.Context, mine tickets.Ticket) error {
	return s.queue(ctx, mine, func(_, predecessor tickets.Ticket) error { return s.AwaitWatch(ctx, predecessor) })
}

// queue asks the predecessor and calls wait, until mine is the first. It asks before it watches, or the watch would
// fire for the request. Each new predecessor is asked: the one that withdrew may not have asked it.
func (s *sequential) queue(ctx context.Context, mine tickets.Ticket, wait func(first, predecessor tickets.Ticket) error) error {
	var asked, first tickets.Ticket
	return s.AwaitEachBy(ctx, func(children []string) (tickets.Ticket, bool, error) {
		predecessor, waiting, err := s.Predecessor(mine, children)
		if waiting {
			first = tickets.Sorted(children, marker)[0]
		}
		return predecessor, waiting, err
	}, func(ctx context.Context, predecessor tickets.Ticket) (over bool, err error) {
		if predecessor != asked {
			exists, err := revocation.Ask(ctx, s.Session, s.Path(predecessor))
			if err != nil || !exists {
				return false, err
			}
			asked = predecessor
		}
		return false, wait(first, predecessor)
	})
}
