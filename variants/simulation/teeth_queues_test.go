package simulation_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/blockingqueue"
	"github.com/zkbench/zkbench/variants/config"
	"github.com/zkbench/zkbench/variants/masterworker"
	"github.com/zkbench/zkbench/variants/membership"
	"github.com/zkbench/zkbench/variants/priorityqueue"
	"github.com/zkbench/zkbench/variants/queue"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/treecache"
	"github.com/zkbench/zkbench/variants/twophasecommit"
	"github.com/zkbench/zkbench/variants/watchload"
)

// queueMistakes are mistakes in recipes in which clients pass something on to each other.
func queueMistakes() []mistake {
	return []mistake{
		{"deletes that come too late", queue.Recipe, on(queue.Recipe, "list-and-delete", tooLate)},
		{"repeated puts", blockingqueue.Recipe, on(blockingqueue.Recipe, "all-watch", sending(repeated))},
		{"unseen marks", blockingqueue.Recipe, on(blockingqueue.Recipe, "marked-ticket", reading(instead("released", "")))},
		{"orphans that stay", queue.Recipe, on(queue.Recipe, "matched-ticket", sending(unmoved))},
		{"orphans that no consumer gets", blockingqueue.Recipe, on(blockingqueue.Recipe, "matched-ticket", sending(unmoved))},
		{"tickets that last", queue.Recipe, on(queue.Recipe, "matched-ticket", func(c session.Conn) session.Conn { return persistent{c} })},
		{"items of the living", queue.Recipe, on(queue.Recipe, "matched-ticket", func(c session.Conn) session.Conn { return lonely{c} })},
		{"items of the living, deleted first", queue.Recipe, on(queue.Recipe, "matched-delete", func(c session.Conn) session.Conn { return lonely{c} })},
		{"unseen marks of takers", priorityqueue.Recipe, on(priorityqueue.Recipe, "marked-ticket", reading(instead("released", "")))},
		{"the oldest item in place of the most urgent", priorityqueue.Recipe, on(priorityqueue.Recipe, "marked-ticket", oldestFirst)},
		{"items that are only marked as taken", priorityqueue.Recipe, on(priorityqueue.Recipe, "marked-ticket", sending(undeleted))},
		{"buried tasks", masterworker.Recipe, on(masterworker.Recipe, "multi", sending(buried))},
		{"moves without doubt", masterworker.Recipe, withoutDoubt},
		{"votes and outcomes of no site", twophasecommit.Recipe, on(twophasecommit.Recipe, "coordinator", reading(instead("", "commit")))},
		{"outcomes that turn", twophasecommit.Recipe, onLaterLives(twophasecommit.Recipe, "coordinator", reading(instead("commit", "abort")))},
		{"updates that look alike", config.ReadRecipe, on(config.ReadRecipe, "read-through", reading(oneTransaction))},
		{"copies that look alike", config.ReadRecipe, on(config.ReadRecipe, "watched-cache", reading(oneTransaction))},
		{"losses that no client hears of", membership.Recipe, on(membership.Recipe, "diff-cache", func(c session.Conn) session.Conn { return deaf{c} })},
		{"publications made twice", watchload.Recipe, on(watchload.Recipe, "one-znode", func(c session.Conn) session.Conn { return unversioned{c} })},
		{"watches that are not resumed", treecache.Recipe, in(treecache.Recipe, "resumed-watches", hearingUntilAnOutage)},
	}
}

// unversioned is a connection on which a write succeeds whatever version it asks for.
type unversioned struct{ session.Conn }

func (u unversioned) Set(path string, data []byte, _ int32) (*zk.Stat, error) {
	return u.Conn.Set(path, data, -1)
}

type multi struct {
	session.Conn
	do func(c session.Conn, ops []any) ([]zk.MultiResponse, error)
}

func (m multi) Multi(ops ...any) ([]zk.MultiResponse, error) { return m.do(m.Conn, slices.Clone(ops)) }

// tooLate makes a connection on which the delete at the end of a transaction need not be the deciding one.
func tooLate(c session.Conn) session.Conn {
	return multi{c, func(c session.Conn, ops []any) ([]zk.MultiResponse, error) {
		results, err := c.Multi(ops...)
		if _, deletes := ops[len(ops)-1].(*zk.DeleteRequest); deletes && errors.Is(err, zk.ErrNoNode) {
			return c.Multi(ops[:len(ops)-1]...) // the journal, so that the next write is in step
		}
		return results, err
	}}
}

// sending makes connections that send other transactions than they are given.
func sending(rewrite func(ops []any) []any) func(session.Conn) session.Conn {
	return func(c session.Conn) session.Conn {
		return multi{c, func(c session.Conn, ops []any) ([]zk.MultiResponse, error) { return c.Multi(rewrite(ops)...) }}
	}
}

