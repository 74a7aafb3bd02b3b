package observe

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/results/must"
)

const pause = 20 * time.Millisecond

// mutex acquires and releases a lock of znodes with a prefix.
func mutex(prefix string, exists bool) func(a *app) {
	return func(a *app) {
		a.dirs(parentOf(prefix))
		each(a.clients(5), func(_ int, c *client) {
			for range 3 {
				own := c.make(prefix, inLine)
				c.behind(own, exists, anyName)
				time.Sleep(pause)
				c.remove(own)
			}
		})
	}
}

// candidates stand for election in a line. The first ends its session a few times, and comes back.
func candidates(prefix string, lead func(c *client)) func(a *app) {
	return func(a *app) {
		a.dirs(parentOf(prefix))
		var line []*client
		stand := func() {
			c := a.client()
			line = append(line, c)
			own := c.make(prefix, inLine)
			a.working.Go(func() { c.behind(own, false, anyName); lead(c) })
			time.Sleep(pause)
		}
		for range 5 {
			stand()
		}
		for range 4 {
			line[0].Close()
			line = line[1:]
			time.Sleep(pause)
			stand()
		}
	}
}

// oneLeader has clients that try to create a znode, and watch it where it exists.
func oneLeader(path string, end func(c *client)) func(a *app) {
	return func(a *app) {
		a.dirs(path + "_epoch")
		var mu sync.Mutex
		var leader *client
		compete := func(c *client) {
			a.loop(func() <-chan zk.Event {
				if c.make(path, zk.FlagEphemeral) != "" {
					mu.Lock()
					leader = c
					mu.Unlock()
					return a.never()
				}
				found, _, event, _ := c.ExistsW(path)
				if !found {
					return nil
				}
				c.read(path)
				return event
			})
		}
		for _, c := range a.clients(5) {
			compete(c)
		}
		for range 4 {
			time.Sleep(pause)
			mu.Lock()
			c := leader
			mu.Unlock()
			end(c)
			time.Sleep(pause)
			compete(a.client())
		}
	}
}

// queue has producers, and consumers that watch the list when it is empty.
func queue(prefix string, producers, consumers int) func(a *app) {
	return func(a *app) {
		dir := parentOf(prefix)
		a.dirs(dir)
		for _, c := range a.clients(consumers) {
			c.follow(dir, func(path string) {
				if c.read(path); c.remove(path) {
					time.Sleep(pause + pause/2)
				}
			})
		}
		for range 5 {
			each(a.clients(producers), func(i int, c *client) { time.Sleep(time.Duration(i) * pause); c.make(prefix, asItem) })
		}
	}
}

// discovery has servers that restart one after another, and clients that follow the list.
func discovery(prefix string, flags int32, ends func(c *client, own string), clients int, read func(c *client, path string)) func(a *app) {
	return func(a *app) {
		dir := parentOf(prefix)
		a.dirs(dir)
		for _, c := range a.clients(clients) {
			c.follow(dir, func(path string) { read(c, path) })
		}
		up := func(i int) (*client, string) {
			c := a.client()
			name := prefix
			if flags&zk.FlagSequence == 0 {
				name += fmt.Sprint(i)
			}
			own := c.make(name, flags)
			time.Sleep(pause)
			return c, own
		}
		for i := range 5 {
			c, own := up(i)
			a.working.Go(func() { <-a.ctx.Done() })
			if i > 1 {
				ends(c, own)
				time.Sleep(pause)
				up(i)
			}
		}
	}
}

func closes(c *client, _ string)       { c.Close() }
func deletes(c *client, own string)    { c.remove(own) }
func readsIt(c *client, path string)   { c.read(path) }
func watchesIt(c *client, path string) { _, _, _, _ = c.GetW(path) }

func ignoresIt(*client, string) {}

