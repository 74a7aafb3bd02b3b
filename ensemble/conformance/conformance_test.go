package conformance_test

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

var live ensembletest.Shared

func TestMain(m *testing.M) { os.Exit(live.Main(m)) }

// site is the place of a case: servers, and its own znode.
type site struct {
	*testing.T
	addrs  []string
	root   string
	zxids  bool // notifications carry the zxid of their transaction, as they do since ZooKeeper 3.9
	opened int
	latest int64 // see peer
}

func (s *site) at(name string) string { return s.root + "/" + name }

func (s *site) addr() string {
	s.opened++
	return s.addrs[(s.opened-1)%len(s.addrs)]
}

func (s *site) peer() *peer { return s.open(s.addr(), handshake{}) }

func (s *site) open(addr string, h handshake) *peer {
	s.Helper()
	p := open(s.T, addr, h)
	p.root, p.latest = s.root, &s.latest
	return p
}

func (s *site) reopen(p *peer, addr string) *peer {
	s.Helper()
	again := s.open(addr, handshake{id: p.hello.id, password: p.hello.password})
	again.xid = p.xid
	return again
}

// reopenEnded tries to attach a session that has ended. A server that lags would end the new connection when it applies the end of the
// session. After a write, it no longer lags.
func (s *site) reopenEnded(p *peer, addr string) *peer {
	s.Helper()
	s.open(addr, handshake{}).mustCreate(s.at("applied"), persistent)
	return s.reopen(p, addr)
}

func (s *site) want(what string, got, want any) {
	s.Helper()
	if !reflect.DeepEqual(got, want) {
		s.Errorf("%s: got %v, want %v", what, got, want)
	}
}

type group struct {
	name  string
	cases []namedCase
}

type namedCase struct {
	name string
	run  func(*site)
}

func groups() []group {
	return []group{
		{"session", sessionCases()}, {"create", createCases()}, {"change", changeCases()}, {"read", readCases()},
		{"multi", multiCases()}, {"watch", watchCases()}, {"rewatch", rewatchCases()}, {"removal", removalCases()},
		{"wire", wireCases()}, {"acl", aclCases()}, {"ttl", ttlCases()}, {"query", queryCases()}, {"command", commandCases()},
	}
}

func runCases(t *testing.T, build func(t *testing.T) *site) {
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) { c.run(build(t)) })
			}
		})
	}
}

func TestEmbedded(t *testing.T) {
	for name, config := range map[string]embedded.Config{
		"one": {}, "three": {Voters: 3}, "three that lag": {Voters: 3, Lag: 5 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			runCases(t, func(t *testing.T) *site {
				t.Parallel() // on servers of their own
				return embeddedSite(t, config)
			})
		})
	}
}

// It takes over 10 s, because each case opens sessions on three servers, and some wait until one expires.
func TestLiveServers(t *testing.T) {
	e := live.Get(t)
	runCases(t, func(t *testing.T) *site { return prepare(t, e.Servers()) })
}

// embeddedSite is the servers for one case, with the session timeouts of the containers.
func embeddedSite(t *testing.T, config embedded.Config) *site {
	t.Helper()
	return prepare(t, ensembletest.Embedded(t, config).Servers())
}

// prepare creates the site's znode, and removes its tree at the end.
func prepare(t *testing.T, servers []ensemble.Server) *site {
	t.Helper()
	s := &site{T: t, root: fmt.Sprintf("/conformance-%d", time.Now().UnixNano())}
	for _, server := range servers {
		s.addrs = append(s.addrs, server.Addr)
	}
	status := must.Get(ensemble.Srvr(t.Context(), servers[0]))(t)
	s.zxids = status.Version >= "3.9"
	maker := s.peer()
	maker.mustCreate(s.root, persistent)
	maker.bye()
	root, addr := s.root, s.addrs[0]
	t.Cleanup(func() {
		p := open(t, addr, handshake{})
		p.sync("/")
		p.clear(root)
		p.call(wire.OpClose, nil)
	})
	for _, addr := range s.addrs { // makes the znode visible on every server
		p := s.open(addr, handshake{})
		p.sync("/")
		p.bye()
	}
	s.opened = 0
	return s
}

