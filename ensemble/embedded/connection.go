package embedded

import (
	"bufio"
	"net"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// connection is one TCP connection. One goroutine reads and executes its requests, and another writes its outbox.
type connection struct {
	server  *Server
	conn    net.Conn
	number  int64 // in the order of arrival
	out     *outbox
	session *session   // nil before the handshake, and after detach
	ids     []identity // requests keep the ones that they were sent with: it is only appended to

	requests, replies int64
	heard             time.Time       // when the last request was read
	waiting           bool            // for the answer to the request that is being served
	answered          chan struct{}   // receives when waiting ends
	closing           func()          // not nil: answers the request that ends the session
	held              <-chan struct{} // not nil: the next reply waits until it is closed
	muted             bool            // nothing more is sent
}

// maxFrame is ZooKeeper's jute.maxbuffer.
const maxFrame = 0xfffff

func (c *connection) read() {
	in := bufio.NewReader(c.conn)
	_ = c.conn.SetDeadline(time.Now().Add(handshakeTimeout)) // a handshake of TLS also writes
	proceed := c.greet(in)
	_ = c.conn.SetDeadline(time.Time{})
	for proceed {
		c.out.flush()
		frame, err := jute.ReadFrame(in, maxFrame)
		if err != nil {
			c.out.abort()
			return
		}
		c.out.awaitRoom()
		proceed = c.request(frame)
	}
	c.out.finish()
}

// greet opens a session and returns true, or answers a four-letter command.
func (c *connection) greet(in *bufio.Reader) bool {
	word, err := in.Peek(4)
	if err != nil {
		return false
	}
	if answer, ok := c.command(string(word)); ok {
		c.out.put(item{frame: []byte(answer)})
		return false
	}
	frame, err := jute.ReadFrame(in, maxFrame)
	return err == nil && c.connect(frame)
}

// connect answers the first frame of a connection with a new session, or with the client's earlier one.
func (c *connection) connect(frame []byte) bool {
	d := jute.NewDecoder(frame)
	d.Int() // the protocol's version, which is always zero
	lastSeen, timeout, id, password := d.Long(), d.Int(), d.Long(), d.Buffer()
	if d.Err() != nil {
		return false
	}
	knowsReadOnly := d.Rest() > 0
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.enter() || !s.serves || lastSeen > s.applied { // the client has seen later transactions on another server
		return false
	}
	s.received++
	granted := min(max(time.Duration(timeout)*time.Millisecond, minTicks*s.config.Tick), maxTicks*s.config.Tick)
	if id == 0 {
		s.delay(s.config.WriteDelay) // opening a session is a transaction
		c.ask(func() { s.begin(c, granted, knowsReadOnly) })
	} else {
		if old := s.attached[id]; old != nil { // as in ZooKeeper, even if the password is wrong
			s.drop(old)
		}
		c.ask(func() { s.resume(c, id, password, granted, knowsReadOnly) })
	}
	return c.await()
}

func (c *connection) enter() bool {
	for c.server.fault == ensemble.Pause && c.isOpen() {
		c.pauseUntil(c.server.resumed)
	}
	return c.isOpen()
}

func (c *connection) isOpen() bool { return c.server.connections[c] }

func (c *connection) pauseUntil(done <-chan struct{}) {
	c.server.mu.Unlock()
	defer c.server.mu.Lock()
	select {
	case <-done:
	case <-c.out.aborted:
	}
}

// ask runs do at the leader as soon as the server can reach it. Requests keep their order.
func (c *connection) ask(do func()) {
	s := c.server
	c.waiting, s.outgoing = true, append(s.outgoing, s.delayed(s.late, do))
	s.proceed()
}

// answerAt returns a function that answers the request that the connection waits for. It returns nil if s is not the connection's
// server. The function has no effect once the connection has ended.
func (c *connection) answerAt(s *Server, answer func()) func() {
	if s != c.server {
		return nil
	}
	return func() {
		if !c.isOpen() {
			return
		}
		answer()
		c.waiting = false
		select {
		case c.answered <- struct{}{}:
		default:
		}
	}
}

// await returns when the request has been answered. It reports whether further requests are read.
func (c *connection) await() bool {
	for c.waiting {
		c.pauseUntil(c.answered)
		if !c.isOpen() {
			return false
		}
	}
	return c.session != nil
}

// adopt attaches the connection to a session, and answers the handshake; e is nil if the session has ended.
func (c *connection) adopt(e *session, knowsReadOnly bool) {
	s := c.server
	if e == nil {
		e = &session{password: make([]byte, passwordSize)}
	} else {
		if old := s.attached[e.id]; old != nil { // attached since this connection asked
			s.drop(old)
		}
		c.session, c.heard, s.attached[e.id] = e, time.Now(), c
	}
	out := jute.NewFrame(smallFrame)
	out.Int(0)
	out.Int(int32(e.timeout.Milliseconds()))
	out.Long(e.id)
	out.Buffer(e.password)
	if knowsReadOnly {
		out.Bool(false)
	}
	c.send(item{frame: out.Frame()})
}

type request struct {
	xid  int32
	op   wire.Opcode
	body *jute.Decoder
}

func (c *connection) request(frame []byte) bool {
	d := jute.NewDecoder(frame)
	r := request{xid: d.Int(), op: wire.Opcode(d.Int()), body: d}
	if d.Err() != nil {
		return false
	}
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.enter() || c.session == nil { // the session has ended or moved to another connection
		return false
	}
	s.received++
	c.requests++
	if !c.admits(r.op) {
		c.frame(r.xid, 0, wire.SessionClosedRequireSASLAuth, nil)
		return false
	}
	c.heard = time.Now()
	if s.hears() {
		s.renew(c.session)
	}
	if trap := s.trapFor(c.session.id, r.op); trap != nil {
		return c.fail(r, trap)
	}
	return c.serve(r)
}

// admits reports whether a request is served: where the servers demand a scheme, only the one that authenticates is, at first.
func (c *connection) admits(op wire.Opcode) bool {
	scheme := c.server.config.Scheme
	return scheme == "" || op == wire.OpAuth || slices.ContainsFunc(c.ids, func(i identity) bool { return i.scheme == scheme })
}

func (c *connection) serve(r request) bool { return c.answer(r) && c.await() }

// fail serves a request at which a trap's fault happens.
func (c *connection) fail(r request, trap *Trap) bool {
	defer close(trap.fired)
	e := c.session
	switch trap.fault.Do {
	case HoldReply:
		c.held = trap.released
		defer func() { c.held = nil }()
		return c.serve(r)
	case DropAfter, ExpireAfter:
		c.muted = true
		c.serve(r)
	}
	expires := trap.fault.Do == ExpireBefore || trap.fault.Do == ExpireAfter
	if expires && c.server.sessions[e.id] == e && c.server.leads() { // unless the request has closed it
		c.server.end(e)
	}
	c.server.drop(c)
	return false
}

const smallFrame = 128

// reply answers a request; fill writes the record that follows the header of a successful one.
func (c *connection) reply(xid int32, code wire.Code, fill func(*jute.Encoder)) {
	c.frame(xid, c.server.applied, code, fill)
}

func (c *connection) frame(xid int32, zxid int64, code wire.Code, fill func(*jute.Encoder)) {
	c.send(item{frame: encodeFrame(xid, zxid, code, fill), until: c.held})
}

func encodeFrame(xid int32, zxid int64, code wire.Code, fill func(*jute.Encoder)) []byte {
	out := jute.NewFrame(smallFrame)
	out.Int(xid)
	out.Long(zxid)
	out.Int(int32(code))
	if code == wire.OK && fill != nil {
		fill(out)
	}
	return out.Frame()
}

// stateConnected is the session state in every notification.
const stateConnected = 3

func (c *connection) notify(e event, zxid int64) {
	i := item{frame: encodeFrame(wire.XidNotification, zxid, wire.OK, func(out *jute.Encoder) {
		out.Int(int32(e.typ))
		out.Int(stateConnected)
		out.Text(e.path)
	})}
	if d := c.server.notificationDelay; d > 0 {
		over := make(chan struct{})
		time.AfterFunc(d, func() { close(over) })
		i.until = over
	}
	c.send(i)
	c.out.changed.Broadcast()
}

// send queues a frame. It is written after the server is unlocked.
func (c *connection) send(i item) {
	if c.muted {
		return
	}
	c.replies++
	c.server.sent++
	c.out.put(i)
}