// regions are opened by servers and followed by a master: both write to their znodes, and only the master watches.
func regions(a *app) {
	a.dirs("/hbase/region-in-transition")
	master, servers := a.client(), a.clients(4)
	for round := range 4 {
		for i, server := range servers {
			path := fmt.Sprintf("/hbase/region-in-transition/%032x", 1000*round+i)
			master.make(path, 0)
			master.watchData(path)
			time.Sleep(pause)
			server.write(path)
			time.Sleep(pause)
			server.write(path)
			time.Sleep(pause)
			master.remove(path)
		}
	}
}

// readWrite has readers that wait for the writer before them, and writers that wait for anyone before them.
func readWrite(prefix, reader, writer string) func(a *app) {
	return func(a *app) {
		a.dirs(parentOf(prefix))
		each(a.clients(6), func(i int, c *client) {
			for range 3 {
				if i%3 == 0 {
					own := c.make(prefix+writer, inLine)
					c.behind(own, false, anyName)
					time.Sleep(pause)
					c.remove(own)
					continue
				}
				own := c.make(prefix+reader, inLine)
				c.behind(own, false, func(name string) bool { return strings.Contains(name, writer) })
				time.Sleep(pause)
				c.remove(own)
			}
		})
	}
}

// doubleBarrier has a znode that the last one to enter creates. To leave, the first waits for the last, and others for the first.
func doubleBarrier(a *app) {
	const dir, ready, n = "/app/double", "/app/double/ready", 5
	a.dirs(dir)
	clients := a.clients(n)
	for round := range 3 {
		each(clients, func(i int, c *client) {
			_, _, event, err := c.ExistsW(ready)
			must.Do(a.T, err)
			own := c.make(fmt.Sprintf("%s/%d-member-%d", dir, round, i), zk.FlagEphemeral)
			if len(c.list(dir)) >= n {
				c.make(ready, 0)
			}
			<-event
			time.Sleep(pause)
			for {
				names := slices.DeleteFunc(c.list(dir), func(name string) bool { return name == "ready" })
				if len(names) == 0 {
					break
				}
				if len(names) == 1 && dir+"/"+names[0] == own {
					c.remove(own)
					break
				}
				watched := names[0]
				if dir+"/"+names[0] == own {
					watched = names[len(names)-1]
				} else {
					c.remove(own)
				}
				if found, _, gone, _ := c.ExistsW(dir + "/" + watched); found {
					<-gone
				}
			}
		})
		clients[0].remove(ready)
		time.Sleep(pause)
	}
}

// barrier has clients that wait until a znode is deleted.
func barrier(a *app) {
	const path = "/app/barrier"
	a.dirs("/app")
	opener, waiting := a.client(), a.clients(5)
	for range 4 {
		opener.make(path, 0)
		each(waiting, func(_ int, c *client) {
			if found, _, event, _ := c.ExistsW(path); found {
				if c == waiting[0] {
					time.Sleep(pause)
					opener.remove(path)
				}
				<-event
			}
		})
	}
}

// cache has clients that keep a copy of all znodes of a directory.
func cache(a *app) {
	const dir = "/app/settings"
	a.dirs(dir+"/a", dir+"/b", dir+"/c")
	for _, c := range a.clients(4) {
		known := map[string]bool{}
		c.follow(dir, func(path string) {
			if !known[path] {
				known[path] = true
				c.watchData(path)
			}
		})
	}
	writer := a.client()
	for i := range 5 {
		time.Sleep(pause)
		writer.write(dir + "/a")
		writer.make(fmt.Sprint(dir, "/new", i), 0)
	}
}

// polledQueue has consumers that list without a watch.
func polledQueue(a *app) {
	const dir = "/app/queue"
	a.dirs(dir)
	producers, consumers := a.clients(2), a.clients(2)
	for round := range 8 {
		each(producers, func(_ int, c *client) { c.make(dir+"/entry-100-", asItem) })
		c := consumers[round%2]
		for _, name := range c.list(dir) {
			c.read(dir + "/" + name)
			c.remove(dir + "/" + name)
		}
	}
}

// party has members that list each other from time to time.
func party(a *app) {
	a.dirs("/app/party")
	each(a.clients(5), func(i int, c *client) {
		for range 4 {
			own := c.make(fmt.Sprintf("/app/party/%032x", i+1000), zk.FlagEphemeral)
			c.list("/app/party")
			time.Sleep(pause)
			c.remove(own)
		}
	})
}

