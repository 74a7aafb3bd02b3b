package conformance_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

const sessions = 3

type verb string

const (
	doWrite     verb = "write"
	doMulti     verb = "multi"
	doRead      verb = "read"
	doReconnect verb = "reconnect" // and set watches again
	doRenew     verb = "renew"     // close the session and open another one
)

type action struct {
	session int
	verb    verb
	writes  []write     // one, or those of a multi
	read    read        // of doRead
	watches [3][]string // data, exist and child, of doReconnect
	since   int64       // of doReconnect: how many transactions ago the client was last connected
}

type write struct {
	op      wire.Opcode
	path    string
	data    []byte
	flags   int32
	version int32
}

type read struct {
	op    wire.Opcode
	path  string
	watch bool
}

func (w write) String() string {
	switch w.op {
	case wire.OpDelete, wire.OpCheck:
		return fmt.Sprintf("%s %s v%d", w.op, w.path, w.version)
	case wire.OpSetData:
		return fmt.Sprintf("%s %s %q v%d", w.op, w.path, w.data, w.version)
	default:
		return fmt.Sprintf("%s %s %q mode %d", w.op, w.path, w.data, w.flags)
	}
}

func (a action) String() string {
	text := fmt.Sprintf("session %d: ", a.session)
	switch a.verb {
	case doRead:
		return text + fmt.Sprintf("%s(%d) %s watch=%t", a.read.op, a.read.op, a.read.path, a.read.watch)
	case doReconnect:
		return text + fmt.Sprintf("reconnect, set data %v exist %v child %v as of %d ago", a.watches[0], a.watches[1], a.watches[2], a.since)
	case doWrite, doMulti:
		var parts []string
		for _, w := range a.writes {
			parts = append(parts, w.String())
		}
		return text + string(a.verb) + " " + strings.Join(parts, "; ")
	default:
		return text + string(a.verb)
	}
}

// step returns the write in the form of the protocol, below a root.
func (w write) step(root string) step {
	switch w.op {
	case wire.OpDelete, wire.OpCheck:
		return step{w.op, putPathVersion(root+w.path, w.version)}
	case wire.OpSetData:
		return step{w.op, putSetData(root+w.path, w.data, w.version)}
	default:
		return step{w.op, putCreate(root+w.path, w.data, w.flags)}
	}
}

// paths are few, so that sessions use the same ones. The last ones are names that sequential creates will have. No znode is
// created below the boxes, which are containers: the time of their removal is not defined.
func paths() []string {
	return []string{"/a", "/b", "/a/a", "/a/b", "/b/a", "/a/a/a", "/box", "/crate", "",
		"/a/n-0000000000", "/a/n-0000000001", "/b/n-0000000002", "/n-0000000003"}
}

// author writes random scripts, the same for the same seed.
type author struct{ *rand.Rand }

func newScript(seed uint64, length int) []action {
	a := author{rand.New(rand.NewPCG(seed, 0))}
	script := make([]action, length)
	for i := range script {
		script[i] = a.action()
	}
	return script
}

func (a author) action() action {
	act := action{session: a.IntN(sessions)}
	switch n := a.IntN(100); {
	case n < 45:
		act.verb, act.writes = doWrite, []write{a.write()}
	case n < 60:
		act.verb = doMulti
		for range a.IntN(5) {
			act.writes = append(act.writes, a.part())
		}
	case n < 94:
		ops := []wire.Opcode{wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2}
		act.verb, act.read = doRead, read{ops[a.IntN(len(ops))], a.path(), a.IntN(4) > 0}
	case n < 98:
		act.verb, act.since = doReconnect, int64(a.IntN(12))
		for kind := range act.watches {
			for range a.IntN(4) {
				act.watches[kind] = append(act.watches[kind], a.path())
			}
		}
	default:
		act.verb = doRenew
	}
	return act
}

func (a author) path() string { return paths()[a.IntN(len(paths()))] }

func (a author) write() write {
	switch n := a.IntN(10); {
	case n < 5:
		return a.create()
	case n < 8:
		return write{op: wire.OpDelete, path: a.path(), version: a.version()}
	default:
		return write{op: wire.OpSetData, path: a.path(), data: a.data(), version: a.version()}
	}
}

func (a author) part() write {
	if a.IntN(5) == 0 {
		return write{op: wire.OpCheck, path: a.path(), version: a.version()}
	}
	return a.write()
}

func (a author) create() write {
	ops := []wire.Opcode{wire.OpCreate, wire.OpCreate2}
	w := write{op: ops[a.IntN(len(ops))], path: a.path(), data: a.data(), flags: int32(a.IntN(4))}
	switch {
	case w.path == "/box" || w.path == "/crate":
		w.op, w.flags = wire.OpCreateContainer, containerMode
	case w.flags&sequential != 0:
		parents := []string{"/a", "/b", ""}
		w.path = parents[a.IntN(len(parents))] + "/n-"
	}
	return w
}

func (a author) data() []byte {
	if a.IntN(4) == 0 {
		return nil
	}
	return []byte(strings.Repeat("x", a.IntN(4)))
}

func (a author) version() int32 { return int32(a.IntN(4)) - 1 }

