package simulation_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/barrier"
	"github.com/zkbench/zkbench/variants/doublebarrier"
	"github.com/zkbench/zkbench/variants/election"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/revocable"
	"github.com/zkbench/zkbench/variants/rwlock"
	"github.com/zkbench/zkbench/variants/session"
)

// lockMistakes returns the mistakes of recipes in which clients hold something, or wait for each other.
func lockMistakes() []mistake {
	all := []mistake{
		{"writelock", lock.Recipe, func() variants.Variant { return lock.Recipe().Broken[0] }},
		{"creates that are repeated", lock.Recipe, on(lock.Recipe, "predecessor-watch", func(c session.Conn) session.Conn { return repeating{c} })},
		{"deletions taken for marks", lock.Recipe, on(lock.Recipe, "released-mark", func(c session.Conn) session.Conn { return deletionsAsMarks{c} })},
		{"deletions taken for marks by a relay", lock.Recipe, on(lock.Recipe, "relay", func(c session.Conn) session.Conn { return deletionsAsMarks{c} })},
		{"marks apart from the next ticket", lock.Recipe, on(lock.Recipe, "relay", func(c session.Conn) session.Conn { return apart{c} })},
		{"releases without a fence", election.Recipe, on(election.Recipe, "master-znode", changed(func(op any) any {
			if _, checks := op.(*zk.CheckVersionRequest); checks {
				return nil
			}
			return op
		}))},
		{"acknowledgements that last", election.Recipe, on(election.Recipe, "acknowledged", func(c session.Conn) session.Conn { return lasting{c} })},
		{"readers that exclude each other", rwlock.Recipe, on(rwlock.Recipe, "nearest-writer-watch", seeing(func(l *listing, name string) string {
			if name == l.own {
				return name
			}
			return strings.Replace(name, "-read-", "-write-", 1)
		}))},
		{"barriers of one name", barrier.Recipe, on(barrier.Recipe, "recheck", func(c session.Conn) session.Conn { return oneName{changed(oneNameOf)(c)} })},
		{"barriers of their clients", barrier.Recipe, on(barrier.Recipe, "no-recheck", changed(func(op any) any {
			if create, ok := op.(*zk.CreateRequest); ok {
				create.Flags |= zk.FlagEphemeral
			}
			return op
		}))},
		{"members that start what has begun", doublebarrier.Recipe, func() variants.Variant {
			v := on(doublebarrier.Recipe, "children-watch", func(c session.Conn) session.Conn { return c })()
			v.Forgoes = slices.DeleteFunc(v.Forgoes, func(l variants.Loss) bool { return l == variants.OutOfStep })
			return v
		}},
		{"members that leave blindly", doublebarrier.Recipe, on(doublebarrier.Recipe, "children-watch", seeing(func(l *listing, name string) string {
			if l.left {
				return ""
			}
			return name
		}))},
	}
	for _, marker := range []string{"-read-", "-write-"} {
		for _, v := range rwlock.Recipe().Variants {
			all = append(all, mistake{"rwlock/" + v.Name + " blind to " + marker, rwlock.Recipe, on(rwlock.Recipe, v.Name, seeing(func(l *listing, name string) string {
				if name != l.own && strings.Contains(name, marker) {
					return ""
				}
				return name
			}))})
		}
	}
	for _, v := range []struct {
		recipe  func() variants.Recipe
		variant string
	}{
		{lock.Recipe, "children-watch"}, {lock.Recipe, "predecessor-watch-session-id"}, {lock.Recipe, "back-to-back"},
		{lock.Recipe, "predecessor-watch"}, {lock.Recipe, "released-mark"}, {lock.Recipe, "relay"}, {election.Recipe, "predecessor-watch"},
		{election.Recipe, "resigned-mark"}, {revocable.Recipe, "data-watch"},
	} {
		all = append(all, mistake{v.recipe().Name + "/" + v.variant + " without a second look", v.recipe, on(v.recipe, v.variant, seeing(func(l *listing, name string) string {
			if l.watched && l.own != "" && name != l.own {
				return ""
			}
			return name
		}))})
	}
	return all
}

// listing is a connection that shows each znode of a list under another name, or not at all if see returns none.
type listing struct {
	session.Conn
	see func(l *listing, name string) string

	mu      sync.Mutex
	own     string // the last znode that the client has created; empty if it has deleted one since
	left    bool   // the client has deleted one since
	watched bool   // the client has set a watch since
}

