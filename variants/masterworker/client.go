package masterworker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
)

// Client submits tasks, a batch at a time, and learns their results. Its methods may be called concurrently and then run
// one after another.
//
//  1. In one multi, create an empty status/<task> and a tasks/<task> for each task of the batch. So whoever watches
//     tasks is told once. If the reply is lost, send it again: should a status exist, the multi had taken effect.
//  2. Read each status with a watch. It has a result if it has been written to.
//  3. When a watch fires, read that status.
//  4. With all results, delete the statuses in one multi.
type Client struct {
	session variants.Session
	lost    <-chan struct{}
	at      layout
	lane    variants.Lane
	id      string
	number  int // of tasks submitted, or tried to
	batch   []*submission
}

// submission is one task of a batch.
type submission struct {
	name   string
	watch  <-chan zk.Event // on the status; nil if none is set
	done   bool
	result []byte
}

// NewClient returns a client of what [Create] has made below dir. lost is closed when the session is.
func NewClient(session variants.Session, dir string, lost <-chan struct{}) *Client {
	return &Client{session: session, lost: lost, at: layoutOf(dir), lane: variants.NewLane(), id: rand.Text()}
}

// Submit submits a batch of tasks, all or none. If it fails, Finish makes sure that it was none; if it was only
// interrupted, that can also be learned from Result.
func (c *Client) Submit(ctx context.Context, tasks [][]byte) error {
	return do(ctx, c.lane, c.lost, func(ctx context.Context) error {
		if len(c.batch) > 0 {
			return ErrOutstanding
		}
		if err := c.submit(ctx, tasks); err != nil {
			return err
		}
		for _, s := range c.batch {
			if err := c.look(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Client) submit(ctx context.Context, tasks [][]byte) error {
	var ops []any
	for _, data := range tasks {
		s := &submission{name: fmt.Sprintf("%s-%010d", c.id, c.number)}
		c.number++
		c.batch = append(c.batch, s)
		ops = append(ops,
			&zk.CreateRequest{Path: path.Join(c.at.status, s.name), Acl: variants.WorldACL()},
			&zk.CreateRequest{Path: path.Join(c.at.tasks, s.name), Data: data, Acl: variants.WorldACL()})
	}
	attempts := 0
	err := variants.Retry(ctx, c.lost, func() error {
		attempts++
		_, err := c.session.Multi(ops...)
		return err
	})
	if attempts > 1 && errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return attempted("submit tasks to", c.at.tasks, err)
}

// Result waits for the result of a task of the batch, by its index.
func (c *Client) Result(ctx context.Context, task int) ([]byte, error) {
	return run(ctx, c.lane, c.lost, func(ctx context.Context) ([]byte, error) {
		if task < 0 || task >= len(c.batch) {
			return nil, ErrNoBatch
		}
		s := c.batch[task]
		for !s.done {
			if s.watch == nil {
				if err := c.look(ctx, s); err != nil {
					return nil, err
				}
				continue
			}
			if err := variants.Await(ctx, c.lost, s.watch); err != nil {
				return nil, err
			}
			s.watch = nil
			if err := c.read(ctx, s, c.session.Get); err != nil {
				return nil, err
			}
		}
		return s.result, nil
	})
}

// look reads a status with a watch.
func (c *Client) look(ctx context.Context, s *submission) error {
	var watch <-chan zk.Event
	err := c.read(ctx, s, func(path string) ([]byte, *zk.Stat, error) {
		data, stat, w, err := c.session.GetW(path)
		watch = w
		return data, stat, err
	})
	if err == nil {
		s.watch = watch
	}
	return err
}

// read reads a status. It trusts no watch across an outage: a request that is sent again when the client has reconnected
// may be answered before the server is asked which watches have missed something, and hides from it that they have.
func (c *Client) read(ctx context.Context, s *submission, get func(path string) ([]byte, *zk.Stat, error)) error {
	status := path.Join(c.at.status, s.name)
	attempts := 0
	err := variants.Retry(ctx, c.lost, func() error {
		attempts++
		data, stat, err := get(status)
		if err == nil {
			s.done, s.result = stat.Version > 0, data
		}
		return err
	})
	if attempts > 1 {
		for _, other := range c.batch {
			other.watch = nil
		}
	}
	return attempted("read", status, err)
}

// Finish deletes what is left of the batch. Tasks that are still pending are withdrawn; of those that are assigned, nobody
// learns the result.
func (c *Client) Finish(ctx context.Context) error {
	return do(ctx, c.lane, c.lost, func(ctx context.Context) error {
		if len(c.batch) == 0 {
			return nil
		}
		if err := c.finish(ctx); err != nil {
			return err
		}
		c.batch = nil
		return nil
	})
}

func (c *Client) finish(ctx context.Context) error {
	var ops []any
	for _, s := range c.batch {
		if !s.done {
			return c.withdraw(ctx)
		}
		ops = append(ops, &zk.DeleteRequest{Path: path.Join(c.at.status, s.name), Version: -1})
	}
	attempts := 0
	err := variants.Retry(ctx, c.lost, func() error {
		attempts++
		_, err := c.session.Multi(ops...)
		return err
	})
	if attempts > 1 && errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return attempted("delete statuses from", c.at.status, err)
}

// withdraw deletes the tasks of an unfinished batch one by one, as far as they are there.
func (c *Client) withdraw(ctx context.Context) error {
	for _, s := range c.batch {
		for _, dir := range []string{c.at.tasks, c.at.status} {
			if err := discard(ctx, c.session, path.Join(dir, s.name), c.lost); err != nil {
				return err
			}
		}
	}
	return nil
}
