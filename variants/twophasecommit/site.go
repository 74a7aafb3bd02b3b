package twophasecommit

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// site is shared by the variants: a site's place in its group, and the life cycle of transactions. They differ in their
// strategy.
type site struct {
	session *session.Session
	group   Group

	current *Transaction // nil before the first
	ready   bool
	vote    Decision // in current; none until it is about to be cast
	outcome Decision // of current; none until it is known
	opened  int64    // the last round that the coordinator has tried to open; -1 for none
	oldest  int64    // at the coordinator: the first round whose transaction may be left

	strategy strategy
}

// strategy is how the votes on the current transaction are collected and how the decision is made known. Each method may
// be called again after it failed.
type strategy interface {
	begin(round int64) // forgets the last transaction
	prepare(ctx context.Context, t *Transaction) error
	// resume prepares a transaction in which the site may have taken part before, and returns its outcome if that is known;
	// zk.ErrNoNode if the transaction is gone.
	resume(ctx context.Context, t *Transaction) (Decision, error)
	decide(ctx context.Context) (Decision, error)
}

func newSite(sess *session.Session, group Group, s strategy) site {
	group.Dir = path.Clean(group.Dir)
	return site{session: sess, group: group, opened: -1, strategy: s}
}

func (s *site) Prepare(ctx context.Context, query []byte) (Transaction, error) {
	return session.RunWhileAlive(ctx, s.session, func(ctx context.Context) (Transaction, error) {
		switch {
		case s.current == nil:
			s.next(0, query)
		case s.outcome != "":
			s.next(s.current.Round+1, query)
		case !s.ready && s.current.Query == nil:
			s.current.Query = query // after a Resume that found the transaction unopened
		}
		if !s.ready {
			if err := s.strategy.prepare(ctx, s.current); err != nil {
				return Transaction{}, err
			}
			s.ready = true
		}
		return *s.current, nil
	}, nil)
}

func (s *site) next(round int64, query []byte) {
	s.current, s.ready, s.vote, s.outcome = &Transaction{Round: round, Query: query}, false, "", ""
	s.strategy.begin(round)
}

type resumption struct {
	outcomes []Outcome
	next     int64
}

func (s *site) Resume(ctx context.Context) (outcomes []Outcome, next int64, err error) {
	r, err := session.RunWhileAlive(ctx, s.session, s.resume, nil)
	return r.outcomes, r.next, err
}

// resume goes through the transactions that are in the tree.
func (s *site) resume(ctx context.Context) (resumption, error) {
	first, last, err := s.rounds(ctx)
	if err != nil {
		return resumption{}, err
	}
	if s.coordinates() {
		s.oldest, s.opened = first, last
	}
	var r resumption
	for round := first; round <= last; round++ {
		outcome, err := s.review(ctx, round)
		if err != nil {
			return resumption{}, err
		}
		r.next = round
		if outcome != "" {
			r.outcomes, r.next = append(r.outcomes, Outcome{round, outcome}), round+1
		}
	}
	return r, nil
}

// review makes an earlier transaction the current one, and returns its outcome if it is known. A transaction that has
// been deleted meanwhile has none.
func (s *site) review(ctx context.Context, round int64) (Decision, error) {
	s.next(round, nil)
	outcome, err := s.strategy.resume(ctx, s.current)
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, ErrWithdrawn) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("resume transaction %d: %w", round, err)
	}
	s.outcome, s.ready = outcome, true
	return outcome, nil
}

// rounds returns the rounds of the first and the last transaction in the tree; 0 and -1 if there is none.
func (s *site) rounds(ctx context.Context) (first, last int64, err error) {
	names, _, err := s.session.Children(ctx, s.group.Dir)
	if err != nil {
		return 0, -1, session.Attempted("list "+s.group.Dir, err)
	}
	var rounds []int64
	for _, name := range names {
		text, ours := strings.CutPrefix(name, transactionPrefix)
		if round, err := strconv.ParseInt(text, 10, 64); ours && err == nil {
			rounds = append(rounds, round)
		}
	}
	if len(rounds) == 0 {
		return 0, -1, nil
	}
	return slices.Min(rounds), slices.Max(rounds), nil
}

func (s *site) Decide(ctx context.Context, vote Decision) (Decision, error) {
	return session.RunWhileAlive(ctx, s.session, func(ctx context.Context) (Decision, error) {
		if !s.ready {
			return "", ErrNotPrepared
		}
		if s.vote == "" {
			s.vote = vote
		}
		if s.outcome == "" {
			outcome, err := s.strategy.decide(ctx)
			if err != nil {
				return "", err
			}
			s.outcome = outcome
		}
		return s.outcome, nil
	}, nil)
}

func (s *site) Close(ctx context.Context) error { return s.session.Do(ctx, s.clear, nil) }

func (s *site) coordinates() bool { return s.group.Site == 0 }

const transactionPrefix = "tx-"

func (s *site) transaction(round int64) string {
	return path.Join(s.group.Dir, transactionPrefix+strconv.FormatInt(round, 10))
}

