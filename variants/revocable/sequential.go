package revocable

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/line"
)

// marker is in the names of a lock's tickets.
const marker = "-lock-"

// unlock is what is written to the znode of a holder to ask it to give up.
const unlock = "unlock"

// strategy is what the variants differ in.
type strategy interface {
	// awaitTurn asks the client just before in the line to give up, and returns when the client's own ticket is the first.
	awaitTurn(ctx context.Context, mine line.Ticket) error
	// look finds out whether the holder of a ticket has been asked to give up, when it has just acquired the lock.
	look(ctx context.Context, mine line.Ticket) (seen, error)
	// lookAgain looks when there may be something new.
	lookAgain(ctx context.Context, mine line.Ticket, last seen) (seen, error)
}

// seen is what a holder has seen on its own znode.
type seen struct {
	asked bool
	watch *variants.Watch // nil if none is armed
}

// sequential is what the variants share: one client's place in the line, and what it hears while it holds.
type sequential struct {
	*variants.Exclusive[Grant]
	line.Line
	background *variants.Session // on which a holder listens
	strategy   strategy
	mine       line.Ticket // while the lock is held, as is listening
	listening  *listening
}

// init prepares a lock with a strategy.
func (s *sequential) init(session *variants.Session, dir string, strategy strategy) {
	s.Line = line.New(session, dir, marker)
	s.background = session.Background()
	s.strategy = strategy
	s.Exclusive = variants.NewExclusive(session, ErrHeld, s.acquire, s.release)
}

func (s *sequential) acquire(ctx context.Context) (Grant, error) {
	var first seen
	mine, err := s.Take(ctx, func(ctx context.Context, mine line.Ticket) (err error) {
		if err := s.strategy.awaitTurn(ctx, mine); err != nil {
			return err
		}
		first, err = s.strategy.look(ctx, mine)
		return err
	})
	if err != nil {
		return Grant{}, err
	}
	s.mine = mine
	s.listening = listen(ctx, s.Session.Lost(), first, func(ctx context.Context, last seen) (seen, error) {
		return s.strategy.lookAgain(ctx, mine, last)
	})
	return Grant{Token: int64(mine.Seq), Revoked: s.listening.revoked, Lost: s.listening.lost}, nil
}

func (s *sequential) release(ctx context.Context) error {
	s.listening.stop()
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
			exists, err := s.ask(ctx, predecessor)
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

// ask asks the owner of a ticket to give up, and reports whether the ticket exists. To ask twice does no harm.
func (s *sequential) ask(ctx context.Context, t line.Ticket) (exists bool, err error) {
	_, err = s.Session.Set(ctx, s.Path(t), []byte(unlock), -1)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("write to %s: %w", s.Path(t), err)
	default:
		return true, nil
	}
}

// read looks at the client's own znode. If that is gone, the lock is lost.
func (s *sequential) read(ctx context.Context, mine line.Ticket) (seen, error) {
	data, _, err := s.background.Get(ctx, s.Path(mine))
	return seen{asked: string(data) == unlock}, goneIsLost(err)
}

// readW is read with a watch.
func (s *sequential) readW(ctx context.Context, mine line.Ticket) (seen, error) {
	data, _, watch, err := s.background.GetW(ctx, s.Path(mine))
	return seen{asked: string(data) == unlock, watch: watch}, goneIsLost(err)
}

func goneIsLost(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return variants.ErrSessionLost
	}
	return err
}
