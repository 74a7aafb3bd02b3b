package revocable

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/line"
	"github.com/zkbench/zkbench/variants/revoking"
)

// marker is in the names of a lock's tickets.
const marker = "-lock-"

// strategy is what the variants differ in.
type strategy interface {
	// awaitTurn asks the client just before in the line to give up, and returns when the client's own ticket is the first.
	awaitTurn(ctx context.Context, mine line.Ticket) error
	// ear returns how the holder of a znode learns that it has been asked to give up.
	ear(mine revoking.Znode) revoking.Ear
}

// sequential is what the variants share: one client's place in the line, and what it hears while it holds.
type sequential struct {
	*variants.Exclusive[Grant]
	line.Line
	background *variants.Session // on which a holder listens
	strategy   strategy
	mine       line.Ticket // while the lock is held, as is listening
	listening  *revoking.Listening
}

// init prepares a lock with a strategy.
func (s *sequential) init(session *variants.Session, dir string, strategy strategy) {
	s.Line = line.New(session, dir, marker)
	s.background = session.Background()
	s.strategy = strategy
	s.Exclusive = variants.NewExclusive(session, ErrHeld, s.acquire, s.release)
}

func (s *sequential) acquire(ctx context.Context) (Grant, error) {
	var ear revoking.Ear
	var first revoking.Seen
	mine, err := s.Take(ctx, func(ctx context.Context, mine line.Ticket) (err error) {
		if err := s.strategy.awaitTurn(ctx, mine); err != nil {
			return err
		}
		ear = s.strategy.ear(revoking.Znode{Session: s.background, Path: s.Path(mine)})
		first, err = ear.Look(ctx)
		return err
	})
	if err != nil {
		return Grant{}, err
	}
	s.mine = mine
	s.listening = revoking.Listen(ctx, s.Session.Lost(), ear, first)
	return Grant{Token: int64(mine.Seq), Revoked: s.listening.Revoked, Lost: s.listening.Lost}, nil
}

func (s *sequential) release(ctx context.Context) error {
	s.listening.Stop()
	return s.Leave(ctx, s.mine)
}

// awaitTurn is the strategy of a waiter that asks and does no more.
func (s *sequential) awaitTurn(ctx context.Context, mine line.Ticket) error {
	return s.queue(ctx, mine, func(_, predecessor line.Ticket) error { return s.AwaitWatch(ctx, predecessor) })
}

// queue asks the predecessor and waits for it in the given way, until mine is the first. It asks before it watches, or the
// watch would fire for the request. Each new predecessor is asked: the one that withdrew may not have asked it.
func (s *sequential) queue(ctx context.Context, mine line.Ticket, wait func(first, predecessor line.Ticket) error) error {
	var asked line.Ticket
	for {
		children, err := s.List(ctx)
		if err != nil {
			return err
		}
		predecessor, waiting, err := s.Predecessor(mine, children)
		if err != nil || !waiting {
			return err
		}
		if predecessor != asked {
			exists, err := revoking.Ask(ctx, s.Session, s.Path(predecessor))
			if err != nil {
				return err
			}
			if !exists {
				continue
			}
			asked = predecessor
		}
		if err := wait(line.Sorted(children, marker)[0], predecessor); err != nil {
			return err
		}
	}
}
