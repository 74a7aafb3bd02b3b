package conformance_test

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

func createCases() []namedCase {
	return []namedCase{
		{"stat", func(s *site) {
			p := s.peer()
			begin := time.Now().UnixMilli()
			path, st, r := p.create2(wire.OpCreate2, s.at("x"), []byte("data"), persistent)
			s.want("path", path, s.at("x"))
			if st.Ctime < begin-60_000 || st.Ctime > time.Now().UnixMilli()+60_000 {
				s.Errorf("created at %d, want about %d", st.Ctime, begin)
			}
			want := zk.Stat{Czxid: r.zxid, Mzxid: r.zxid, Pzxid: r.zxid, Ctime: st.Ctime, Mtime: st.Ctime, DataLength: 4}
			s.want("stat", st, want)
			data, again, _ := p.getData(path, false)
			s.want("data", string(data), "data")
			s.want("stat as read", again, want)
		}},
		{"create answers with the path", func(s *site) {
			r := s.peer().call(wire.OpCreate, putCreate(s.at("x"), nil, persistent))
			s.want("path", text(r), s.at("x"))
			s.want("bytes after it", r.body.Rest(), 0)
		}},
		{"the parent counts", func(s *site) {
			p := s.peer()
			_, before, _ := p.children(s.root, false)
			_, created, _ := p.create2(wire.OpCreate2, s.at("x"), nil, persistent)
			_, st, _ := p.children(s.root, false)
			want := before
			want.Cversion, want.NumChildren, want.Pzxid = before.Cversion+1, 1, created.Czxid
			s.want("parent", st, want)
			r := p.delete(s.at("x"), -1)
			_, st, _ = p.children(s.root, false)
			want.Cversion, want.NumChildren, want.Pzxid = before.Cversion+2, 0, r.zxid
			s.want("parent after the delete", st, want)
		}},
		{"null is not empty", func(s *site) {
			p := s.peer()
			p.create2(wire.OpCreate2, s.at("null"), nil, persistent)
			p.create2(wire.OpCreate2, s.at("empty"), []byte{}, persistent)
			data, st, _ := p.getData(s.at("null"), false)
			s.want("null", data == nil, true)
			s.want("length", st.DataLength, int32(0))
			data, _, _ = p.getData(s.at("empty"), false)
			s.want("empty", data, []byte{})
		}},
		{"ephemeral", func(s *site) {
			p := s.peer()
			_, st, _ := p.create2(wire.OpCreate2, s.at("e"), nil, ephemeral)
			s.want("owner", st.EphemeralOwner, p.hello.id)
			_, code := p.create(s.at("e/child"), persistent)
			s.want("child", code, wire.NoChildrenForEphemerals)
			_, code = p.create(s.at("e/child"), ephemeralSequential)
			s.want("sequential child", code, wire.NoChildrenForEphemerals)
		}},
		{"sequence numbers count all creates under the parent", func(s *site) {
			p := s.peer()
			s.want("first", p.mustCreate(s.at("n-"), sequential), s.at("n-0000000000"))
			p.mustCreate(s.at("other"), persistent)
			s.want("after another", p.mustCreate(s.at("n-"), ephemeralSequential), s.at("n-0000000002"))
			p.mustDelete(s.at("n-0000000002"))
			s.want("after a delete", p.mustCreate(s.at("m-"), sequential), s.at("m-0000000003"))
			p.create(s.at("other"), persistent)
			s.want("after a failed create", p.mustCreate(s.at(""), sequential), s.at("0000000004"))
			p.mustCreate(s.at("other/child"), sequential)
			s.want("after a grandchild", p.mustCreate(s.at("n-"), sequential), s.at("n-0000000005"))
		}},
		{"a number may be taken", func(s *site) {
			p := s.peer()
			p.mustCreate(s.at("n-0000000001"), persistent)
			_, code := p.create(s.at("n-"), sequential)
			s.want("code", code, wire.NodeExists)
		}},
		{"container", func(s *site) {
			p := s.peer()
			path, st, r := p.create2(wire.OpCreateContainer, s.at("c"), nil, containerMode)
			s.want("path", path, s.at("c"))
			s.want("owner", st.EphemeralOwner, int64(0))
			s.want("czxid", st.Czxid, r.zxid)
			p.mustCreate(s.at("c/child"), ephemeral)
			s.want("with a child", p.delete(s.at("c"), -1).code, wire.NotEmpty)
		}},
		{"mistakes", func(s *site) {
			p := s.peer()
			p.mustCreate(s.at("there"), persistent)
			for _, tt := range []struct {
				path  string
				flags int32
				want  wire.Code
			}{
				{s.at("there"), persistent, wire.NodeExists},
				{s.at("there"), ephemeral, wire.NodeExists},
				{s.at("none/child"), persistent, wire.NoNode},
				{s.at("none/child-"), sequential, wire.NoNode},
				{"/", persistent, wire.NodeExists},
				{"/zookeeper", persistent, wire.NodeExists},
				{"/zookeeper/config/child", persistent, wire.NoAuth},
				{s.at("x"), 7, wire.BadArguments},
				{s.at("x"), -1, wire.BadArguments},
				{s.at(""), persistent, wire.BadArguments},
			} {
				_, code := p.create(tt.path, tt.flags)
				s.want(fmt.Sprintf("create %q with flags %d", strings.TrimPrefix(tt.path, s.root), tt.flags), code, tt.want)
			}
		}},
		{"paths", func(s *site) {
			p := s.peer()
			for _, tt := range []struct {
				path string
				want wire.Code
			}{
				{"", wire.BadArguments}, {"x", wire.BadArguments}, {"x/y", wire.NoNode}, {"//", wire.BadArguments},
				{s.at("a/"), wire.NoNode}, {s.at("a//b"), wire.NoNode}, {"//x", wire.BadArguments},
				{s.at("."), wire.BadArguments}, {s.at(".."), wire.BadArguments},
				{s.at("./x"), wire.NoNode}, {s.at("...x"), wire.OK}, {s.at("x.."), wire.OK}, {s.at(".x"), wire.OK},
				{s.at("a\x00b"), wire.BadArguments}, {s.at("a\x01b"), wire.BadArguments}, {s.at("a\x1fb"), wire.BadArguments},
				{s.at("a b"), wire.OK}, {s.at("a\x7fb"), wire.BadArguments}, {s.at("a\u009fb"), wire.BadArguments},
				{s.at("a\u00a0b"), wire.OK}, {s.at("ä"), wire.OK}, {s.at("中"), wire.OK},
				{s.at("\ue000"), wire.BadArguments}, {s.at("\uf8ff"), wire.BadArguments}, {s.at("\uf900"), wire.OK},
				{s.at("\ufff0"), wire.BadArguments}, {s.at("\uffef"), wire.OK}, {s.at("😀"), wire.BadArguments},
				{s.at("a\xffb"), wire.BadArguments},
			} {
				_, code := p.create(tt.path, persistent)
				s.want(fmt.Sprintf("create %+q", strings.TrimPrefix(tt.path, s.root)), code, tt.want)
			}
		}},
		{"access control lists", func(s *site) {
			p := s.peer()
			for _, tt := range []struct {
				name string
				acl  []zk.ACL
			}{
				{"none", nil},
				{"an unknown scheme", []zk.ACL{{Perms: zk.PermAll, Scheme: "nonsense", ID: "x"}}},
				{"an unknown id of the world scheme", []zk.ACL{{Perms: zk.PermAll, Scheme: "world", ID: "nobody"}}},
				{"auth without authentication", []zk.ACL{{Perms: zk.PermAll, Scheme: "auth"}}},
			} {
				r := p.call(wire.OpCreate, putCreateACL(s.at("x"), nil, tt.acl, persistent))
				s.want(tt.name, r.code, wire.InvalidACL)
			}
			twice := append(zk.WorldACL(zk.PermAll), zk.WorldACL(zk.PermAll)...)
			s.want("the world twice", p.call(wire.OpCreate, putCreateACL(s.at("x"), nil, twice, persistent)).code, wire.OK)
		}},
		{"the first mistake counts", func(s *site) {
			p := s.peer()
			bad := []zk.ACL{{Scheme: "nonsense"}}
			for _, tt := range []struct {
				name, path string
				acl        []zk.ACL
				flags      int32
				want       wire.Code
			}{
				{"flags before the path", "", zk.WorldACL(zk.PermAll), 9, wire.BadArguments},
				{"the slash before the list", "x", bad, 0, wire.BadArguments},
				{"the list before the parent", s.at("none/x"), bad, 0, wire.InvalidACL},
				{"the parent before the characters", s.at("none/\x01"), zk.WorldACL(zk.PermAll), 0, wire.NoNode},
			} {
				s.want(tt.name, p.call(wire.OpCreate, putCreateACL(tt.path, nil, tt.acl, tt.flags)).code, tt.want)
			}
		}},
		{"failures are transactions, too", func(s *site) {
			p := s.open(s.addrs[0], handshake{})
			before := p.delete(s.at("none"), -1).zxid
			p.create(s.at("none/x"), persistent)
			p.create("x", persistent)
			p.create(s.at("x"), 9)
			p.setData(s.at("none"), nil, -1)
			p.setData("", nil, -1)
			p.delete("x", -1)
			p.multi(step{wire.OpCheck, putPathVersion(s.at("none"), -1)})
			s.want("zxids used", p.delete(s.at("none"), -1).zxid-before, int64(8))
		}},
		{"a reply carries its transaction", func(s *site) {
			p := s.peer()
			_, st, r := p.create2(wire.OpCreate2, s.at("x"), nil, persistent)
			s.want("zxid", r.zxid, st.Czxid)
		}},
		{"as large as is allowed", func(s *site) {
			p := s.peer()
			_, st, r := p.create2(wire.OpCreate2, s.at("x"), bytes.Repeat([]byte("x"), 1_000_000), persistent)
			s.want("code", r.code, wire.OK)
			s.want("length", st.DataLength, int32(1_000_000))
			data, _, _ := p.getData(s.at("x"), false)
			s.want("length as read", len(data), 1_000_000)
		}},
	}
}

