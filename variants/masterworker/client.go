package masterworker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// Client submits tasks, a batch at a time, and learns their results. Its methods may be called concurrently and then run
// one after another. One of [NewClient] works as follows; [NewBookClient] and [NewCheckedClient] describe others.
//
//  1. In one multi, create an empty ephemeral status/<task> and a tasks/<task> for each task of the batch, so that the master
//     is notified once. If the reply is lost, send the multi again: should a status exist, the first one took effect.
//  2. Read each status with a watch. A status that has been written to is a result.
//  3. When a watch fires, read that status.
//  4. With all results, delete the statuses in one multi.
//
// The tasks of a client whose session ends are still executed. Its statuses end with the session, because no other client can
// learn the results.
type Client struct {
	// Resubmitting is called, unless it is nil, before a task is submitted once more because the reply was lost, if it may then be
	// executed twice. It may be called concurrently.
	Resubmitting func()

	session *session.Session
	at      layout
	id      string
	number  int // of tasks submitted, or tried to
	batch   []*submission
	create  func(ctx context.Context, task []byte) (string, error) // of a book client, which creates tasks one by one; nil for others
}

type submission struct {
	task   string         // where it is pending; empty if that is not known
	watch  *session.Watch // on the status; nil if none is set
	done   bool
	result []byte
}

// NewClient returns a client of the system that [Create] has made below dir.
func NewClient(s *session.Session, dir string) *Client {
	return &Client{session: s, at: layoutOf(dir), id: rand.Text()}
}

func (c *Client) isBook() bool { return c.create != nil }

// Submit submits a batch of tasks, with [NewClient] all or none. If it fails, Finish withdraws the tasks that were
// submitted; if its context ended, Result also finds out whether the tasks were submitted.
func (c *Client) Submit(ctx context.Context, tasks [][]byte) error {
	return c.session.DoWhileAlive(ctx, func(ctx context.Context) error {
		if len(c.batch) > 0 {
			return ErrOutstanding
		}
		if c.isBook() {
			return c.submitEach(ctx, tasks)
		}
		return c.submitAtOnce(ctx, tasks)
	}, nil)
}

func (c *Client) submitAtOnce(ctx context.Context, tasks [][]byte) error {
	var ops []any
	for _, data := range tasks {
		s := &submission{task: path.Join(c.at.tasks, fmt.Sprintf("%s-%010d", c.id, c.number))}
		c.number++
		c.batch = append(c.batch, s)
		ops = append(ops, &zk.CreateRequest{Path: c.status(s), Flags: zk.FlagEphemeral}, &zk.CreateRequest{Path: s.task, Data: data})
	}
	_, repeated, err := c.session.Multi(ctx, ops...)
	if err != nil && (!repeated || !errors.Is(err, zk.ErrNodeExists)) {
		return session.Attempted("submit tasks to "+c.at.tasks, err)
	}
	for _, s := range c.batch {
		if err := c.look(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) status(s *submission) string { return path.Join(c.at.status, path.Base(s.task)) }

// Result waits for the result of a task of the batch, by its index.
func (c *Client) Result(ctx context.Context, task int) ([]byte, error) {
	for {
		s, err := c.lookAt(ctx, task)
		if err != nil {
			return nil, err
		}
		if s.done {
			return s.result, nil
		}
	}
}

func (c *Client) lookAt(ctx context.Context, task int) (*submission, error) {
	return session.RunWhileAlive(ctx, c.session, func(ctx context.Context) (*submission, error) {
		if task < 0 || task >= len(c.batch) || c.batch[task].task == "" {
			return nil, ErrNoBatch
		}
		s := c.batch[task]
		if s.done {
			return s, nil
		}
		return s, c.advance(ctx, s)
	}, nil)
}

// due reports whether the result is known or may be there. It depends on the notifications that have arrived.
func (s *submission) due() bool { return s.done || s.watch == nil || s.watch.Fired() }

// advance waits for a notification of a status and reads it, or reads it with a watch if none is set.
func (c *Client) advance(ctx context.Context, s *submission) error {
	if s.watch == nil {
		return c.look(ctx, s)
	}
	if err := c.session.Await(ctx, s.watch); err != nil {
		return err
	}
	s.watch = nil
	return c.read(ctx, s)
}

// look reads a status with a watch. That of a book client may not exist yet.
func (c *Client) look(ctx context.Context, s *submission) error {
	if c.isBook() {
		exists, _, watch, err := c.session.ExistsW(ctx, c.status(s))
		if s.watch = watch; err == nil && exists {
			return c.read(ctx, s)
		}
		return session.Attempted("watch "+c.status(s), err)
	}
	data, stat, watch, err := c.session.GetW(ctx, c.status(s))
	s.watch = watch
	return c.take(s, data, stat, err)
}

func (c *Client) read(ctx context.Context, s *submission) error {
	data, stat, err := c.session.Get(ctx, c.status(s))
	return c.take(s, data, stat, err)
}

// take takes the result from a status. If that of a book client does not exist, the watch has fired without need.
func (c *Client) take(s *submission, data []byte, stat *zk.Stat, err error) error {
	switch {
	case c.isBook() && errors.Is(err, zk.ErrNoNode):
		return nil
	case err != nil:
		return session.Attempted("read "+c.status(s), err)
	}
	s.done, s.result = c.isBook() || stat.Version > 0, data
	return nil
}

// Finish deletes the rest of the batch. Tasks that are still pending are withdrawn. Tasks that are assigned are still
// executed, but the client does not learn their results.
func (c *Client) Finish(ctx context.Context) error {
	return c.session.DoWhileAlive(ctx, func(ctx context.Context) error {
		if len(c.batch) == 0 {
			return nil
		}
		end := c.clear
		if slices.ContainsFunc(c.batch, func(s *submission) bool { return !s.done }) {
			end = c.withdraw
		}
		err := end(ctx)
		if err == nil {
			c.batch = nil
		}
		return err
	}, nil)
}

// clear deletes the statuses of a batch with all results.
func (c *Client) clear(ctx context.Context) error {
	if c.isBook() {
		return pipeline(ctx, window, len(c.batch), func(i int) error { return c.session.Discard(ctx, c.status(c.batch[i])) })
	}
	var ops []any
	for _, s := range c.batch {
		ops = append(ops, &zk.DeleteRequest{Path: c.status(s), Version: -1})
	}
	_, repeated, err := c.session.Multi(ctx, ops...)
	if repeated && errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return session.Attempted("delete statuses from "+c.at.status, err)
}

// withdraw deletes the existing znodes of an unfinished batch, one by one.
func (c *Client) withdraw(ctx context.Context) error {
	for _, s := range c.batch {
		if s.task == "" {
			continue
		}
		for _, znode := range []string{s.task, c.status(s)} {
			if err := c.session.Discard(ctx, znode); err != nil {
				return err
			}
		}
	}
	return nil
}
