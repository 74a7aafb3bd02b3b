package twophasecommit

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// site is what the variants share: where a site stands, and the life cycle of transactions. They differ in how the
// votes are collected and the decision is made known.
type site struct {
	lane    variants.Lane
	session variants.Session
	lost    <-chan struct{}
	group   Group

	current *Transaction // nil before the first
	ready   bool         // current is prepared
	vote    Decision     // in current; none until it is about to be cast
	outcome Decision     // of current; none until it is known
	opened  int64        // the last round that the coordinator has tried to open; -1 for none

	algorithm algorithm
}

// algorithm is what a variant does for the transaction that is current. Each method may be called again after it failed.
type algorithm interface {
	begin(round int64) // forgets the last transaction
	prepare(ctx context.Context, t *Transaction) error
	decide(ctx context.Context) (Decision, error)
	distrust() // forgets the watches that are set
	withdraw(ctx context.Context) error
}

// init makes a site of its variant's algorithm.
func (s *site) init(session variants.Session, group Group, lost <-chan struct{}, a algorithm) {
	group.Dir = path.Clean(group.Dir)
	s.lane, s.session, s.lost, s.group, s.opened, s.algorithm = variants.NewLane(), session, lost, group, -1, a
}

// Prepare implements [Site].
func (s *site) Prepare(ctx context.Context, query []byte) (Transaction, error) {
	return run(ctx, s, func(ctx context.Context) (Transaction, error) {
		switch {
		case s.current == nil:
			s.next(0, query)
		case s.outcome != "":
			s.next(s.current.Round+1, query)
		}
		if !s.ready {
			if err := s.algorithm.prepare(ctx, s.current); err != nil {
				return Transaction{}, err
			}
			s.ready = true
		}
		return *s.current, nil
	})
}

func (s *site) next(round int64, query []byte) {
	s.current, s.ready, s.vote, s.outcome = &Transaction{Round: round, Query: query}, false, "", ""
	s.algorithm.begin(round)
}

// Decide implements [Site].
func (s *site) Decide(ctx context.Context, vote Decision) (Decision, error) {
	return run(ctx, s, func(ctx context.Context) (Decision, error) {
		if !s.ready {
			return "", ErrNotPrepared
		}
		if s.vote == "" {
			s.vote = vote
		}
		if s.outcome == "" {
			outcome, err := s.algorithm.decide(ctx)
			if err != nil {
				return "", err
			}
			s.outcome = outcome
		}
		return s.outcome, nil
	})
}

// Close implements [Site].
func (s *site) Close(ctx context.Context) error {
	return variants.Do(ctx, s.lane, func(ctx context.Context) error {
		return errors.Join(s.algorithm.withdraw(ctx), s.clear(ctx))
	}, nil)
}

// run runs op unless the session is lost. There is nothing to undo when its caller has left: what was achieved is
// remembered, and the next call goes on from there.
func run[T any](ctx context.Context, s *site, op func(context.Context) (T, error)) (T, error) {
	if err := variants.Alive(s.lost); err != nil {
		var zero T
		return zero, err
	}
	return variants.Run(ctx, s.lane, op, func(T) {})
}

func (s *site) coordinates() bool { return s.group.Site == 0 }

func (s *site) transaction(round int64) string {
	return path.Join(s.group.Dir, fmt.Sprintf("tx-%d", round))
}

// open creates a transaction with the znodes below it, and deletes the last but one, in one multi. The creation comes
// first, because a multi reports what fails first: if that is the creation, and the outcome of an attempt before was
// unknown, then that attempt did it.
func (s *site) open(ctx context.Context, t *Transaction, children []string) error {
	tx, old := s.transaction(t.Round), s.transaction(t.Round-2)
	ops := []any{&zk.CreateRequest{Path: tx, Data: t.Query, Acl: variants.WorldACL()}}
	for _, child := range children {
		ops = append(ops, &zk.CreateRequest{Path: path.Join(tx, child), Acl: variants.WorldACL()})
	}
	if t.Round >= 2 {
		for _, child := range children {
			ops = append(ops, &zk.DeleteRequest{Path: path.Join(old, child), Version: -1})
		}
		ops = append(ops, &zk.DeleteRequest{Path: old, Version: -1})
	}
	err := variants.Retry(ctx, s.lost, func() error {
		tried := s.opened == t.Round
		s.opened = t.Round
		_, err := s.session.Multi(ops...)
		switch {
		case errors.Is(err, zk.ErrNodeExists) && tried:
			return nil
		case errors.Is(err, zk.ErrNodeExists):
			s.opened-- // there is nothing of ours to clear
			return ErrTaken
		default:
			return err
		}
	})
	return attempted("open", tx, err)
}

