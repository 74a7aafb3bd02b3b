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

// exclusive is a lock in whose line the names have several prefixes. hold is what a holder does.
func exclusive(hold func(c *client, own string), prefixes ...string) func(a *app) {
	return func(a *app) {
		a.dirs(parentOf(prefixes[0]))
		each(a.clients(5), func(i int, c *client) {
			for range 3 {
				own := c.make(prefixes[i%len(prefixes)], inLine)
				c.behind(own, false, anyName)
				hold(c, own)
				time.Sleep(pause)
				c.remove(own)
			}
		})
	}
}

// byPriority has items with a priority in hexadecimal before their number.
func byPriority(a *app) {
	const dir = "/app/queue"
	a.dirs(dir)
	for _, c := range a.clients(2) {
		c.follow(dir, func(path string) {
			if c.read(path); c.remove(path) {
				time.Sleep(pause + pause/2)
			}
		})
	}
	for round := range 5 {
		each(a.clients(2), func(i int, c *client) { c.make(fmt.Sprintf("%s/queue-%08X", dir, 10*round+i), asItem) })
		time.Sleep(pause)
	}
}

// changeLog has readers that all read all changes, and delete old ones by turns.
func changeLog(a *app) {
	const dir = "/app/changes"
	a.dirs(dir)
	writer, readers := a.client(), a.clients(2)
	for _, c := range readers {
		c.follow(dir, c.read)
	}
	for i := range 12 {
		writer.make(dir+"/change_", asItem)
		time.Sleep(pause)
		if names := writer.list(dir); len(names) > 3 {
			readers[i%2].remove(dir + "/" + names[0])
		}
	}
}

// groupRestart has members that watch the list all the time, and whose group leaves and comes back as a whole.
func groupRestart(a *app) {
	const dir = "/app/members"
	a.dirs(dir)
	members := a.clients(3)
	for _, c := range members {
		c.follow(dir, ignore)
	}
	for range 4 {
		own := make([]string, len(members))
		each(members, func(i int, c *client) { own[i] = c.make(dir+"/member_", inLine) })
		time.Sleep(pause)
		each(members, func(i int, c *client) { c.remove(own[i]) })
		time.Sleep(pause)
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

// What is known of ephemeral znodes ends with them and with their sessions, also when other znodes have made their creator forgotten.
func TestEphemeralZnodesAreForgotten(t *testing.T) {
	s := newScene("3.9.3")
	s.open(3)
	for id := range int64(2) {
		s.make(id+1, fmt.Sprintf("/members/m-%010d", id), inLine)
	}
	for i := range mostChildren {
		s.make(3, fmt.Sprintf("/q/n-%010d", i), asItem)
	}
	s.do(3, wire.OpDelete, "/members/m-0000000000")
	s.Over(2, true)
	if z := s.znodes; len(z.ends)+len(z.owners)+len(z.lines) > 0 {
		t.Errorf("known: %v of sessions, %v, %v in lines, want nothing", z.ends, z.owners, z.lines)
	}
}

// In a line beside a znode without a number, the lowest number is the first.
func TestFirstOfALine(t *testing.T) {
	s := newScene("3.9.3")
	s.open(2)
	s.make(1, "/lock/owner", zk.FlagEphemeral)
	s.make(1, "/lock/n-0000000007", inLine)
	s.make(2, "/lock/n-0000000006", inLine)
	if first := s.znodes.first("/lock"); first != "/lock/n-0000000006" {
		t.Errorf("the first one is %s", first)
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
