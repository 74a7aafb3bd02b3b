package conformance_test

import (
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

func readCases() []namedCase {
	return []namedCase{
		{"a znode that does not exist", func(s *site) {
			p := s.peer()
			for _, path := range []string{s.at("none"), "x", s.at(""), s.at("a//b"), "//", "x/"} {
				for _, op := range []wire.Opcode{wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2} {
					r := p.call(op, putPathWatch(path, false))
					s.want(fmt.Sprintf("%s (%d) of %q", op, op, strings.TrimPrefix(path, s.root)), r.code, wire.NoNode)
					s.want("bytes after the header", r.body.Rest(), 0)
				}
			}
		}},
		{"the empty path is the root", func(s *site) {
			p := s.peer()
			list, _, code := p.children("", false)
			s.want("code", code, wire.OK)
			s.want("the servers' own are there", strings.Contains(" "+list+" ", " zookeeper "), true)
			_, code = p.exists("", false)
			s.want("exists", code, wire.OK)
		}},
		{"a path with a zero", func(s *site) {
			p := s.peer()
			_, code := p.exists(s.at("a\x00b"), true)
			s.want("exists", code, wire.BadArguments)
			_, _, code = p.getData(s.at("a\x00b"), false)
			s.want("getData", code, wire.NoNode)
		}},
		{"children with and without stat", func(s *site) {
			p := s.peer()
			for _, name := range []string{"b", "a", "c"} {
				p.mustCreate(s.at(name), persistent)
			}
			r := p.call(wire.OpGetChildren, putPathWatch(s.root, false))
			s.want("getChildren", names(r), "a b c")
			s.want("bytes after the list", r.body.Rest(), 0)
			list, st, _ := p.children(s.root, false)
			s.want("getChildren2", list, "a b c")
			s.want("numChildren", st.NumChildren, int32(3))
			list, _, _ = p.children(s.at("a"), false)
			s.want("of a leaf", list, "")
		}},
		{"the servers' own znodes", func(s *site) {
			p := s.peer()
			list, st, _ := p.children("/zookeeper", false)
			s.want("children", list, "config quota")
			s.want("stat", st, zk.Stat{NumChildren: 2, Cversion: st.Cversion, Ctime: st.Ctime, Mtime: st.Mtime})
		}},
		{"sync", func(s *site) {
			p := s.peer()
			path, code := p.sync(s.at("none"))
			s.want("code", code, wire.OK)
			s.want("path", path, s.at("none"))
			before := p.delete(s.at("none"), -1).zxid
			p.sync("/")
			s.want("zxids used", p.delete(s.at("none"), -1).zxid-before, int64(1))
		}},
		{"a session sees its own writes", func(s *site) {
			p := s.peer()
			// Sent without waiting in between: the reads must not overtake the write.
			p.send(wire.OpCreate, putCreate(s.at("x"), nil, persistent))
			p.send(wire.OpExists, putPathWatch(s.at("x"), false))
			p.send(wire.OpDelete, putPathVersion(s.at("x"), -1))
			p.send(wire.OpExists, putPathWatch(s.at("x"), false))
			for i, want := range []wire.Code{wire.OK, wire.OK, wire.OK, wire.NoNode} {
				r := p.await()
				s.want(fmt.Sprintf("xid of reply %d", i), r.xid, p.xid-3+int32(i))
				s.want(fmt.Sprintf("code of reply %d", i), r.code, want)
			}
		}},
		{"a session sees others' writes after sync", func(s *site) {
			p, other := s.peer(), s.peer()
			for i := range 20 {
				path := s.at(fmt.Sprint(i))
				p.mustCreate(path, persistent)
				other.sync("/")
				_, code := other.exists(path, false)
				s.want(path, code, wire.OK)
			}
		}},
	}
}

func watchCases() []namedCase {
	// arm returns two sessions: one has set watches on x, and the other one acts on it.
	arm := func(s *site, there bool, watch func(p *peer, x string)) (actor, watcher *peer, x string) {
		actor, watcher, x = s.peer(), s.peer(), s.at("x")
		if there {
			actor.mustCreate(x, persistent)
			watcher.sync("/")
		}
		watch(watcher, x)
		return actor, watcher, x
	}
	exists := func(p *peer, x string) { p.exists(x, true) }
	getData := func(p *peer, x string) { p.getData(x, true) }
	getChildren := func(p *peer, x string) { p.children(x, true) }
	return []namedCase{
		{"exists: created", func(s *site) {
			actor, watcher, x := arm(s, false, exists)
			actor.mustCreate(x, persistent)
			s.want("events", watcher.events(), "NodeCreated /x")
		}},
		{"exists: changed, once", func(s *site) {
			actor, watcher, x := arm(s, true, exists)
			actor.setData(x, nil, -1)
			actor.setData(x, nil, -1)
			s.want("events", watcher.events(), "NodeDataChanged /x")
		}},
		{"exists: deleted", func(s *site) {
			actor, watcher, x := arm(s, true, exists)
			actor.mustDelete(x)
			s.want("events", watcher.events(), "NodeDeleted /x")
		}},
		{"getData: changed", func(s *site) {
			actor, watcher, x := arm(s, true, getData)
			actor.setData(x, nil, -1)
			s.want("events", watcher.events(), "NodeDataChanged /x")
		}},
		{"a data watch is not for children", func(s *site) {
			actor, watcher, x := arm(s, true, func(p *peer, x string) { p.exists(x, true); p.getData(x, true) })
			actor.mustCreate(x+"/child", persistent)
			actor.mustDelete(x + "/child")
			s.want("events", watcher.events(), "")
		}},
		{"exists and getData: one event", func(s *site) {
			actor, watcher, x := arm(s, true, func(p *peer, x string) { p.exists(x, true); p.getData(x, true) })
			actor.setData(x, nil, -1)
			s.want("events", watcher.events(), "NodeDataChanged /x")
		}},
		{"the same watch twice: one event", func(s *site) {
			actor, watcher, x := arm(s, true, func(p *peer, x string) { p.children(x, true); p.children(x, true) })
			actor.mustCreate(x+"/child", persistent)
			s.want("events", watcher.events(), "NodeChildrenChanged /x")
		}},
		{"getChildren: created, deleted", func(s *site) {
			actor, watcher, x := arm(s, true, getChildren)
			actor.mustCreate(x+"/child", persistent)
			s.want("created", watcher.events(), "NodeChildrenChanged /x")
			actor.mustDelete(x + "/child")
			s.want("once", watcher.events(), "")
			actor.mustCreate(x+"/child", persistent)
			watcher.sync("/")
			watcher.call(wire.OpGetChildren, putPathWatch(x, true))
			actor.mustDelete(x + "/child")
			s.want("deleted", watcher.events(), "NodeChildrenChanged /x")
		}},
		{"a child watch is for nothing else", func(s *site) {
			actor, watcher, x := arm(s, true, func(*peer, string) {})
			actor.mustCreate(x+"/child", persistent)
			watcher.sync("/")
			watcher.children(x, true)
			actor.setData(x, nil, -1)
			actor.setData(x+"/child", nil, -1)
			actor.mustCreate(x+"/child/grandchild", persistent)
			s.want("events", watcher.events(), "")
		}},
		{"getChildren: the znode itself is deleted", func(s *site) {
			actor, watcher, x := arm(s, true, getChildren)
			actor.mustDelete(x)
			s.want("events", watcher.events(), "NodeDeleted /x")
		}},
		{"data and child watch: one event for a delete", func(s *site) {
			actor, watcher, x := arm(s, true, func(p *peer, x string) { p.getData(x, true); p.children(x, true) })
			actor.mustDelete(x)
			s.want("events", watcher.events(), "NodeDeleted /x")
		}},
		{"the watch on the parent is also notified", func(s *site) {
			actor, watcher, x := arm(s, true, func(p *peer, x string) { p.exists(x, true); p.children(x, true); p.children(p.root, true) })
			actor.mustDelete(x)
			s.want("events", watcher.events(), "NodeDeleted /x, NodeChildrenChanged ")
		}},
		{"every session has its own", func(s *site) {
			actor, watcher, x := arm(s, true, exists)
			third := s.peer()
			third.sync("/")
			third.children(x, true)
			actor.mustDelete(x)
			s.want("data", watcher.events(), "NodeDeleted /x")
			s.want("child", third.events(), "NodeDeleted /x")
		}},
		{"only exists watches a missing znode", func(s *site) {
			actor, watcher, x := arm(s, false, func(p *peer, x string) { p.getData(x, true); p.children(x, true) })
			actor.mustCreate(x, persistent)
			actor.mustDelete(x)
			s.want("events", watcher.events(), "")
		}},
		{"failed writes are no events", func(s *site) {
			actor, watcher, x := arm(s, true, func(p *peer, x string) { p.exists(x, true); p.children(p.root, true) })
			actor.setData(x, nil, 9)
			actor.create(x, persistent)
			actor.delete(x, 9)
			s.want("events", watcher.events(), "")
		}},
		{"a watch that is not asked for is not set", func(s *site) {
			actor, watcher, x := arm(s, true, func(p *peer, x string) { p.exists(x, false); p.getData(x, false); p.children(x, false) })
			actor.mustDelete(x)
			s.want("events", watcher.events(), "")
		}},
		{"the event comes before the reply to its own write", func(s *site) {
			p := s.peer()
			p.exists(s.at("x"), true)
			p.send(wire.OpCreate, putCreate(s.at("x"), nil, persistent))
			_, n := p.next()
			if n == nil || n.typ != wire.NodeCreated {
				s.Fatalf("the first frame is %+v, want a notification", n)
			}
			r := p.await()
			s.want("code", r.code, wire.OK)
			if s.zxids {
				s.want("zxid", n.zxid, r.zxid)
			}
		}},
		{"the event comes before the reply to a read that sees the change", func(s *site) {
			actor, watcher, x := arm(s, false, func(*peer, string) {})
			for i := range 20 {
				path := fmt.Sprintf("%s-%d", x, i)
				watcher.exists(path, true)
				actor.mustCreate(path, persistent)
				for seen := false; !seen; {
					_, code := watcher.exists(path, false)
					seen = code == wire.OK
					if seen != (len(watcher.received) == 1) {
						s.Fatalf("the znode is there: %t; notifications: %v", seen, watcher.received)
					}
				}
				watcher.received = nil
			}
		}},
		{"the event carries its transaction", func(s *site) {
			if !s.zxids {
				s.Skip("servers before 3.9 do not tell")
			}
			actor, watcher, x := arm(s, true, exists)
			r := actor.delete(x, -1)
			watcher.sync("/")
			if len(watcher.received) != 1 {
				s.Fatalf("notifications %v", watcher.received)
			}
			s.want("zxid", watcher.received[0].zxid, r.zxid)
		}},
		{"by the end of a session", func(s *site) {
			actor, watcher, _ := arm(s, false, func(*peer, string) {})
			e := actor.mustCreate(s.at("e"), ephemeral)
			watcher.sync("/")
			watcher.getData(e, true)
			actor.call(wire.OpClose, nil)
			s.want("events", watcher.events(), "NodeDeleted /e")
		}},
		{"of its own end a session still learns", func(s *site) {
			p := s.peer()
			e := p.mustCreate(s.at("e"), ephemeral)
			p.getData(e, true)
			p.call(wire.OpClose, nil)
			if len(p.received) != 1 || p.received[0].typ != wire.NodeDeleted {
				s.Errorf("before the reply to close: %v", p.received)
			}
		}},
		{"the servers count", func(s *site) {
			before := s.sent()
			actor, watcher, x := arm(s, true, func(p *peer, x string) { p.exists(x, true); p.children(x, true) })
			actor.mustDelete(x) // notified once, counted for each watch
			watcher.sync("/")
			s.want("both watches of one session", s.sent()-before, int64(2))
			watcher.exists(x, true)
			watcher.children(s.root, true)
			actor.mustCreate(x, persistent)
			watcher.sync("/")
			watcher.getData(x, true)
			actor.setData(x, nil, -1)
			watcher.sync("/")
			s.want("after a create and a change", s.sent()-before, int64(5))
		}},
	}
}

func removalCases() []namedCase {
	return []namedCase{
		{"each kind", func(s *site) {
			p := s.peer()
			p.mustCreate(s.at("x"), persistent)
			for _, tt := range []struct {
				kind int32
				want string
			}{
				{childWatch, "NodeDataChanged /x"},
				{dataWatch, "NodeChildrenChanged /x"},
				{anyWatch, ""},
			} {
				p.getData(s.at("x"), true)
				p.children(s.at("x"), true)
				s.want("code", p.removeWatches(s.at("x"), tt.kind), wire.OK)
				p.setData(s.at("x"), nil, -1)
				p.mustCreate(s.at("x/child"), persistent)
				p.mustDelete(s.at("x/child"))
				s.want("events", p.events(), tt.want)
			}
		}},
		{"none, or of another connection", func(s *site) {
			p, other := s.peer(), s.peer()
			p.mustCreate(s.at("x"), persistent)
			other.sync("/")
			other.getData(s.at("x"), true)
			s.want("code", p.removeWatches(s.at("x"), anyWatch), wire.NoWatcher)
			p.children(s.at("x"), true)
			s.want("code of the other kind", p.removeWatches(s.at("x"), dataWatch), wire.NoWatcher)
			p.mustDelete(s.at("x"))
			s.want("events", p.events(), "NodeDeleted /x")
			other.sync("/")
			s.want("events of the other", other.events(), "NodeDeleted /x")
		}},
		{"on a znode that does not exist", func(s *site) {
			p := s.peer()
			p.exists(s.at("x"), true)
			s.want("code", p.removeWatches(s.at("x"), dataWatch), wire.OK)
			p.mustCreate(s.at("x"), persistent)
			s.want("events", p.events(), "")
		}},
		{"check, which leaves them", func(s *site) {
			p, other := s.peer(), s.peer()
			p.mustCreate(s.at("x"), persistent)
			p.children(s.at("x"), true)
			s.want("code", p.checkWatches(s.at("x"), childWatch), wire.OK)
			s.want("code of any kind", p.checkWatches(s.at("x"), anyWatch), wire.OK)
			s.want("code of the other kind", p.checkWatches(s.at("x"), dataWatch), wire.NoWatcher)
			s.want("code of another connection", other.checkWatches(s.at("x"), anyWatch), wire.NoWatcher)
			p.mustCreate(s.at("x/child"), persistent)
			s.want("events", p.events(), "NodeChildrenChanged /x")
			s.want("code after the event", p.checkWatches(s.at("x"), anyWatch), wire.NoWatcher)
		}},
		{"unknown kind", func(s *site) {
			p := s.peer()
			p.exists(s.at("x"), true)
			s.want("code of a check", p.checkWatches(s.at("x"), 7), wire.MarshallingError)
			s.want("code", p.removeWatches(s.at("x"), 7), wire.MarshallingError)
		}},
	}
}

func rewatchCases() []namedCase {
	return []namedCase{
		{"missed, or set again", func(s *site) {
			p, other := s.peer(), s.peer()
			for _, name := range []string{"changed", "same", "gone", "parent", "childless"} {
				p.mustCreate(s.at(name), persistent)
			}
			p.sync("/")
			seen := p.seen
			p.conn.Close()
			other.sync("/")
			other.setData(s.at("changed"), nil, -1)
			other.mustDelete(s.at("gone"))
			other.mustCreate(s.at("new"), persistent)
			other.mustCreate(s.at("parent/child"), persistent)
			again := s.reopen(p, s.addrs[0])
			again.sync("/")
			r := again.setWatches(seen,
				[]string{s.at("changed"), s.at("same"), s.at("gone")},
				[]string{s.at("new"), s.at("later")},
				[]string{s.at("parent"), s.at("childless"), s.at("gone")})
			s.want("code", r.code, wire.OK)
			for _, n := range again.received {
				s.want("zxid of "+n.path, n.zxid, int64(-1))
			}
			s.want("events at once", again.events(),
				"NodeDataChanged /changed, NodeDeleted /gone, NodeCreated /new, NodeChildrenChanged /parent, NodeDeleted /gone")
			for _, name := range []string{"changed", "same"} {
				other.setData(s.at(name), nil, -1)
			}
			other.mustCreate(s.at("later"), persistent)
			other.mustCreate(s.at("childless/child"), persistent)
			other.mustCreate(s.at("parent/another"), persistent)
			s.want("events of the others", again.events(), "NodeDataChanged /same, NodeCreated /later, NodeChildrenChanged /childless")
		}},
		{"a later zxid misses nothing", func(s *site) {
			p := s.peer()
			p.mustCreate(s.at("x"), persistent)
			p.setWatches(p.seen, []string{s.at("x")}, nil, []string{s.at("x")})
			s.want("events", p.events(), "")
			p.mustDelete(s.at("x"))
			s.want("later", p.events(), "NodeDeleted /x")
		}},
		{"setWatches2", func(s *site) {
			p := s.peer()
			p.mustCreate(s.at("x"), persistent)
			r := p.call(wire.OpSetWatches2, func(out *jute.Encoder) {
				out.Long(0)
				for _, paths := range [][]string{{s.at("x")}, {s.at("none")}, {s.root}, nil, nil} {
					out.Texts(paths)
				}
			})
			s.want("code", r.code, wire.OK)
			s.want("events", p.events(), "NodeDataChanged /x, NodeChildrenChanged ")
			p.mustCreate(s.at("none"), persistent)
			s.want("later", p.events(), "NodeCreated /none")
		}},
	}
}