// stage is the place of a script. No other sessions use its servers.
type stage struct {
	*site
	peers []*peer
	names map[int64]string // sessions by id
	base  int64            // the zxid of the root's creation
}

func newStage(s *site) *stage {
	g := &stage{site: s, names: map[int64]string{0: "none"}}
	for i := range sessions {
		g.peers = append(g.peers, g.open(s.addrs[i%len(s.addrs)], handshake{timeout: 40e9}))
		g.names[g.peers[i].hello.id] = fmt.Sprintf("session %d", i)
	}
	// The script's own root is created after all sessions, so that every zxid in the script is this one or later.
	path, st, r := g.peers[0].create2(wire.OpCreate2, s.at("stage"), nil, persistent)
	if r.code != wire.OK {
		s.Fatalf("create %s: %s", s.at("stage"), r.code)
	}
	s.root, g.base = path, st.Czxid
	for _, p := range g.peers {
		p.root = path
	}
	g.fence()
	return g
}

// perform executes one action and returns all that the sessions observe of it.
func (g *stage) perform(a action) string {
	p := g.peers[a.session]
	var seen string
	switch a.verb {
	case doWrite:
		w := a.writes[0].step(g.root)
		r := p.call(w.op, w.put)
		seen = g.header(r) + g.answer(w.op, r)
	case doMulti:
		var steps []step
		for _, w := range a.writes {
			steps = append(steps, w.step(g.root))
		}
		results, r := p.multi(steps...)
		seen = g.header(r)
		for _, r := range results {
			seen += fmt.Sprintf("; %d %s %s %s", r.op, r.code, strings.TrimPrefix(r.path, g.root), g.stat(r.stat))
		}
	case doRead:
		r := p.call(a.read.op, putPathWatch(g.root+a.read.path, a.read.watch))
		seen = g.header(r) + g.answer(a.read.op, r)
	case doReconnect:
		p.conn.Close()
		seen = g.reconnect(a)
	case doRenew:
		r := p.call(wire.OpClose, nil)
		p.conn.Close()
		g.peers[a.session] = g.open(g.addrs[a.session%len(g.addrs)], handshake{timeout: 40e9})
		g.peers[a.session].received = p.received
		g.names[g.peers[a.session].hello.id] = fmt.Sprintf("session %d", a.session)
		seen = g.header(r)
	}
	return seen + g.fence()
}

func (g *stage) reconnect(a action) string {
	old := g.peers[a.session]
	p := g.reopen(old, g.addrs[a.session%len(g.addrs)])
	p.received = old.received
	g.peers[a.session] = p
	p.sync("/") // so that the server knows what the session has seen
	since := p.seen - a.since
	var lists [3][]string
	for kind, names := range a.watches {
		for _, name := range names {
			lists[kind] = append(lists[kind], g.root+name)
		}
	}
	return g.header(p.setWatches(since, lists[0], lists[1], lists[2]))
}

// fence makes all sessions catch up, and returns the notifications.
func (g *stage) fence() string {
	for _, p := range g.peers {
		p.send(wire.OpSync, func(out *jute.Encoder) { out.Text("/") })
	}
	for _, p := range g.peers {
		p.await()
	}
	var text strings.Builder
	for i, p := range g.peers {
		if p.seen < *p.latest {
			p.sync("/")
		}
		sortTogether(p.received)
		for _, n := range p.received {
			zxid := n.zxid
			if zxid > 0 {
				zxid -= g.base
			}
			fmt.Fprintf(&text, "\n    session %d is notified: %s %s by %d", i, n.typ, strings.TrimPrefix(n.path, g.root), zxid)
		}
		p.received = nil
	}
	return text.String()
}

func (g *stage) header(r reply) string { return fmt.Sprintf("%s at %d", r.code, r.zxid-g.base) }

func (g *stage) answer(op wire.Opcode, r reply) string {
	if r.code != wire.OK {
		return ""
	}
	var text string
	switch op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer:
		text = " " + strings.TrimPrefix(r.body.Text(), g.root)
	case wire.OpGetData:
		text = fmt.Sprintf(" %#v", r.body.Buffer())
	case wire.OpGetChildren, wire.OpGetChildren2:
		text = " [" + names(r) + "]"
	}
	switch op {
	case wire.OpCreate2, wire.OpCreateContainer, wire.OpGetData, wire.OpGetChildren2, wire.OpExists, wire.OpSetData:
		text += " " + g.stat(r.body.Stat())
	}
	return fmt.Sprintf("%s (%d bytes more)", text, r.body.Rest())
}

// stat returns a stat in a form that is the same on all servers: without times, and with names for zxids and sessions.
func (g *stage) stat(st zk.Stat) string {
	owner, known := g.names[st.EphemeralOwner]
	if !known {
		owner = "a stranger"
	}
	return fmt.Sprintf("czxid %d mzxid %d pzxid %d version %d cversion %d aversion %d of %s, %d bytes, %d children, modified %t",
		g.relative(st.Czxid), g.relative(st.Mzxid), g.relative(st.Pzxid), st.Version, st.Cversion, st.Aversion, owner,
		st.DataLength, st.NumChildren, st.Mtime < st.Ctime)
}

func (g *stage) relative(zxid int64) int64 {
	if zxid == 0 {
		return 0
	}
	return zxid - g.base
}
