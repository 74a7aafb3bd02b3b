package embedded

import (
	"bufio"
	"bytes"
	"net"
	"time"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// connection is one TCP connection. Two goroutines serve it: one reads requests and has the server execute them, one
// after the other; the other one writes what is in the outbox.
type connection struct {
	server  *Server
	conn    net.Conn
	out     *outbox
	session *session // nil before the handshake, and when the server has taken leave of the connection

	requests, replies int64
	held              <-chan struct{} // what the next reply has to wait for
	muted             bool            // nothing more is sent
}

// maxFrame is ZooKeeper's jute.maxbuffer.
const maxFrame = 0xfffff

// The transaction ids of frames that answer no particular request.
const (
	xidNotification = -1
	xidPing         = -2
)

// noZxid is in the header of frames that no transaction has caused.
const noZxid = -1

// read serves the connection until either side ends it.
func (c *connection) read() {
	in := bufio.NewReader(c.conn)
	_ = c.conn.SetReadDeadline(c.server.now().Add(c.server.limits.handshake))
	proceed := c.greet(in)
	_ = c.conn.SetReadDeadline(time.Time{})
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

// greet answers an administrative command, or opens a session and returns true.
func (c *connection) greet(in *bufio.Reader) bool {
	word, err := in.Peek(4)
	if err != nil {
		return false
	}
	if answer, ok := c.server.command(string(word)); ok {
		c.out.put(item{frame: []byte(answer)})
		return false
	}
	frame, err := jute.ReadFrame(in, maxFrame)
	return err == nil && c.connect(frame)
}

// connect answers the first frame of a connection with a session: a new one, the one that the client had, or none if
// that one is over.
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
	s.received++
	if lastSeen > s.zxid { // the client has been to a server that knows more
		return false
	}
	granted := min(max(time.Duration(timeout)*time.Millisecond, minTicks*s.config.Tick), maxTicks*s.config.Tick)
	var e *session
	if id == 0 {
		e = s.open(granted)
	} else {
		e = s.reopen(id, password, granted)
	}
	if e != nil {
		c.session, e.connection = e, c
		s.touch(e)
	}
	c.welcome(e, knowsReadOnly)
	return e != nil
}

// reopen returns the session that a client had, or nil if it is over or another client's. A connection that the
// session still has is closed in any case, as ZooKeeper does.
func (s *Server) reopen(id int64, password []byte, timeout time.Duration) *session {
	e := s.sessions[id]
	if e == nil {
		return nil
	}
	if old := e.connection; old != nil {
		s.drop(old)
	}
	if !bytes.Equal(password, e.password) {
		return nil
	}
	e.timeout = timeout
	return e
}

// welcome answers the handshake; e is nil for a session that has expired.
func (c *connection) welcome(e *session, knowsReadOnly bool) {
	if e == nil {
		e = &session{password: make([]byte, passwordSize)}
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

// request is what a client asks for.
type request struct {
	xid  int32
	op   wire.Opcode
	body *jute.Decoder
}

// request serves one frame and returns whether the connection goes on.
func (c *connection) request(frame []byte) bool {
	d := jute.NewDecoder(frame)
	r := request{xid: d.Int(), op: wire.Opcode(d.Int()), body: d}
	if d.Err() != nil {
		return false
	}
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.session == nil { // the session has ended or moved to another connection
		return false
	}
	s.received++
	c.requests++
	s.touch(c.session)
	if trap := s.spring(c.session.id, r.op); trap != nil {
		return c.stumble(r, trap)
	}
	return c.answer(r)
}

// stumble serves a request at which something shall go wrong.
func (c *connection) stumble(r request, trap *Trap) bool {
	defer close(trap.fired)
	e := c.session
	switch trap.fault.Do {
	case HoldReply:
		c.held = trap.released
		defer func() { c.held = nil }()
		return c.answer(r)
	case DropAfter, ExpireAfter:
		c.muted = true
		c.answer(r)
	case DropBefore, ExpireBefore:
	}
	expires := trap.fault.Do == ExpireBefore || trap.fault.Do == ExpireAfter
	if expires && c.server.sessions[e.id] == e { // unless the request has closed it
		c.server.expire(e)
	}
	c.server.drop(c)
	return false
}

// smallFrame is the usual size of a frame that carries no data.
const smallFrame = 128

// reply answers a request; fill writes the record that follows the header of a successful one.
func (c *connection) reply(xid int32, code wire.Code, fill func(*jute.Encoder)) {
	c.frame(xid, c.server.zxid, code, smallFrame, fill)
}

// frame sends a header and a record, which together are about so many bytes long.
func (c *connection) frame(xid int32, zxid int64, code wire.Code, size int, fill func(*jute.Encoder)) {
	out := jute.NewFrame(size)
	out.Int(xid)
	out.Long(zxid)
	out.Int(int32(code))
	if code == wire.OK && fill != nil {
		fill(out)
	}
	c.send(item{frame: out.Frame(), until: c.held})
}

// stateConnected is the state that every notification tells of.
const stateConnected = 3

func (c *connection) notify(e event, zxid int64) {
	out := jute.NewFrame(smallFrame)
	out.Int(xidNotification)
	out.Long(zxid)
	out.Int(int32(wire.OK))
	out.Int(int32(e.typ))
	out.Int(stateConnected)
	out.Text(e.path)
	i := item{frame: out.Frame()}
	if d := c.server.notificationDelay; d > 0 {
		i.due = c.server.now().Add(d)
	}
	c.send(i)
	c.out.wake()
}

// send puts a frame where it will be found when the server is unlocked.
func (c *connection) send(i item) {
	if c.muted {
		return
	}
	c.replies++
	c.server.sent++
	c.out.put(i)
}
