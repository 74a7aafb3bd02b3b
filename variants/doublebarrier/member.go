package doublebarrier

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/line"
)

// marker stands in the names of the members' znodes.
const marker = "-member-"

// stage is how far a member is in a round.
type stage int

const (
	outside stage = iota
	inside
	leaving // it has finished, and waits for the others
)

// member is what the variants share: where a process stands, and its own znode. They differ in how it learns of the
// others.
type member struct {
	lane    variants.Lane
	session variants.Session
	lost    <-chan struct{}
	line    line.Line
	group   Group

	stage  stage
	unseen bool        // a Leave has succeeded whose caller had given up on it
	ticket line.Ticket // its place in the round
	held   bool        // the ticket's znode is there

	algorithm algorithm
}

// algorithm is what a variant does in a round.
type algorithm interface {
	enter(ctx context.Context) error   // returns when all have entered; if it fails, abandon is called
	leave(ctx context.Context) error   // returns when all have finished; may be called again after it failed
	abandon(ctx context.Context) error // gives up what the member has, without waiting; forgets the round
}

// init makes a member of its variant's algorithm.
func (m *member) init(session variants.Session, group Group, lost <-chan struct{}, a algorithm) {
	group.Dir = path.Clean(group.Dir)
	m.lane, m.session, m.lost, m.group, m.algorithm = variants.NewLane(), session, lost, group, a
	m.line = line.New(session, group.Dir, marker, lost)
}

// Enter implements [Barrier].
func (m *member) Enter(ctx context.Context) error {
	return variants.Do(ctx, m.lane, m.enter, func() {
		_ = m.withdraw(ctx, nil) // the caller has left; if this fails, too, it ends with the session
	})
}

func (m *member) enter(ctx context.Context) error {
	if m.stage != outside {
		return ErrInside
	}
	if err := variants.Alive(m.lost); err != nil {
		return err
	}
	m.unseen = false
	err := m.algorithm.enter(ctx)
	if err == nil {
		err = variants.Alive(m.lost) // the client library goes on with a new session, under which nothing of this would be ours
	}
	if err != nil {
		return m.withdraw(ctx, err)
	}
	m.stage = inside
	return nil
}

// Leave implements [Barrier].
func (m *member) Leave(ctx context.Context) error {
	return variants.Do(ctx, m.lane, m.leave, func() { m.unseen = true })
}

func (m *member) leave(ctx context.Context) error {
	seen := !m.unseen
	m.unseen = false
	switch {
	case m.stage == outside && seen:
		return ErrOutside
	case m.stage == outside:
		return nil
	}
	if err := variants.Alive(m.lost); err != nil {
		return err
	}
	m.stage = leaving
	if err := m.algorithm.leave(ctx); err != nil {
		return err
	}
	m.stage = outside
	return nil
}

// Close implements [Barrier].
func (m *member) Close(ctx context.Context) error {
	return variants.Do(ctx, m.lane, func(ctx context.Context) error {
		m.stage = outside
		return m.algorithm.abandon(ctx)
	}, nil)
}

// withdraw gives everything up after err, and returns err, joined with why that was not possible if it matters: what
// belongs to a lost session goes with it.
func (m *member) withdraw(ctx context.Context, err error) error {
	ctx, cancel := variants.Cleanup(ctx)
	defer cancel()
	m.stage = outside
	if left := m.algorithm.abandon(ctx); left != nil && !errors.Is(left, variants.ErrSessionLost) {
		return errors.Join(err, left)
	}
	return err
}

// take creates the member's znode.
func (m *member) take(ctx context.Context) error {
	ticket, err := m.line.Enter(ctx, nil, zk.FlagEphemeral)
	if err != nil {
		return err
	}
	m.ticket, m.held = ticket, true
	return nil
}

// give deletes the member's znode, together with what else one multi shall do, unless that has been done.
func (m *member) give(ctx context.Context, also ...any) error {
	if !m.held {
		return nil
	}
	if len(also) == 0 {
		if err := m.line.Leave(ctx, m.ticket); err != nil {
			return err
		}
		m.held = false
		return nil
	}
	ops := append([]any{&zk.DeleteRequest{Path: m.line.Path(m.ticket), Version: -1}}, also...)
	if err := m.once(ctx, func() error { _, err := m.session.Multi(ops...); return err }); err != nil {
		return fmt.Errorf("delete %s: %w", m.line.Path(m.ticket), err)
	}
	m.held = false
	return nil
}

// once repeats a write that ends something of the member's own until it is known to have taken effect: that there is
// nothing to end means that an attempt before has done it, or, at the first attempt, that the session is lost.
func (m *member) once(ctx context.Context, write func() error) error {
	attempts := 0
	err := variants.Retry(ctx, m.lost, func() error {
		attempts++
		return write()
	})
	switch gone := errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion); {
	case gone && attempts > 1:
		return nil
	case gone:
		return variants.ErrSessionLost
	default:
		return err
	}
}

// watch reads a znode to watch for its end; there is no watch if it is gone already.
func (m *member) watch(ctx context.Context, path string) (watch <-chan zk.Event, err error) {
	err = variants.Retry(ctx, m.lost, func() error {
		var err error
		_, _, watch, err = m.session.GetW(path)
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return watch, err
}

// upTo returns the tickets, in their order, that do not stand behind the last one.
func upTo(last line.Ticket, tickets []line.Ticket) []line.Ticket {
	for i, t := range tickets {
		if last.Before(t) {
			return tickets[:i]
		}
	}
	return tickets
}
