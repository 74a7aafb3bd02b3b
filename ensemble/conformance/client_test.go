package conformance_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// stand is a set of servers that fail, and the state that their clients share.
type stand struct {
	addrs []string
	root  string
	tick  time.Duration
	over  atomic.Bool // the clients end their sessions

	sent, acked, number atomic.Int64 // see exchange

	healthy atomic.Bool // no server has failed, and all of them serve
	// refused are the handshakes after which a connection was closed although that was so, and unserved those at other times.
	refused, unserved, expired atomic.Int64
}

func newStand(s *site, tick time.Duration) *stand {
	s.Helper()
	p := s.peer()
	p.mustCreate(s.root+logPath, persistent)
	p.mustCreate(s.root+keptPath, persistent)
	d := &stand{addrs: s.addrs, root: s.root, tick: tick}
	d.acked.Store(p.seen)
	return d
}

func (d *stand) client(seed, number uint64) *client {
	return &client{stand: d, Rand: rand.New(rand.NewPCG(seed, number)), loose: map[int]bool{}}
}

type link struct {
	*line
	conn net.Conn
	in   *bufio.Reader
	xid  int32
}

// client opens one session after another. It sends random requests, mostly one at a time, and leaves a server that does not
// answer.
type client struct {
	*stand
	*rand.Rand
	hello   greeting // of its session; the id is zero if it has none
	seen    int64    // by its session
	current *link    // nil if it is not connected
	old     []*link  // from which its sessions have moved
	lines   []*line
	// loose are servers on which earlier requests of the session may be under way. The session does not move there: a real server may tell the
	// leader that the session has come back before it passes on what it has received on the old connection, which then takes effect late.
	loose map[int]bool
}

// patient returns how long the client waits for an answer: sometimes long enough to stay on a paused server.
func (c *client) patient() time.Duration { return []time.Duration{1, 1, 10}[c.IntN(3)] * c.tick }

func (c *client) upTo(d time.Duration) time.Duration { return time.Duration(c.Float64() * float64(d)) }

func (c *client) run() {
	for !c.over.Load() {
		if c.current == nil {
			c.connect()
		} else {
			c.act()
		}
		time.Sleep(c.upTo(c.tick / 20))
	}
	if c.current != nil { // a sync, because a lost notification is found by a later reply
		if c.ask(&exchange{op: wire.OpSync}, patience) && c.ask(&exchange{op: wire.OpClose}, patience) {
			c.hangUp() // else it has
		}
	}
	for _, l := range c.old { // requests sent there can no longer take effect when the server has closed the connection
		_ = l.conn.SetDeadline(time.Now().Add(10 * c.tick))
		for err := error(nil); err == nil; {
			_, err = jute.ReadFrame(l.in, maxFrame)
		}
		l.conn.Close()
	}
}

// forget abandons the session, which the servers will expire.
func (c *client) forget() { c.hello, c.seen, c.loose = greeting{}, 0, map[int]bool{} }

func (c *client) connect() {
	var servers []int
	for i := range c.addrs {
		if !c.loose[i] {
			servers = append(servers, i)
		}
	}
	if len(servers) == 0 {
		c.forget()
		return
	}
	c.attach(servers[c.IntN(len(servers))])
}

// attach tries to connect to this server. A new session begins with an ephemeral znode, which exists as long as the session.
func (c *client) attach(server int) {
	l, g, err := c.greet(server)
	if err != nil {
		return
	}
	if g.id == 0 {
		l.conn.Close()
		c.expired.Add(1)
		c.forget()
		return
	}
	isNew := c.hello.id == 0
	l.session = g.id
	c.current, c.hello, c.lines = l, g, append(c.lines, l.line)
	if !isNew {
		return
	}
	n := int(c.number.Add(1))
	life := write{op: wire.OpCreate, path: mark(n) + "/life", flags: ephemeral}
	if !c.ask(&exchange{op: wire.OpMulti, number: n, write: life, life: true}, c.patient()) {
		c.forget()
	}
}