// repeated lets a transaction take effect again after a lost reply.
func repeated(ops []any) []any {
	for i, op := range ops {
		if s, ok := op.(*zk.SetDataRequest); ok {
			blind := *s
			blind.Version = -1
			ops[i] = &blind
		}
	}
	return ops
}

// buried removes the tasks of a dead worker without assigning them again.
func buried(ops []any) []any {
	if !slices.ContainsFunc(ops, func(op any) bool {
		d, ok := op.(*zk.DeleteRequest)
		return ok && path.Base(path.Dir(d.Path)) == "assign"
	}) {
		return ops
	}
	return slices.DeleteFunc(ops, func(op any) bool { _, creates := op.(*zk.CreateRequest); return creates })
}

// withoutDoubt returns masters that assign in two steps, and claim that a task is assigned once whichever of them dies.
func withoutDoubt() variants.Variant {
	v := on(masterworker.Recipe, "create-then-delete", func(c session.Conn) session.Conn { return c })()
	join := v.Join
	v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		record := env.Record
		env.Record = func(kind variants.EventKind, value int64) {
			switch kind {
			case masterworker.Doubtful:
			case masterworker.Assigning:
				record(kind, 0)
			default:
				record(kind, value)
			}
		}
		return join(ctx, env)
	}
	return v
}

// onLaterLives is on for clients that have joined again.
func onLaterLives(recipe func() variants.Recipe, variant string, mistaken func(session.Conn) session.Conn) func() variants.Variant {
	return func() variants.Variant {
		v := on(recipe, variant, func(c session.Conn) session.Conn { return c })()
		first, later := v.Join, on(recipe, variant, mistaken)().Join
		v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
			if env.Life > 0 {
				return later(ctx, env)
			}
			return first(ctx, env)
		}
		return v
	}
}

// oldest is a connection that hides all items of a priority queue but the oldest.
type oldest struct{ session.Conn }

func oldestFirst(c session.Conn) session.Conn { return oldest{c} }

func (o oldest) Children(p string) ([]string, *zk.Stat, error) {
	names, stat, err := o.Conn.Children(p)
	items := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, "queue-") })
	if len(items) == 0 {
		return names, stat, err
	}
	number := func(name string) string { return name[strings.LastIndex(name, "-")+1:] }
	return []string{slices.MinFunc(items, func(a, b string) int { return cmp.Compare(number(a), number(b)) })}, stat, err
}

// undeleted ends a turn without the delete of its item.
func undeleted(ops []any) []any {
	if _, marks := ops[len(ops)-1].(*zk.SetDataRequest); !marks {
		return ops
	}
	return slices.DeleteFunc(ops, func(op any) bool { _, deletes := op.(*zk.DeleteRequest); return deletes })
}

// reader is a connection that reads other data than the server has.
type reader struct {
	session.Conn
	alter func(data []byte, stat *zk.Stat) []byte
}

func reading(alter func([]byte, *zk.Stat) []byte) func(session.Conn) session.Conn {
	return func(c session.Conn) session.Conn { return reader{c, alter} }
}

func (r reader) Get(p string) ([]byte, *zk.Stat, error) {
	data, stat, err := r.Conn.Get(p)
	if err == nil {
		data = r.alter(data, stat)
	}
	return data, stat, err
}

func (r reader) GetW(p string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, watch, err := r.Conn.GetW(p)
	if err == nil {
		data = r.alter(data, stat)
	}
	return data, stat, watch, err
}

// instead replaces the data of a znode that has exactly this data.
func instead(of, other string) func([]byte, *zk.Stat) []byte {
	return func(data []byte, _ *zk.Stat) []byte {
		if bytes.Equal(data, []byte(of)) {
			return []byte(other)
		}
		return data
	}
}

// oneTransaction makes all transactions the same.
func oneTransaction(data []byte, stat *zk.Stat) []byte {
	stat.Mzxid = 1
	return data
}

// deaf is a connection whose watches on children never fire.
type deaf struct{ session.Conn }

func (d deaf) ChildrenW(p string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	names, stat, _, err := d.Conn.ChildrenW(p)
	return names, stat, make(chan zk.Event), err
}

// hearingUntilAnOutage returns a handle on a session that hears no notification after its first outage, as if the client library did not send
// its watches again.
func hearingUntilAnOutage(ctx context.Context, s *session.Session) *session.Session {
	events, err := s.Subscribe()
	if err != nil {
		panic(err)
	}
	hears := session.NewMonitor(time.Hour)
	go func() {
		defer hears.Lose()
		for over := false; s.AwaitEvents(ctx, events, nil) == nil; {
			for _, e := range events.Take() {
				if over = over || e.State == zk.StateDisconnected; e.Type == zk.EventSession || !over {
					hears.Observe(e)
				}
			}
		}
	}()
	return session.NewMonitoredSession(s.Conn(), hears)
}