func (p *peer) clear(path string) {
	p.t.Helper()
	if r := p.call(wire.OpGetChildren, putPathWatch(path, false)); r.code == wire.OK {
		for _, name := range r.body.Texts() {
			p.clear(path + "/" + name)
		}
	}
	if r := p.delete(path, -1); r.code != wire.OK && r.code != wire.NoNode {
		p.t.Errorf("clean up %s: %s", path, r.code)
	}
}

func sessionCases() []namedCase {
	return []namedCase{
		{"new", func(s *site) {
			p := s.peer()
			s.want("version", p.hello.version, int32(0))
			s.want("length of the password", len(p.hello.password), 16)
			if p.hello.id == 0 || slices.Max(p.hello.password) == 0 {
				s.Errorf("greeting %+v: want an id and a password", p.hello)
			}
			s.want("timeout", p.hello.timeout, int32(sessionTimeout.Milliseconds()))
		}},
		{"a new session is a transaction", func(s *site) {
			addr := s.addr()
			p := s.open(addr, handshake{})
			before := p.delete(s.at("none"), -1).zxid
			s.open(addr, handshake{})
			s.want("zxids used", p.delete(s.at("none"), -1).zxid-before, int64(2))
		}},
		{"timeouts are clamped", func(s *site) {
			s.want("lowest", s.open(s.addr(), handshake{timeout: time.Millisecond}).hello.timeout, int32(4_000))
			s.want("highest", s.open(s.addr(), handshake{timeout: time.Hour}).hello.timeout, int32(40_000))
		}},
		{"only clients that know the read-only flag get it", func(s *site) {
			s.want("old client", s.open(s.addr(), handshake{}).hello.readOnly, false)
			s.want("new client", s.open(s.addr(), handshake{readOnly: true}).hello.readOnly, true)
		}},
		{"ping", func(s *site) {
			p := s.peer()
			p.write(encode(-2, wire.OpPing, nil))
			r := p.await()
			s.want("xid", r.xid, int32(-2))
			s.want("code", r.code, wire.OK)
		}},
		{"the reply to a ping has the last zxid of the server", func(s *site) {
			idle, other := s.open(s.addrs[0], handshake{}), s.open(s.addrs[0], handshake{})
			_, st, _ := other.create2(wire.OpCreate2, s.at("x"), nil, persistent)
			idle.write(encode(-2, wire.OpPing, nil))
			if got := idle.await().zxid; got < st.Czxid {
				s.Errorf("zxid %#x after a create with zxid %#x", got, st.Czxid)
			}
		}},
		{"re-attached", func(s *site) {
			p := s.peer()
			mine := p.mustCreate(s.at("mine"), ephemeral)
			p.conn.Close()
			again := s.reopen(p, s.addrs[0])
			s.want("id", again.hello.id, p.hello.id)
			s.want("password", again.hello.password, p.hello.password)
			again.sync("/")
			st, code := again.exists(mine, false)
			s.want("code", code, wire.OK)
			s.want("owner", st.EphemeralOwner, p.hello.id)
			again.mustDelete(mine)
		}},
		{"re-attached elsewhere", func(s *site) {
			p := s.open(s.addrs[0], handshake{})
			p.conn.Close()
			again := s.reopen(p, s.addrs[len(s.addrs)-1])
			s.want("id", again.hello.id, p.hello.id)
			again.mustCreate(s.at("mine"), ephemeral)
		}},
		{"re-attached while connected: the old connection ends", func(s *site) {
			p := s.open(s.addrs[0], handshake{})
			again := s.reopen(p, s.addrs[0])
			s.want("id", again.hello.id, p.hello.id)
			s.want("replies on the old connection", len(p.closed()), 0)
			again.mustCreate(s.at("mine"), ephemeral)
		}},
		{"re-attached with another timeout", func(s *site) {
			p := s.peer()
			p.conn.Close()
			again := s.open(s.addrs[0], handshake{id: p.hello.id, password: p.hello.password, timeout: 5 * time.Second})
			s.want("timeout", again.hello.timeout, int32(5_000))
		}},
		{"wrong password", func(s *site) {
			p := s.open(s.addrs[0], handshake{})
			thief := s.open(s.addrs[0], handshake{id: p.hello.id, password: make([]byte, 16)})
			s.want("greeting", thief.hello, greeting{password: make([]byte, 16)})
			thief.closed()
			s.want("replies to the owner", len(p.closed()), 0)
			s.want("the owner's id", s.reopen(p, s.addrs[0]).hello.id, p.hello.id)
		}},
		{"unknown session", func(s *site) {
			p := s.open(s.addr(), handshake{id: 4711, readOnly: true})
			s.want("greeting", p.hello, greeting{password: make([]byte, 16), readOnly: true})
			p.closed()
		}},
		{"closed", func(s *site) {
			p, other := s.peer(), s.peer()
			for _, name := range []string{"a", "b", "c"} {
				p.mustCreate(s.at(name), ephemeral)
			}
			other.sync("/")
			for _, name := range []string{"a", "b", "c"} {
				other.exists(s.at(name), true)
			}
			other.children(s.root, true)
			r := p.call(wire.OpClose, nil)
			s.want("code", r.code, wire.OK)
			s.want("frames after the reply", len(p.closed()), 0)
			other.sync("/")
			notified := other.received
			list, st, _ := other.children(s.root, false)
			s.want("children", list, "")
			s.want("pzxid of the parent", st.Pzxid, r.zxid)
			if s.zxids {
				for _, n := range notified {
					s.want("zxid of "+n.typ.String(), n.zxid, r.zxid)
				}
			}
			s.want("notifications", len(notified), 4)
			s.want("after that, its id", s.reopenEnded(p, s.addrs[0]).hello.id, int64(0))
		}},
		{"expired", func(s *site) {
			p := s.open(s.addr(), handshake{timeout: time.Second})
			for _, name := range []string{"a", "b"} {
				p.mustCreate(s.at(name), ephemeral)
			}
			other := s.peer()
			other.sync("/")
			_, code := other.exists(s.at("a"), true)
			s.want("before", code, wire.OK)
			_, n := other.next()
			if n == nil || n.typ != wire.NodeDeleted || n.path != s.at("a") {
				s.Fatalf("notification %+v, want that a is deleted", n)
			}
			list, st, _ := other.children(s.root, false)
			s.want("children", list, "")
			if s.zxids {
				s.want("zxid of both deletes", st.Pzxid, n.zxid)
			}
			s.want("replies on its connection", len(p.closed()), 0)
			s.want("its id after that", s.reopenEnded(p, s.addrs[0]).hello.id, int64(0))
		}},
		{"a client from the future is turned away", func(s *site) {
			p := dial(s.T, s.addr())
			if err := p.greet(handshake{seen: 1 << 62}); err == nil {
				s.Errorf("greeting %+v, want none", p.hello)
			}
		}},
		{"watches end with their connection", func(s *site) {
			p := s.peer()
			p.exists(s.at("x"), true)
			p.children(s.root, true)
			p.conn.Close()
			again := s.reopen(p, s.addrs[0])
			again.mustCreate(s.at("x"), persistent)
			s.want("events", again.events(), "")
		}},
		{"authentication", func(s *site) {
			p := s.peer()
			put := func(scheme string) func(*jute.Encoder) {
				return func(out *jute.Encoder) {
					out.Int(0)
					out.Text(scheme)
					out.Buffer([]byte("user:password"))
				}
			}
			p.write(encode(-4, wire.OpAuth, put("digest")))
			r := p.await()
			s.want("xid", r.xid, int32(-4))
			s.want("code", r.code, wire.OK)
			s.want("zxid", r.zxid, int64(0))
			p.mustCreate(s.at("x"), persistent)
			p.write(encode(-4, wire.OpAuth, put("nonsense")))
			replies := p.closed()
			if len(replies) != 1 || replies[0].code != wire.AuthFailed || replies[0].xid != -4 {
				s.Errorf("replies %+v, want AuthFailed and the end", replies)
			}
			s.reopen(p, s.addrs[0]).bye() // a later case may count transactions
		}},
	}
}
