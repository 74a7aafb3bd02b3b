package rwlock

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/line"
)

// What stands in the names of the tickets.
const (
	readMarker  = "-read-"
	writeMarker = "-write-"
)

// contender is one place in the line, with what it is for.
type contender struct {
	line.Ticket
	mode Mode
}

// contenders returns the readers and writers among the children of a directory, the first in line first. The numbers of
// both kinds come from the directory's one counter, so that they compare.
func contenders(children []string) []contender {
	var all []contender
	for _, t := range line.Sorted(children, readMarker) {
		all = append(all, contender{t, Read})
	}
	for _, t := range line.Sorted(children, writeMarker) {
		all = append(all, contender{t, Write})
	}
	slices.SortFunc(all, func(a, b contender) int {
		if a.Before(b.Ticket) {
			return -1
		}
		return 1
	})
	return all
}

// ahead returns those who stand before mine. That mine is missing means that its session is gone:
// variants.ErrSessionLost.
func ahead(mine contender, children []string) ([]contender, error) {
	all := contenders(children)
	i := slices.Index(all, mine)
	if i < 0 {
		return nil, variants.ErrSessionLost
	}
	return all[:i], nil
}

func isWriter(c contender) bool { return c.mode == Write }

// sequential is what the variants share: one client's place in the line and its life cycle. They differ in how they
// wait. The lane is there because the steps cannot be interrupted while the server is silent.
type sequential struct {
	line.Line // for everything that does not depend on the mode; its marker is the readers'
	lane      variants.Lane
	mine      *contender // nil while the lock is not held
	wait      func(ctx context.Context, mine contender) error
}

// init makes a sequential lock of a way to wait.
func (s *sequential) init(session variants.Session, dir string, lost <-chan struct{}, wait func(context.Context, contender) error) {
	s.Line = line.New(session, dir, readMarker, lost)
	s.lane = variants.NewLane()
	s.wait = wait
}

// await waits for one after another of those that next finds among the contenders before mine, until it finds none.
func (s *sequential) await(ctx context.Context, mine contender, next func(Mode, []contender) (watched line.Ticket, waiting bool)) error {
	return s.AwaitEach(ctx, func(children []string) (line.Ticket, bool, error) {
		before, err := ahead(mine, children)
		if err != nil {
			return line.Ticket{}, false, err
		}
		watched, waiting := next(mine.mode, before)
		return watched, waiting, nil
	})
}

// Acquire implements [Lock].
func (s *sequential) Acquire(ctx context.Context, mode Mode) (Grant, error) {
	return variants.Run(ctx, s.lane, func(ctx context.Context) (Grant, error) {
		return s.acquire(ctx, mode)
	}, func(Grant) {
		ctx, cancel := variants.Cleanup(ctx)
		defer cancel()
		_ = s.release(ctx) // the caller has left; if this fails too, the znode ends with the session
	})
}

// Release implements [Lock].
func (s *sequential) Release(ctx context.Context) error {
	return variants.Do(ctx, s.lane, s.release, nil)
}

// acquire grants nothing to a lost session: the client library goes on with a new one, under which the znode may have
// been created.
func (s *sequential) acquire(ctx context.Context, mode Mode) (Grant, error) {
	if s.mine != nil {
		return Grant{}, ErrHeld
	}
	ticket, err := s.door(mode).Enter(ctx, nil, zk.FlagEphemeral)
	if err != nil {
		return Grant{}, err
	}
	mine := contender{ticket, mode}
	if err := s.wait(ctx, mine); err != nil {
		return Grant{}, s.Withdraw(ctx, ticket, err)
	}
	if err := variants.Alive(s.Lost); err != nil {
		return Grant{}, s.Withdraw(ctx, ticket, err)
	}
	s.mine = &mine
	return Grant{Mode: mode, Token: int64(ticket.Seq), Lost: s.Lost}, nil
}

// door is the line as those enter it who want the lock in this mode.
func (s *sequential) door(mode Mode) line.Line {
	l := s.Line
	if mode == Write {
		l.Marker = writeMarker
	}
	return l
}

func (s *sequential) release(ctx context.Context) error {
	if s.mine == nil {
		return nil
	}
	err := s.Leave(ctx, s.mine.Ticket)
	if err == nil || errors.Is(err, variants.ErrSessionLost) {
		s.mine = nil
	}
	return err
}