func (c *client) greet(server int) (*link, greeting, error) {
	conn, err := net.DialTimeout("tcp", c.addrs[server], patience)
	if err != nil {
		return nil, greeting{}, err
	}
	healthy := c.healthy.Load()
	l := &link{line: &line{server: server}, conn: conn, in: bufio.NewReader(conn)}
	_ = conn.SetDeadline(time.Now().Add(c.patient()))
	h := handshake{timeout: 3 * c.tick, id: c.hello.id, password: c.hello.password, seen: c.seen}
	var frame []byte
	if _, err = conn.Write(h.frame()); err == nil {
		frame, err = jute.ReadFrame(l.in, maxFrame)
	}
	if err == nil {
		var g greeting
		g, err = readGreeting(frame)
		return l, g, err
	}
	conn.Close()
	var network net.Error
	switch {
	case errors.As(err, &network) && network.Timeout():
	case c.seen > 0 && healthy && c.healthy.Load():
		c.refused.Add(1)
	default:
		c.unserved.Add(1)
	}
	return nil, greeting{}, err
}

func (c *client) hangUp() {
	c.current.conn.Close()
	c.current = nil
}

// ask sends a request on the session's connection, and reports whether it was answered. If not, it ends the connection.
func (c *client) ask(e *exchange, wait time.Duration) bool {
	return c.send(c.current, e) == nil && c.await(wait, e) || c.giveUp(e)
}

func (c *client) await(wait time.Duration, exchanges ...*exchange) bool {
	_ = c.current.conn.SetDeadline(time.Now().Add(wait))
	for _, e := range exchanges {
		if err := c.receive(c.current, e); err != nil {
			return false
		}
	}
	return true
}

// giveUp ends a connection on which requests were not answered. It returns false.
func (c *client) giveUp(exchanges ...*exchange) bool {
	for _, e := range exchanges {
		c.loose[c.current.server] = c.loose[c.current.server] || !e.answered && !e.isRead() && e.op != wire.OpSync
	}
	c.hangUp()
	return false
}

// burst sends requests without waiting for answers. A server that has been paused may answer some of them before it has the
// writes that others have made meanwhile.
func (c *client) burst() {
	sent := []*exchange{c.anyRead(), c.anyRead(), c.anyWrite(), c.anyRead(), c.anyRead()}
	for i, e := range sent {
		if err := c.send(c.current, e); err != nil {
			c.giveUp(sent[:i+1]...)
			return
		}
		time.Sleep(c.upTo(c.tick / 2))
	}
	_ = c.await(10*c.tick, sent...) || c.giveUp(sent...)
}

func (c *client) send(l *link, e *exchange) error {
	l.exchanges = append(l.exchanges, e)
	l.xid++
	frame := encode(l.xid, e.op, c.put(e))
	e.floor, e.sent = c.acked.Load(), c.sent.Add(1)
	_, err := l.conn.Write(frame)
	return err
}

func (c *client) put(e *exchange) func(*jute.Encoder) {
	switch {
	case e.op == wire.OpClose:
		return nil
	case e.op == wire.OpSync:
		return func(out *jute.Encoder) { out.Text(c.root) }
	case e.op == wire.OpMulti:
		return putMulti(write{op: wire.OpCreate, path: mark(e.number)}.step(c.root), e.write.step(c.root))
	case e.isRead():
		return putPathWatch(c.root+e.read.path, e.read.watch)
	default:
		return e.write.step(c.root).put
	}
}

// The errors with which a real server may reply when it no longer serves the session, before it closes the connection. It may do so even
// shortly before the session ends: a leader that has been paused notes that the session has expired, and then orders its end.
const (
	sessionExpired wire.Code = -112
	sessionMoved   wire.Code = -118
)

// receive reads the answer to the last request, and the notifications before it.
func (c *client) receive(l *link, e *exchange) error {
	for {
		frame, err := jute.ReadFrame(l.in, maxFrame)
		if err != nil {
			return err
		}
		r, n, err := parse(frame)
		switch {
		case err != nil:
			return err
		case n != nil:
			n.path = strings.TrimPrefix(n.path, c.root)
			e.notified = append(e.notified, *n)
			continue
		}
		if e.ok, e.told, e.answered = c.told(e, r); !e.answered {
			return errors.New("the session has ended here")
		}
		e.zxid = r.zxid
		c.seen = max(c.seen, r.zxid)
		for known := c.acked.Load(); !e.isRead() && e.op != wire.OpSync && known < r.zxid && !c.acked.CompareAndSwap(known, r.zxid); {
			known = c.acked.Load()
		}
		return nil
	}
}