func changeCases() []namedCase {
	return []namedCase{
		{"setData", func(s *site) {
			p := s.peer()
			_, st, _ := p.create2(wire.OpCreate2, s.at("x"), []byte("one"), persistent)
			_, parent, _ := p.children(s.root, false)
			r := p.call(wire.OpSetData, putSetData(s.at("x"), []byte("three"), 0))
			got := stat(r)
			want := st
			want.Version, want.DataLength, want.Mzxid, want.Mtime = 1, 5, r.zxid, got.Mtime
			s.want("stat", got, want)
			if got.Mtime < st.Ctime {
				s.Errorf("modified at %d, before it was created at %d", got.Mtime, st.Ctime)
			}
			_, after, _ := p.children(s.root, false)
			s.want("parent", after, parent)
		}},
		{"versions", func(s *site) {
			p := s.peer()
			p.mustCreate(s.at("x"), persistent)
			for _, tt := range []struct {
				version int32
				want    wire.Code
			}{{0, wire.OK}, {0, wire.BadVersion}, {1, wire.OK}, {-1, wire.OK}, {2, wire.BadVersion}, {-2, wire.BadVersion}, {3, wire.OK}} {
				_, code := p.setData(s.at("x"), []byte("x"), tt.version)
				s.want(fmt.Sprintf("setData of version %d", tt.version), code, tt.want)
			}
			s.want("delete of an old version", p.delete(s.at("x"), 3).code, wire.BadVersion)
			s.want("delete", p.delete(s.at("x"), 4).code, wire.OK)
		}},
		{"mistakes in setData", func(s *site) {
			p := s.peer()
			for _, tt := range []struct {
				path string
				want wire.Code
			}{
				{s.at("none"), wire.NoNode}, {"", wire.BadArguments}, {"x", wire.BadArguments}, {s.at(""), wire.BadArguments},
				{"/zookeeper/config", wire.NoAuth},
			} {
				if _, code := p.setData(tt.path, nil, 99); code != tt.want {
					s.Errorf("setData %q of a wrong version, too: %s, want %s", strings.TrimPrefix(tt.path, s.root), code, tt.want)
				}
				_, code := p.setData(tt.path, nil, -1)
				s.want(fmt.Sprintf("setData %q", strings.TrimPrefix(tt.path, s.root)), code, tt.want)
			}
		}},
		{"mistakes in delete", func(s *site) {
			p := s.peer()
			p.mustCreate(s.at("x"), persistent)
			p.mustCreate(s.at("x/child"), persistent)
			for _, tt := range []struct {
				path    string
				version int32
				want    wire.Code
			}{
				{s.at("x"), -1, wire.NotEmpty}, {s.at("x"), 9, wire.BadVersion}, {s.at("none"), -1, wire.NoNode},
				{s.at("none/x"), -1, wire.NoNode}, {"", -1, wire.BadArguments}, {"x", -1, wire.BadArguments},
				{"/", -1, wire.BadArguments}, {"/zookeeper", -1, wire.BadArguments}, {"/zookeeper/quota", -1, wire.BadArguments},
				{"/zookeeper/config", -1, wire.BadArguments}, {s.at("x\x00"), -1, wire.BadArguments}, {s.at(""), -1, wire.NoNode},
				{"/zookeeper/config/x", -1, wire.NoAuth},
			} {
				s.want(fmt.Sprintf("delete %q of version %d", strings.TrimPrefix(tt.path, s.root), tt.version), p.delete(tt.path, tt.version).code, tt.want)
			}
		}},
		{"an ephemeral that was deleted stays so", func(s *site) {
			p, other := s.peer(), s.peer()
			p.mustCreate(s.at("x"), ephemeral)
			other.sync("/")
			other.mustDelete(s.at("x"))
			other.mustCreate(s.at("x"), persistent)
			p.call(wire.OpClose, nil)
			other.sync("/")
			_, code := other.exists(s.at("x"), false)
			s.want("the other's", code, wire.OK)
		}},
		{"the root can be written", func(s *site) {
			p := s.peer()
			_, before, _ := p.getData("/", false)
			st, code := p.setData("/", []byte{}, before.Version)
			s.want("code", code, wire.OK)
			s.want("version", st.Version, before.Version+1)
		}},
	}
}

