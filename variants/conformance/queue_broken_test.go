package conformance_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/priorityqueue"
	"github.com/zkbench/zkbench/variants/queue"
)

// racing is a session whose user does not mind that a delete comes too late, and that lets all such sessions read the
// same item before any of them deletes it.
type racing struct {
	*zk.Conn
	once  sync.Once
	ready *sync.WaitGroup
}

func (r *racing) Multi(ops ...any) ([]zk.MultiResponse, error) {
	_, deletes := ops[len(ops)-1].(*zk.DeleteRequest)
	if !deletes {
		return r.Conn.Multi(ops...)
	}
	r.once.Do(func() { r.ready.Done(); r.ready.Wait() })
	results, err := r.Conn.Multi(ops...)
	if errors.Is(err, zk.ErrNoNode) {
		return r.Conn.Multi(ops[:len(ops)-1]...) // the journal, so that the next write is in step
	}
	return results, err
}

// The check must be able to fail: a queue that does not look whether its delete was the one that counted hands an item
// out twice.
func TestQueueThatHandsAnItemOutTwiceIsCaught(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		dir := directory(t, v)
		var ready sync.WaitGroup
		var sessions []variants.Conn
		for _, c := range clients(t, v, 2) {
			ready.Add(1)
			sessions = append(sessions, &racing{Conn: c.conn, ready: &ready})
		}
		h := queueSteps(t, queue.Recipe(), "list-and-delete", sessions, dir, 1)
		mustBreak(t, queue.Recipe(), h, "had taken")
	})
}

// losing is a session that says of its first put that it has been made, and does not make it.
type losing struct {
	*zk.Conn
	once sync.Once
}

func (l *losing) Multi(ops ...any) ([]zk.MultiResponse, error) {
	if create, ok := ops[len(ops)-1].(*zk.CreateRequest); ok && create.Flags == zk.FlagSequence {
		l.once.Do(func() { ops = ops[:len(ops)-1] })
	}
	return l.Conn.Multi(ops...)
}

// A lost item must be noticed, too: by a client that finds the queue empty.
func TestQueueThatLosesAnItemIsCaught(t *testing.T) {
	t.Parallel()
	for _, variant := range queueVariants {
		bubbles.run(t, variant.name, func(t *testing.T, v venue) {
			dir := directory(t, v)
			c := clients(t, v, 1)[0]
			h := lossyQueue(t, queue.Recipe(), variant.name, 10, &losing{Conn: c.conn}, dir)
			if violations := queue.Recipe().Violations(h); len(violations) == 0 {
				t.Error("the loss was not caught")
			}
		})
	}
}

// frozen is a session whose listings show no item that was put after the first listing of items.
type frozen struct {
	*zk.Conn
	listed map[string]bool
}

func (f *frozen) Children(path string) ([]string, *zk.Stat, error) {
	children, stat, err := f.Conn.Children(path)
	if f.listed == nil && len(children) > 1 { // the journals and an item
		f.listed = map[string]bool{}
		for _, name := range children {
			f.listed[name] = true
		}
	}
	return slices.DeleteFunc(children, func(name string) bool { return f.listed != nil && !f.listed[name] }), stat, err
}

// A client that never refreshes its first list misses all items that are put later.
func TestQueueThatNeverListsAgainIsCaught(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cached-list", "offset-cached-list"} {
		bubbles.run(t, name, func(t *testing.T, v venue) {
			session := &frozen{Conn: clients(t, v, 1)[0].conn}
			h := lossyQueue(t, queue.Recipe(), name, 12, session, directory(t, v))
			mustBreak(t, queue.Recipe(), h, "found nothing, although item")
		})
	}
	bubbles.run(t, "stale-list", func(t *testing.T, v venue) {
		session := &frozen{Conn: clients(t, v, 1)[0].conn}
		h := lossyQueue(t, priorityqueue.Recipe(), "stale-list", 11, session, directory(t, v))
		mustBreak(t, priorityqueue.Recipe(), h, "found nothing, although item")
	})
}

// lossyQueue takes steps until a step finds nothing, which is after a number of holds.
func lossyQueue(t *testing.T, recipe variants.Recipe, name string, holds int, session variants.Conn, dir string) variants.History {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := newCompany(ctx, variantOf(recipe, name), variants.Env{
		Clients: 1, Root: dir,
		Hold: func(ctx context.Context, _ <-chan struct{}) error {
			if holds--; holds == 0 {
				time.AfterFunc(100*time.Millisecond, cancel)
			}
			return ctx.Err()
		},
	})
	p := c.join(t, session, nil)
	var err error
	for err == nil {
		err = p.Step(ctx)
	}
	wantError(t, "a step without enough items", err, context.Canceled)
	return c.history()
}