// told returns whether a request succeeded, and the content of the reply. known is false if the reply says that the session has
// ended here.
func (c *client) told(e *exchange, r reply) (ok bool, text string, known bool) {
	ended := func(code wire.Code) bool { return code == sessionExpired || code == sessionMoved }
	ok, known = r.code == wire.OK, !ended(r.code)
	if e.op == wire.OpMulti && ok {
		results, err := readMulti(r.body)
		ok = err == nil
		for _, one := range results {
			ok, known = ok && one.code == wire.OK, known && !ended(one.code)
			text += outcome(one.code, strings.TrimPrefix(one.path, c.root), one.stat)
		}
		return ok, text, known
	}
	var st zk.Stat
	switch {
	case !ok || e.op == wire.OpClose:
	case e.op == wire.OpGetData:
		text, st = string(r.body.Buffer()), r.body.Stat()
	case e.op == wire.OpGetChildren, e.op == wire.OpGetChildren2:
		text = names(r)
	case e.op != wire.OpExists:
		text = strings.TrimPrefix(r.body.Text(), c.root)
	}
	switch e.op {
	case wire.OpExists, wire.OpGetChildren2, wire.OpCreate2:
		st = stat(r)
	}
	return ok, outcome(r.code, text, st), known
}

func (c *client) act() {
	switch n := c.IntN(100); {
	case n < 1: // about until the session expires
		time.Sleep(3*c.tick + c.upTo(3*c.tick/2))
		c.ask(c.kept(), c.patient())
	case n < 5:
		c.burst()
	case n < 45:
		c.ask(c.anyRead(), c.patient())
	case n < 60:
		_ = c.ask(&exchange{op: wire.OpSync}, c.patient()) && c.ask(c.anyRead(), c.patient())
	case n < 75:
		c.ask(c.anyWrite(), c.patient())
	case n < 82:
		c.ask(c.kept(), c.patient())
	case n < 94: // at best before the other server has applied the write
		if c.ask(c.anyWrite(), c.patient()) {
			c.move()
		}
	case n < 97:
		if c.ask(&exchange{op: wire.OpClose}, c.patient()) {
			c.hangUp()
		}
		c.forget()
	default: // its last write may overtake the end of the session, but not come after it
		_ = c.send(c.current, c.kept())
		c.hangUp()
		c.forget()
	}
}

// move takes the session to another server, where it reads at once. Sometimes the client writes on the old connection after that.
func (c *client) move() {
	from, to := c.current, (c.current.server+1+c.IntN(len(c.addrs)-1))%len(c.addrs)
	if c.loose[to] {
		return
	}
	id := c.hello.id
	c.current = nil
	c.attach(to)
	if c.current == nil || c.hello.id != id || c.IntN(2) == 0 {
		from.conn.Close()
	} else {
		c.belated(from)
	}
	if c.current != nil {
		c.ask(c.anyRead(), c.patient())
	}
}

// belated writes on a connection from which the session has moved.
func (c *client) belated(from *link) {
	e := c.kept()
	e.belated = true
	_ = c.send(from, e)
	c.loose[from.server] = true
	c.old = append(c.old, from)
}

// shared returns the znodes that all clients use. The last ones are names that sequential creates will have.
func shared() []string {
	return []string{"/a", "/b", "/a/a", "/b/a", "/b/a/a", "/a/n-0000000000", "/a/n-0000000002"}
}

func (c *client) anyRead() *exchange {
	ops := []wire.Opcode{wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2}
	r := read{ops[c.IntN(len(ops))], shared()[c.IntN(len(shared()))], c.IntN(3) > 0}
	if c.IntN(10) == 0 {
		r.op, r.path = wire.OpGetChildren, keptPath
	}
	return &exchange{op: r.op, read: r}
}

// anyWrite returns a multi of a write and of its mark.
func (c *client) anyWrite() *exchange {
	n := int(c.number.Add(1))
	w := write{path: shared()[c.IntN(len(shared()))], data: []byte(strconv.Itoa(n)), version: int32(c.IntN(4)) - 1}
	switch kind := c.IntN(10); {
	case kind < 2:
		w.op = wire.OpDelete
	case kind < 5:
		w.op = wire.OpSetData
	default:
		w.op, w.flags = []wire.Opcode{wire.OpCreate, wire.OpCreate2}[c.IntN(2)], int32(c.IntN(4))
		if w.flags&sequential != 0 {
			w.path = "/a/n-"
		}
	}
	return &exchange{op: wire.OpMulti, number: n, write: w}
}

func (c *client) kept() *exchange {
	n := int(c.number.Add(1))
	w := write{op: wire.OpCreate, path: fmt.Sprintf("%s/%d", keptPath, n), data: []byte(strconv.Itoa(n))}
	if c.IntN(2) == 0 {
		w.op, w.path, w.flags = wire.OpCreate2, keptPath+"/n-", sequential
	}
	return &exchange{op: w.op, number: n, write: w}
}