// group has masters and others that follow the list, and read who comes first.
func group(a *app) {
	const dir = "/mesos"
	a.dirs(dir)
	follow := func(c *client) {
		c.follow(dir, func(path string) {
			if names := c.list(dir); len(names) > 0 && strings.HasSuffix(path, names[0]) {
				c.read(path)
			}
		})
	}
	for _, c := range a.clients(6) {
		follow(c)
	}
	masters := a.clients(3)
	for _, c := range masters {
		c.make(dir+"/json.info_", inLine)
		follow(c)
		time.Sleep(pause)
	}
	for _, c := range masters {
		c.Close()
		next := a.client()
		next.make(dir+"/json.info_", inLine)
		follow(next)
		time.Sleep(pause)
	}
}

// messages go from a controller to participants, each of which has a directory.
func messages(a *app) {
	inbox := func(i int) string { return fmt.Sprintf("/cluster/INSTANCES/host%d_1200/MESSAGES", i) }
	controller := a.client()
	for i, c := range a.clients(3) {
		a.dirs(inbox(i))
		c.follow(inbox(i), func(path string) { c.read(path); c.remove(path) })
	}
	for round := range 5 {
		for i := range 3 {
			controller.make(fmt.Sprintf("%s/%08x-0000-4000-8000-%012x", inbox(i), 4096+round, i), 0)
		}
		time.Sleep(pause)
	}
}

// externalView is written by a controller, and watched by spectators.
func externalView(a *app) {
	const path = "/cluster/EXTERNALVIEW/db"
	a.dirs(path)
	for _, c := range a.clients(5) {
		c.watchData(path)
	}
	controller := a.client()
	for range 6 {
		time.Sleep(pause)
		controller.write(path)
	}
}

// replicationLog is read by all replicas, and one of them deletes old entries.
func replicationLog(a *app) {
	const dir = "/tables/t/log"
	a.dirs(dir)
	replicas := a.clients(4)
	for _, c := range replicas {
		c.follow(dir, c.read)
	}
	for range 5 {
		each(replicas, func(_ int, c *client) { c.make(dir+"/log-", asItem) })
		time.Sleep(pause)
		for _, name := range replicas[0].list(dir)[1:] {
			replicas[0].remove(dir + "/" + name)
		}
	}
}

// ring has members each of which watches the one before it, and the first watches the last.
func ring(a *app) {
	const dir = "/app/ring"
	a.dirs(dir)
	members := a.clients(5)
	own := make([]string, len(members))
	for i, c := range members {
		own[i] = c.make(dir+"/member-", inLine)
	}
	for i, c := range members {
		c.watchData(own[(i+len(own)-1)%len(own)])
	}
	for _, c := range members {
		time.Sleep(pause)
		c.Close()
	}
}

// listLock has waiters that all watch the list.
func listLock(a *app) {
	const dir = "/app/orders/lock"
	a.dirs(dir)
	each(a.clients(6), func(_ int, c *client) {
		for range 3 {
			own := c.make(dir+"/worker-", inLine)
			for {
				names, _, event, err := c.ChildrenW(dir)
				must.Do(a.T, err)
				slices.SortFunc(names, byNumber)
				if dir+"/"+names[0] == own {
					break
				}
				<-event
			}
			time.Sleep(pause)
			c.remove(own)
		}
	})
}

// watchfulMembers all follow the list, and restart in the order of their numbers, as a lock's holders release.
func watchfulMembers(a *app) {
	const dir = "/app/workers"
	a.dirs(dir)
	members := a.clients(5)
	own := make([]string, len(members))
	for i, c := range members {
		own[i] = c.make(dir+"/worker-", inLine)
		c.follow(dir, ignore)
	}
	for range 2 {
		for i, c := range members {
			time.Sleep(pause)
			c.remove(own[i])
			time.Sleep(pause)
			own[i] = c.make(dir+"/worker-", inLine)
		}
	}
}
