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

// manner is what the variants differ in.
type manner interface {
	// awaitTurn asks the one before the own ticket, and returns when the own is the first.
	awaitTurn(ctx context.Context, mine line.Ticket) error
	// look tells whether the holder of a ticket has been asked to give up, when it has just acquired the lock.
	look(ctx context.Context, mine line.Ticket) (seen, error)
	// lookAgain looks when there may be something new.
	lookAgain(ctx context.Context, mine line.Ticket, last seen) (seen, error)
}

// seen is what a holder has seen on its own znode.
type seen struct {
	asked bool
	watch <-chan zk.Event // nil if none is armed
}

// sequential is what the variants share: one client's place in the line and its life cycle.
type sequential struct {
	*variants.Exclusive[Grant]
	line.Line
	manner    manner
	mine      line.Ticket // while the lock is held, as is listening
	listening *listening
}

// init makes a lock of a manner.
func (s *sequential) init(session variants.Session, dir string, lost <-chan struct{}, m manner) {
	s.Line = line.New(session, dir, marker, lost)
	s.manner = m
	s.Exclusive = variants.NewExclusive(lost, ErrHeld, s.acquire, s.release)
}

func (s *sequential) acquire(ctx context.Context) (Grant, error) {
	var first seen
	mine, err := s.Take(ctx, func(ctx context.Context, mine line.Ticket) error {
		if err := s.manner.awaitTurn(ctx, mine); err != nil {
			return err
		}
		var err error
		first, err = s.manner.look(ctx, mine)
		return err
	})
	if err != nil {
		return Grant{}, err
	}
	s.mine = mine
	s.listening = newListening(first, s.Lost)
	s.listening.start(ctx, first, func(ctx context.Context, last seen) (seen, error) { return s.manner.lookAgain(ctx, mine, last) })
	return Grant{Token: int64(mine.Seq), Revoked: s.listening.revoked, Lost: s.listening.lost}, nil
}

func (s *sequential) release(ctx context.Context) error {
	s.listening.stop()
	return s.Leave(ctx, s.mine)
}

// awaitTurn is how those wait who leave it at asking.
func (s *sequential) awaitTurn(ctx context.Context, mine line.Ticket) error {
	return s.queue(ctx, mine, func(_, predecessor line.Ticket) error { return s.AwaitChange(ctx, predecessor) })
}

// queue asks whoever stands before the own ticket, and waits in the way that is given, until the own is the first. The one
// before it is asked before it is watched, or the watch would fire for the request. It may be another one later: who
// withdrew may not have asked.
func (s *sequential) queue(ctx context.Context, mine line.Ticket, wait func(first, predecessor line.Ticket) error) error {
	var asked line.Ticket
	for {
		children, err := s.List(ctx)
		if err != nil {
			return err
		}
		predecessor, waiting, err := s.Behind(mine, children)
		if err != nil || !waiting {
			return err
		}
		if predecessor != asked {
			there, err := s.ask(ctx, predecessor)
			if err != nil {
				return err
			}
			if !there {
				continue
			}
			asked = predecessor
		}
		if err := wait(line.Sorted(children, marker)[0], predecessor); err != nil {
			return err
		}
	}
}

// ask asks the owner of a ticket to give up; false if it has. It does no harm to ask twice.
func (s *sequential) ask(ctx context.Context, t line.Ticket) (bool, error) {
	err := variants.Retry(ctx, s.Lost, func() error {
		_, err := s.Session.Set(s.Path(t), []byte(unlock), -1)
		return err
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("write to %s: %w", s.Path(t), err)
	default:
		return true, nil
	}
}

// read looks at the own znode. That it is gone means the same as for one who gives it back.
func (s *sequential) read(ctx context.Context, mine line.Ticket) (seen, error) {
	var data []byte
	err := variants.Retry(ctx, s.Lost, func() error {
		var err error
		data, _, err = s.Session.Get(s.Path(mine))
		return err
	})
	return seen{asked: string(data) == unlock}, goneIsLost(err)
}

// readW is read with a watch.
func (s *sequential) readW(ctx context.Context, mine line.Ticket) (seen, error) {
	var data []byte
	var watch <-chan zk.Event
	err := variants.Retry(ctx, s.Lost, func() error {
		var err error
		data, _, watch, err = s.Session.GetW(s.Path(mine))
		return err
	})
	return seen{asked: string(data) == unlock, watch: watch}, goneIsLost(err)
}

func goneIsLost(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return variants.ErrSessionLost
	}
	return err
}

// listening is what goes on behind a holder's back until it releases.
type listening struct {
	sessionLost   <-chan struct{}
	revoked, lost chan struct{} // as in a Grant
	asked         bool          // revoked is closed
	cancel        context.CancelFunc
	done          chan struct{}
}

func newListening(first seen, sessionLost <-chan struct{}) *listening {
	l := &listening{sessionLost: sessionLost, revoked: make(chan struct{}), lost: make(chan struct{}), done: make(chan struct{})}
	l.hear(first)
	return l
}

// start begins to look again and again after a first look. That it waits does not mean that the client does.
func (l *listening) start(ctx context.Context, first seen, lookAgain func(context.Context, seen) (seen, error)) {
	ctx, l.cancel = context.WithCancel(variants.WithWaiting(context.WithoutCancel(ctx), func(*variants.Wait) {}))
	go func() {
		defer close(l.done)
		l.run(ctx, first, lookAgain)
	}()
}

// run looks until the holder has been asked, and further if a watch tells more.
func (l *listening) run(ctx context.Context, last seen, lookAgain func(context.Context, seen) (seen, error)) {
	for !l.asked || last.watch != nil {
		now, err := lookAgain(ctx, last)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil: // it cannot be known whether the lock is held still
			l.hear(seen{asked: true})
			close(l.lost)
			return
		}
		l.hear(now)
		last = now
	}
	select {
	case <-l.sessionLost:
		close(l.lost)
	case <-ctx.Done():
	}
}

func (l *listening) hear(now seen) {
	if now.asked && !l.asked {
		l.asked = true
		close(l.revoked)
	}
}

// stop returns when nothing goes on any more. It may be called more than once.
func (l *listening) stop() {
	l.cancel()
	<-l.done
}