func seeing(see func(l *listing, name string) string) func(session.Conn) session.Conn {
	return func(c session.Conn) session.Conn { return &listing{Conn: c, see: see} }
}

func (l *listing) owns(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.own, l.left, l.watched = path[strings.LastIndex(path, "/")+1:], path == "", false
}

func (l *listing) watches() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watched = true
}

func (l *listing) seen(names []string) (seen []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		if name = l.see(l, name); name != "" {
			seen = append(seen, name)
		}
	}
	return seen
}

func (l *listing) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	created, err := l.Conn.Create(path, data, flags, acl)
	if err == nil && flags&zk.FlagSequence != 0 {
		l.owns(created)
	}
	return created, err
}

func (l *listing) Delete(path string, version int32) error {
	l.owns("")
	return l.Conn.Delete(path, version)
}

func (l *listing) Multi(ops ...any) ([]zk.MultiResponse, error) {
	if _, deletes := ops[0].(*zk.DeleteRequest); deletes {
		l.owns("")
	}
	results, err := l.Conn.Multi(ops...)
	if create, ok := ops[len(ops)-1].(*zk.CreateRequest); ok && err == nil && create.Flags&zk.FlagSequence != 0 {
		l.owns(results[len(results)-1].String)
	}
	return results, err
}

func (l *listing) Children(path string) ([]string, *zk.Stat, error) {
	names, stat, err := l.Conn.Children(path)
	return l.seen(names), stat, err
}

func (l *listing) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	names, stat, watch, err := l.Conn.ChildrenW(path)
	names = l.seen(names)
	l.watches()
	return names, stat, watch, err
}

// GetW also finds a reader that it shows as a writer.
func (l *listing) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	l.watches()
	data, stat, watch, err := l.Conn.GetW(path)
	if reader := strings.Replace(path, "-write-", "-read-", 1); errors.Is(err, zk.ErrNoNode) && reader != path {
		return l.Conn.GetW(reader)
	}
	return data, stat, watch, err
}

// repeating is a connection on which a create is made once more after a lost reply, although it may have taken effect.
type repeating struct{ session.Conn }

func (r repeating) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	created, err := r.Conn.Create(path, data, flags, acl)
	if errors.Is(err, zk.ErrConnectionClosed) {
		time.Sleep(time.Second)
		return r.Conn.Create(path, data, flags, acl)
	}
	return created, err
}

// apart is a connection that makes the writes of a transaction one after another, so that some may take effect without the others.
type apart struct{ session.Conn }

func (a apart) Multi(ops ...any) (results []zk.MultiResponse, err error) {
	for _, op := range ops {
		one, err := a.Conn.Multi(op)
		if err != nil {
			return nil, err
		}
		results = append(results, one...)
	}
	return results, nil
}

// deletionsAsMarks is a connection that takes the end of a znode for a write to it.
type deletionsAsMarks struct{ session.Conn }

func (d deletionsAsMarks) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, watch, err := d.Conn.GetW(path)
	if err != nil {
		return nil, nil, nil, err
	}
	changed := make(chan zk.Event, 1)
	go func() {
		event := <-watch
		if event.Type == zk.EventNodeDeleted {
			event.Type = zk.EventNodeDataChanged
		}
		changed <- event
	}()
	return data, stat, changed, nil
}

// lasting is a connection on which a leader's acknowledgement outlives its session.
type lasting struct{ session.Conn }

func (l lasting) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	if strings.HasSuffix(path, "/acknowledged") {
		flags = 0
	}
	return l.Conn.Create(path, data, flags, acl)
}

// changed makes connections that change each operation of a transaction, or leave it out.
func changed(rewrite func(op any) any) func(session.Conn) session.Conn {
	return sending(func(ops []any) []any {
		var sent []any
		for _, op := range ops {
			if op = rewrite(op); op != nil {
				sent = append(sent, op)
			}
		}
		return sent
	})
}

// oneName is a connection to which all barriers have the same name, as in the recipe as it is often written.
type oneName struct{ session.Conn }

func (o oneName) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	return o.Conn.GetW(barrierBase(path))
}

func oneNameOf(op any) any {
	switch op := op.(type) {
	case *zk.DeleteRequest:
		op.Path = barrierBase(op.Path)
	case *zk.CreateRequest:
		op.Path = barrierBase(op.Path)
	}
	return op
}

func barrierBase(path string) string { return path[:strings.LastIndex(path, "-")] + "-0" }