func multiCases() []namedCase {
	create := func(op wire.Opcode, path string, flags int32) step { return step{op, putCreate(path, []byte{}, flags)} }
	remove := func(path string, version int32) step { return step{wire.OpDelete, putPathVersion(path, version)} }
	set := func(path string, version int32) step {
		return step{wire.OpSetData, putSetData(path, []byte("set"), version)}
	}
	check := func(path string, version int32) step { return step{wire.OpCheck, putPathVersion(path, version)} }
	return []namedCase{
		{"all succeed", func(s *site) {
			p := s.peer()
			results, r := p.multi(
				create(wire.OpCreate, s.at("a"), persistent), create(wire.OpCreate2, s.at("a/b-"), ephemeralSequential),
				set(s.at("a"), 0), check(s.at("a"), 1), create(wire.OpCreate, s.at("gone"), persistent), remove(s.at("gone"), 0),
				create(wire.OpCreateContainer, s.at("c"), containerMode), create(wire.OpCreate, s.at("d"), containerMode))
			s.want("header", r.code, wire.OK)
			s.want("codes", codes(results), "OK OK OK OK OK OK OK OK")
			if len(results) != 8 {
				s.Fatalf("%d results", len(results))
			}
			for i, want := range []wire.Opcode{wire.OpCreate, wire.OpCreate2, wire.OpSetData, wire.OpCheck, wire.OpCreate, wire.OpDelete, wire.OpCreate2, wire.OpCreate2} {
				s.want(fmt.Sprintf("type of result %d", i), results[i].op, want)
			}
			s.want("path", results[1].path, s.at("a/b-0000000000"))
			s.want("zxid of a part", results[1].stat.Czxid, r.zxid)
			s.want("owner of a part", results[1].stat.EphemeralOwner, p.hello.id)
			s.want("version of a part", results[2].stat.Version, int32(1))
			s.want("children of a part", results[2].stat.NumChildren, int32(1))
			s.want("path of the container", results[6].path, s.at("c"))
			list, st, _ := p.children(s.root, false)
			s.want("children", list, "a c d")
			s.want("pzxid", st.Pzxid, r.zxid)
			s.want("cversion", st.Cversion, int32(5))
		}},
		{"one fails, none happens", func(s *site) {
			p, other := s.peer(), s.peer()
			p.mustCreate(s.at("x"), persistent)
			p.mustCreate(s.at("x/child"), persistent)
			other.sync("/")
			for _, path := range []string{"x", "new", "x/child"} {
				other.exists(s.at(path), true)
			}
			other.children(s.root, true)
			_, before, _ := p.children(s.root, false)
			_, x, _ := p.getData(s.at("x"), false)
			results, r := p.multi(set(s.at("x"), -1), remove(s.at("x/child"), -1), create(wire.OpCreate, s.at("new-"), sequential),
				check(s.at("x"), 7), set(s.at("none"), -1))
			s.want("header", r.code, wire.OK)
			s.want("codes", codes(results), "OK OK OK BadVersion RuntimeInconsistency")
			for i, result := range results {
				s.want(fmt.Sprintf("type of result %d", i), result.op, wire.Opcode(-1))
			}
			_, after, _ := p.children(s.root, false)
			s.want("parent", after, before)
			data, st, _ := p.getData(s.at("x"), false)
			s.want("data", string(data), "")
			s.want("stat", st, x)
			s.want("events", other.events(), "")
			s.want("next number", p.mustCreate(s.at("new-"), sequential), s.at("new-0000000001"))
			s.want("its own child is back", p.delete(s.at("x"), -1).code, wire.NotEmpty)
		}},
		{"ephemerals come back, too", func(s *site) {
			p := s.peer()
			p.mustCreate(s.at("e"), ephemeral)
			results, _ := p.multi(remove(s.at("e"), -1), check(s.at("none"), -1))
			s.want("codes", codes(results), "OK NoNode")
			st, _ := p.exists(s.at("e"), false)
			s.want("owner", st.EphemeralOwner, p.hello.id)
			p.call(wire.OpClose, nil)
			other := s.peer()
			other.sync("/")
			_, code := other.exists(s.at("e"), false)
			s.want("after its owner", code, wire.NoNode)
		}},
		{"a part sees those before it", func(s *site) {
			p := s.peer()
			for _, tt := range []struct {
				name  string
				steps []step
				want  string
			}{
				{"child of a new znode", []step{create(wire.OpCreate, s.at("a"), 0), create(wire.OpCreate, s.at("a/b"), 0)}, "OK OK"},
				{"parent after its child", []step{remove(s.at("a/b"), -1), remove(s.at("a"), -1)}, "OK OK"},
				{"parent before its child", []step{create(wire.OpCreate, s.at("a"), 0), create(wire.OpCreate, s.at("a/b"), 0), remove(s.at("a"), -1)}, "OK OK NotEmpty"},
				{"twice the same", []step{create(wire.OpCreate, s.at("a"), 0), create(wire.OpCreate, s.at("a"), 0)}, "OK NodeExists"},
				{"gone and new", []step{create(wire.OpCreate, s.at("a"), 0), remove(s.at("a"), 0), create(wire.OpCreate, s.at("a"), 0)}, "OK OK OK"},
				{"versions", []step{set(s.at("a"), 0), set(s.at("a"), 1), check(s.at("a"), 2), set(s.at("a"), 0)}, "OK OK OK BadVersion"},
				{"child of a new ephemeral", []step{create(wire.OpCreate, s.at("e"), ephemeral), create(wire.OpCreate, s.at("e/x"), 0)}, "OK NoChildrenForEphemerals"},
				{"the first fails", []step{check(s.at("none"), 0), create(wire.OpCreate, s.at("b"), 0)}, "NoNode RuntimeInconsistency"},
			} {
				results, _ := p.multi(tt.steps...)
				s.want(tt.name, codes(results), tt.want)
			}
		}},
		{"sequence numbers", func(s *site) {
			p := s.peer()
			results, _ := p.multi(create(wire.OpCreate, s.at("n-"), sequential), create(wire.OpCreate, s.at("n-"), sequential))
			s.want("codes", codes(results), "OK OK")
			if len(results) == 2 {
				s.want("second", results[1].path, s.at("n-0000000001"))
			}
		}},
		{"nothing to do", func(s *site) {
			p := s.open(s.addrs[0], handshake{})
			before := p.delete(s.at("none"), -1).zxid
			results, r := p.multi()
			s.want("code", r.code, wire.OK)
			s.want("results", len(results), 0)
			s.want("zxid", r.zxid-before, int64(1))
		}},
		{"check", func(s *site) {
			p := s.peer()
			p.mustCreate(s.at("x"), persistent)
			for _, tt := range []struct {
				path    string
				version int32
				want    string
			}{
				{s.at("x"), 0, "OK"}, {s.at("x"), -1, "OK"}, {s.at("x"), 1, "BadVersion"}, {s.at("none"), -1, "NoNode"},
				{"", -1, "BadArguments"}, {"/", -1, "OK"}, {"/zookeeper/config", -1, "OK"},
			} {
				results, _ := p.multi(check(tt.path, tt.version))
				s.want(fmt.Sprintf("check %q of version %d", strings.TrimPrefix(tt.path, s.root), tt.version), codes(results), tt.want)
			}
		}},
		{"an operation that cannot be part of one", func(s *site) {
			p := s.peer()
			_, r := p.multi(step{wire.OpSync, func(out *jute.Encoder) { out.Text("/") }})
			s.want("code", r.code, wire.MarshallingError)
			_, r = p.multi(create(wire.OpCreate, s.at("x"), 9))
			s.want("flags that mean nothing", r.code, wire.MarshallingError)
			p.mustCreate(s.at("x"), persistent) // the connection is still open
		}},
		{"events", func(s *site) {
			p, other := s.peer(), s.peer()
			other.exists(s.at("a"), true)
			other.exists(s.at("b"), true)
			other.children(s.root, true)
			_, r := p.multi(create(wire.OpCreate, s.at("a"), 0), create(wire.OpCreate, s.at("b"), 0), set(s.at("a"), -1))
			other.sync("/")
			if s.zxids {
				for _, n := range other.received {
					s.want("zxid of "+n.typ.String(), n.zxid, r.zxid)
				}
			}
			s.want("events", other.events(), "NodeCreated /a, NodeChildrenChanged , NodeCreated /b")
		}},
	}
}
