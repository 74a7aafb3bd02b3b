package observe

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

// semaphore has clients that take one of some leases under a lock. The one with the lock watches the list of leases.
func semaphore(lease string, flags int32, most int) func(a *app) {
	return func(a *app) {
		const lock = "/app/locks/0123456789abcdef0123456789abcdef__lock__"
		dir := parentOf(lease)
		a.dirs("/app/locks", dir)
		each(a.clients(5), func(i int, c *client) {
			for round := range 4 {
				mine := c.make(lock, inLine)
				c.behind(mine, true, anyName)
				own, name := "", fmt.Sprintf("%s%032x", lease, 10*round+i+1000)
				if flags == inLine { // Curator makes its lease, and then waits until it is among the first
					own = c.make(lease, flags)
				}
				for {
					names, _, event, err := c.ChildrenW(dir)
					must.Do(a.T, err)
					if slices.Sort(names); len(names) < most || own != "" && slices.Index(names, own[len(dir)+1:]) < most {
						break
					}
					<-event
				}
				if own == "" {
					own = c.make(name, flags)
				}
				c.remove(mine)
				time.Sleep(pause)
				c.remove(own)
			}
		})
	}
}

// lockingQueue has consumers that claim an item with an ephemeral znode of its name, and delete both at the end.
// Others wait for both lists, and never get one.
func lockingQueue(consumers, others int) func(a *app) {
	return func(a *app) {
		const entries, taken = "/app/tasks/entries", "/app/tasks/taken"
		a.dirs(entries, taken)
		for _, c := range a.clients(consumers) {
			c.app.loop(func() <-chan zk.Event {
				names, _, event, _ := c.ChildrenW(entries)
				claimed, _, claims, _ := c.ChildrenW(taken)
				slices.Sort(names)
				free := slices.DeleteFunc(names, func(name string) bool { return slices.Contains(claimed, name) })
				if len(free) == 0 {
					return event
				}
				item, claim := entries+"/"+free[0], taken+"/"+free[0]
				if c.make(claim, zk.FlagEphemeral) == "" {
					return claims
				}
				if _, _, err := c.Get(item); err == nil {
					time.Sleep(pause)
					_, err = c.Multi(&zk.DeleteRequest{Path: claim, Version: -1}, &zk.DeleteRequest{Path: item, Version: -1})
					must.Do(a.T, err)
				} else if errors.Is(err, zk.ErrNoNode) {
					c.remove(claim)
				}
				return nil
			})
		}
		for _, c := range a.clients(others) {
			c.follow(entries, ignore)
			c.follow(taken, ignore)
		}
		for range 6 {
			each(a.clients(2), func(i int, c *client) { time.Sleep(time.Duration(i) * pause); c.make(entries+"/entry-100-", asItem) })
		}
	}
}

// idsOfTests has directories with ids as names, some with read/write locks and some with leases.
func idsOfTests(a *app) {
	for i := range 4 {
		dir := fmt.Sprintf("/tests/%032x", i+1000)
		if i%2 == 0 {
			readWrite(dir+"/0123456789abcdef0123456789abcdef", "__rlock__", "__lock__")(a)
		} else {
			a.dirs(dir)
			clients := a.clients(3)
			lease := func(j int) string { return fmt.Sprintf("%s/%032x", dir, 10*i+j+1000) }
			each(clients, func(j int, c *client) { c.make(lease(j), zk.FlagEphemeral) })
			each(clients, func(_ int, c *client) { // with one lease, it waits for another one
				_, _, _, err := c.ChildrenW(dir)
				must.Do(a.T, err)
			})
			each(clients, func(j int, c *client) { c.remove(lease(j)) })
		}
	}
}

// A session is in a herd once, also if it was notified of something else in between.
func TestGuessedHerdsHaveASessionOnce(t *testing.T) {
	s := newScene("3.8.0")
	s.open(2)
	for range 5 {
		s.fire(wire.NodeChildrenChanged, "/q/entries", 1, 2)
		s.fire(wire.NodeChildrenChanged, "/q/taken", 1, 2)
	}
	s.now += 2 * herdSilence
	if r := s.Report(); r.HerdMax != 2 || r.Herds[0].Largest.Sessions != 2 || r.Herds[0].Count+r.Herds[1].Count != 10 {
		t.Errorf("herd max %d: %+v, want 10 herds of 2", r.HerdMax, r.Herds)
	}
}

// Sessions that come one after another are not that many at a time.
func TestSessionsAtATime(t *testing.T) {
	e, other := evidence{sessions: map[int64]uint32{}}, evidence{sessions: map[int64]uint32{}}
	for session := range int64(10) {
		e.add(session, creates)
		other.add(session/2, deletesOwn)
		if session > 1 {
			e.over(session - 2)
			e.over(session - 2)
		}
	}
	if e.most != 3 || e.live != 2 {
		t.Errorf("%d at a time, %d now, want 3 and 2", e.most, e.live)
	}
	if e.plus(other); e.most != 5 || e.who(creates) != 10 || e.who(creates, deletesOwn) != 5 {
		t.Errorf("merged: %d at a time, %d and %d sessions, want 5, 10 and 5", e.most, e.who(creates), e.who(creates, deletesOwn))
	}
}

// Of queues whose paths differ in a digit, one is named, with the number of the others.
func TestSimilarLooks(t *testing.T) {
	s := newScene("3.9.3")
	s.open(2)
	for i := range 9 {
		dir := fmt.Sprintf("/queue%d", i%3)
		item := fmt.Sprintf("%s/n-%010d", dir, i)
		s.make(1, item, asItem)
		s.do(2, wire.OpGetChildren2, dir)
		s.do(2, wire.OpGetData, item)
		s.do(2, wire.OpDelete, item)
	}
	looks := s.Report().Looks
	if len(looks) != 1 || looks[0].Similar != 2 || !strings.HasPrefix(looks[0].String(), "/queue0 and 2 similar paths: queue (") {
		t.Errorf("looks like %v", looks)
	}
}
