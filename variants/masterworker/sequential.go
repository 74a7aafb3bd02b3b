package masterworker

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// NewBookClient returns a client that works as the book's does, see [Book]. After a lost reply it creates a task once more, so that
// the task may be executed twice.
func NewBookClient(s *session.Session, dir string) *Client {
	c := NewClient(s, dir)
	c.create = c.createSequential
	return c
}

// NewCheckedClient returns a client that works as a book client does, but creates its tasks below the path that the
// master specifies, see [BookChecked].
func NewCheckedClient(s *session.Session, dir string) *Client {
	c := NewClient(s, dir)
	c.create = c.createChecked
	return c
}

func (c *Client) submitEach(ctx context.Context, tasks [][]byte) error {
	for range tasks {
		c.batch = append(c.batch, &submission{})
	}
	return pipeline(ctx, window, len(tasks), func(i int) (err error) {
		if c.batch[i].task, err = c.create(ctx, tasks[i]); err != nil {
			return err
		}
		return c.look(ctx, c.batch[i])
	})
}

func (c *Client) sequential(ctx context.Context, prefix string, create func(session.Conn) (string, error)) (string, error) {
	created, again := "", false
	_, err := c.session.Retry(ctx, func(conn session.Conn) (err error) {
		if again && c.Resubmitting != nil {
			c.Resubmitting()
		}
		again = true
		created, err = create(conn)
		return err
	})
	return created, session.Attempted("create "+prefix, err)
}

func (c *Client) createSequential(ctx context.Context, data []byte) (string, error) {
	prefix := path.Join(c.at.tasks, "task-")
	return c.sequential(ctx, prefix, func(conn session.Conn) (string, error) { return conn.Create(prefix, data, zk.FlagSequence, nil) })
}

func (c *Client) createChecked(ctx context.Context, data []byte) (string, error) {
	for {
		parent, stat, err := c.session.Get(ctx, c.at.masterPath)
		if err != nil {
			return "", session.Attempted("read "+c.at.masterPath, err)
		}
		prefix := path.Join(string(parent), taskPrefix(string(parent)))
		created, err := c.sequential(ctx, prefix, func(conn session.Conn) (string, error) {
			results, err := conn.Multi(&zk.CheckVersionRequest{Path: c.at.masterPath, Version: stat.Version},
				&zk.CreateRequest{Path: prefix, Data: data, Flags: zk.FlagSequence})
			if err != nil {
				return "", err
			}
			return results[1].String, nil
		})
		if !errors.Is(err, zk.ErrBadVersion) {
			return created, err
		}
	}
}

// The names of tasks begin with taskPrefix of their directory: task-<mid>- in tasks-<mid>. The numbers begin again in
// each directory, and the names of statuses and assignments must differ.
func taskPrefix(dir string) string { return strings.Replace(path.Base(dir), "tasks", "task", 1) + "-" }

// NewBookWorker registers a worker as [NewWorker] does, which works as the book's does, see [Book]. If the status exists, another
// worker was faster.
//
// The book sends the two writes without waiting for the reply to the first. With this client library they could then arrive in the
// other order, and a worker that died between them would take the task with it.
func NewBookWorker(ctx context.Context, s *session.Session, dir, name string) (*Worker, error) {
	return newWorker(ctx, s, dir, name, true)
}

func (w *Worker) reportThenDelete(ctx context.Context, task string, result []byte) error {
	if err := w.session.Ensure(ctx, path.Join(w.at.status, task), result, 0); err != nil {
		return err
	}
	return w.session.Discard(ctx, path.Join(w.dir, task))
}