// ballot returns the znode below a transaction in which a site votes.
func (s *site) ballot(round int64, site int) string {
	return path.Join(s.transaction(round), slot(site))
}

func slot(site int) string { return fmt.Sprintf("s-%d", site) }

func slots(first, sites int) []string {
	var names []string
	for site := first; site < sites; site++ {
		names = append(names, slot(site))
	}
	return names
}

// deletedAtOnce is how many transactions one multi deletes at most: more than it creates, so that fewer are left each
// time.
const deletedAtOnce = 2

// open creates a transaction with the znodes below it, and deletes transactions before needed, in one multi. needed is
// the same when a transaction is opened again. The creation comes first, because a multi reports its first failure: if
// the creation fails, and an earlier attempt had an unknown outcome, then that attempt took effect. It may also have
// been an attempt of the coordinator's former process, which took effect late. Its query stands.
func (s *site) open(ctx context.Context, t *Transaction, children []string, needed int64) error {
	tx := s.transaction(t.Round)
	ops := []any{&zk.CreateRequest{Path: tx, Data: t.Query}}
	for _, child := range children {
		ops = append(ops, &zk.CreateRequest{Path: path.Join(tx, child)})
	}
	deletions, oldest := s.deletions(needed, children)
	tried := s.opened == t.Round
	s.opened = t.Round
	_, repeated, err := s.session.Multi(ctx, append(ops, deletions...)...)
	switch {
	case errors.Is(err, zk.ErrNodeExists) && !tried && !repeated && !s.group.Again:
		s.opened-- // there is nothing of ours to clear
		err = ErrTaken
	case err == nil:
		s.oldest = oldest
	case errors.Is(err, zk.ErrNodeExists):
		s.oldest = oldest
		t.Query, _, err = s.session.Get(ctx, tx)
	}
	return session.Attempted("open "+tx, err)
}

// deletions returns the operations that delete transactions before needed, and the first round that they leave.
func (s *site) deletions(needed int64, children []string) (ops []any, oldest int64) {
	for oldest = s.oldest; oldest < min(needed, s.oldest+deletedAtOnce); oldest++ {
		tx := s.transaction(oldest)
		for _, child := range children {
			ops = append(ops, &zk.DeleteRequest{Path: path.Join(tx, child), Version: -1})
		}
		ops = append(ops, &zk.DeleteRequest{Path: tx, Version: -1})
	}
	return ops, oldest
}

// await waits until the current transaction exists and can be read. The watch of an exists that finds it stays behind: it
// fires with the next write to the transaction, or when that is deleted.
func (s *site) await(ctx context.Context, read func(path string) error) error {
	tx := s.transaction(s.current.Round)
	for {
		if err := read(tx); !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		exists, _, watch, err := s.session.ExistsW(ctx, tx)
		switch {
		case err != nil:
			return session.Attempted("watch "+tx, err)
		case exists:
			continue
		}
		if err := s.session.Await(ctx, watch); err != nil {
			return err
		}
	}
}

// reading is the data of a znode.
type reading struct {
	data    string
	written bool // since it was created
}

func newReading(path string, data []byte, stat *zk.Stat, err error) (reading, error) {
	if err != nil {
		return reading{}, session.Attempted("read "+path, err)
	}
	return reading{string(data), stat.Version > 0}, nil
}

// read reads a znode; zk.ErrNoNode if it does not exist.
func (s *site) read(ctx context.Context, path string) (reading, error) {
	data, stat, err := s.session.Get(ctx, path)
	return newReading(path, data, stat, err)
}

// observe reads a znode: with a watch if none is set, and otherwise without one when the watch that is set has fired.
func (s *site) observe(ctx context.Context, path string, watch **session.Watch) (reading, error) {
	if *watch == nil {
		data, stat, set, err := s.session.GetW(ctx, path)
		*watch = set
		return newReading(path, data, stat, err)
	}
	if err := s.session.Await(ctx, *watch); err != nil {
		return reading{}, err
	}
	*watch = nil
	return s.read(ctx, path)
}

// write writes to a znode, possibly twice if a reply is lost; zk.ErrNoNode if it does not exist.
func (s *site) write(ctx context.Context, path, data string) error {
	_, err := s.session.Set(ctx, path, []byte(data), -1)
	return session.Attempted("write "+path, err)
}

func (s *site) clear(ctx context.Context) error {
	for round := s.oldest; round <= s.opened; round++ {
		if err := s.remove(ctx, s.transaction(round)); err != nil {
			return err
		}
	}
	s.opened = -1
	return nil
}

func (s *site) remove(ctx context.Context, tx string) error {
	children, _, err := s.session.Children(ctx, tx)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return session.Attempted("list "+tx, err)
	}
	for _, child := range children {
		if err := s.session.Discard(ctx, path.Join(tx, child)); err != nil {
			return err
		}
	}
	return s.session.Discard(ctx, tx)
}

func withdrawn(err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return ErrWithdrawn
	}
	return err
}