// await waits until the current transaction is there to be read. The watch of an exists that finds it stays behind: it
// fires with the next write to the transaction, or when that is deleted.
func (s *site) await(ctx context.Context, read func(path string) error) error {
	tx := s.transaction(s.current.Round)
	for {
		err := variants.Retry(ctx, s.lost, func() error { return read(tx) })
		if !errors.Is(err, zk.ErrNoNode) {
			return attempted("read", tx, err)
		}
		var exists bool
		var watch <-chan zk.Event
		err = variants.Retry(ctx, s.lost, func() error {
			var err error
			exists, _, watch, err = s.session.ExistsW(tx)
			return err
		})
		switch {
		case err != nil:
			return attempted("watch", tx, err)
		case exists:
			continue
		}
		if err := variants.Await(ctx, s.lost, watch); err != nil {
			return err
		}
	}
}

// reading is what a znode held, with a watch if one was asked for.
type reading struct {
	data    string
	written bool // since it was created
	watch   <-chan zk.Event
}

// retry is variants.Retry that trusts no watch across an outage. When it reconnects, the client asks the server which of
// its watches have missed something since the last reply; but a request that is sent again at that moment may be
// answered first, and its reply hides what came before it. Such a watch would never fire.
func (s *site) retry(ctx context.Context, op func() error) error {
	attempts := 0
	err := variants.Retry(ctx, s.lost, func() error {
		attempts++
		return op()
	})
	if attempts > 1 {
		s.algorithm.distrust()
	}
	return err
}

// read reads a znode; that it is missing is zk.ErrNoNode.
func (s *site) read(ctx context.Context, path string) (reading, error) {
	var r reading
	err := s.retry(ctx, func() error {
		data, stat, err := s.session.Get(path)
		if err == nil {
			r = reading{string(data), stat.Version > 0, nil}
		}
		return err
	})
	return r, attempted("read", path, err)
}

// readW is read with a watch.
func (s *site) readW(ctx context.Context, path string) (reading, error) {
	var r reading
	err := s.retry(ctx, func() error {
		data, stat, watch, err := s.session.GetW(path)
		if err == nil {
			r = reading{string(data), stat.Version > 0, watch}
		}
		return err
	})
	return r, attempted("read", path, err)
}

// write writes to a znode, perhaps twice if a reply is lost; that it is missing is zk.ErrNoNode.
func (s *site) write(ctx context.Context, path, data string) error {
	err := s.retry(ctx, func() error {
		_, err := s.session.Set(path, []byte(data), -1)
		return err
	})
	return attempted("write", path, err)
}

// clear deletes the transactions that the coordinator may have left behind.
func (s *site) clear(ctx context.Context) error {
	for round := max(s.opened-2, 0); round <= s.opened; round++ {
		tx := s.transaction(round)
		err := variants.Retry(ctx, s.lost, func() error {
			children, _, err := s.session.Children(tx)
			for _, child := range children {
				if err := s.session.Delete(path.Join(tx, child), -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
					return err
				}
			}
			if err != nil {
				return err
			}
			return s.session.Delete(tx, -1)
		})
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return attempted("delete", tx, err)
		}
	}
	s.opened = -1
	return nil
}

// attempted says what was attempted when err came; a lost session and a lost race need no more words.
func attempted(what, path string, err error) error {
	if err == nil || errors.Is(err, variants.ErrSessionLost) {
		return err
	}
	return fmt.Errorf("%s %s: %w", what, path, err)
}

// withdrawn turns the absence of a transaction that was there into what it means.
func withdrawn(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return ErrWithdrawn
	}
	return err
}
