package wire

import (
	"bytes"
	"encoding/binary"
	"net"
	"slices"
	"time"
)

const (
	xidNotification = -1 // the xid of frames that reply to no request
	replyHeaderSize = 16
)

// Conn is a counted connection. It decodes both directions into its session's ledger. The server answers the requests of a
// session in order, so that a queue of the outstanding requests suffices to match each reply to its request.
type Conn struct {
	net.Conn
	ledger *Ledger

	out, in     frames
	arrived     []byte // counted, but not read by the client yet
	buffer      [readSize]byte
	greetedOut  bool                 // the connect request has left
	greetedIn   bool                 // the connect response has arrived
	outstanding []outstandingRequest // in the order of their replies
	onRequest   func(prefix []byte, length int)
	onReply     func(prefix []byte, length int)
}

// Write counts the frames in p, then sends them: a reply cannot overtake the count of its request.
func (c *Conn) Write(p []byte) (int, error) {
	c.ledger.mu.Lock()
	c.out.feed(p, c.onRequest)
	c.ledger.mu.Unlock()
	return c.Conn.Write(p)
}

// readSize is how much is read from the network at once. The client reads a frame in two pieces, its length and its
// body. Both usually fit, which saves one of two system calls.
const readSize = 4096

// Read counts the frames that arrived.
func (c *Conn) Read(p []byte) (int, error) {
	if len(c.arrived) > 0 {
		n := copy(p, c.arrived)
		c.arrived = c.arrived[n:]
		return n, nil
	}
	if len(p) >= readSize {
		return c.receive(p)
	}
	n, err := c.receive(c.buffer[:])
	c.arrived = c.buffer[copy(p, c.buffer[:n]):n]
	return n - len(c.arrived), err
}

func (c *Conn) receive(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.ledger.mu.Lock()
		c.in.feed(p[:n], c.onReply)
		c.ledger.mu.Unlock()
	}
	return n, err
}

// outstandingRequest holds what is needed of a request when its reply arrives.
type outstandingRequest struct {
	xid          int32
	op           Opcode
	watch        bool
	housekeeping bool
}

// request counts one frame to the server. The ledger is locked.
func (c *Conn) request(body []byte, length int) {
	l := c.ledger
	if !c.greetedOut { // the connect request has no header
		c.greetedOut = true
		l.counts.Housekeeping++
		return
	}
	if len(body) < 8 {
		l.unmatched++
		return
	}
	r := parseRequest(body)
	if r.xid >= 0 { // those below zero, such as pings, share one xid and are answered out of order
		c.outstanding = append(c.outstanding, r)
	}
	if r.housekeeping {
		l.counts.Housekeeping++
		return
	}
	l.inFlight++
	l.counts.Requests[r.op]++
	l.counts.BytesOut += int64(length) + 4
}

// parseRequest reads the header of a request and, where it matters, its path and watch flag.
func parseRequest(body []byte) outstandingRequest {
	r := outstandingRequest{xid: int32(binary.BigEndian.Uint32(body)), op: Opcode(binary.BigEndian.Uint32(body[4:]))}
	path, rest := jutePath(body[8:])
	r.housekeeping = r.xid < 0 || r.op.isHousekeeping() || r.op == OpSync && string(path) == FencePath
	if can, _ := r.op.armsWatch(); can && len(rest) > 0 {
		r.watch = rest[0] != 0
	}
	return r
}

// reply counts one frame from the server. The ledger is locked.
func (c *Conn) reply(body []byte, length int) {
	l := c.ledger
	if !c.greetedIn {
		c.greetedIn = true
		l.counts.Housekeeping++
		if len(body) >= 8 {
			l.sessionTimeout = time.Duration(binary.BigEndian.Uint32(body[4:])) * time.Millisecond
		}
		l.session = parseSession(body)
		return
	}
	if len(body) < replyHeaderSize {
		l.unmatched++
		return
	}
	xid, zxid := int32(binary.BigEndian.Uint32(body)), int64(binary.BigEndian.Uint64(body[4:]))
	if xid != xidNotification {
		l.lastZxid = max(l.lastZxid, zxid)
	}
	switch {
	case xid == xidNotification:
		c.notification(body, length)
	case xid < 0:
		l.counts.Housekeeping++
	default:
		c.answer(xid, body, length)
	}
}

func (c *Conn) notification(body []byte, length int) {
	l := c.ledger
	e := entry{at: time.Since(l.epoch), zxid: int64(binary.BigEndian.Uint64(body[4:]))}
	if event := body[replyHeaderSize:]; len(event) >= 8 {
		e.typ = EventType(binary.BigEndian.Uint32(event))
		path, _ := jutePath(event[8:])
		l.paths = append(l.paths, path...)
	}
	e.pathEnd = len(l.paths)
	l.entries = append(l.entries, e)
	if e.typ > 0 && int(e.typ) < len(l.counts.Notifications) {
		l.counts.Notifications[e.typ]++
	} else {
		l.counts.Notifications[0]++
	}
	l.counts.BytesIn += int64(length) + 4
	l.armed = max(l.armed-1, 0)
}

func (c *Conn) answer(xid int32, body []byte, length int) {
	l := c.ledger
	if len(c.outstanding) == 0 || c.outstanding[0].xid != xid {
		l.unmatched++
		return
	}
	r := c.outstanding[0]
	c.outstanding = slices.Delete(c.outstanding, 0, 1)
	if r.housekeeping {
		l.counts.Housekeeping++
		return
	}
	l.inFlight--
	l.counts.BytesIn += int64(length) + 4
	code := Code(binary.BigEndian.Uint32(body[12:]))
	if code != OK || r.op == OpMulti && multiFailed(body[replyHeaderSize:]) {
		l.counts.Failed[r.op]++
	}
	if _, evenOnNoNode := r.op.armsWatch(); r.watch && (code == OK || evenOnNoNode && code == NoNode) {
		l.armed++
	}
}

// multiFailed reports whether the first result is an error (type -1): a multi fails without an error in the reply header.
func multiFailed(results []byte) bool {
	return len(results) >= 9 && bytes.Equal(results[:4], []byte{0xff, 0xff, 0xff, 0xff}) && results[4] == 0
}

// jutePath returns the length-prefixed string at the start of p, truncated to the end of p, and the bytes after it.
func jutePath(p []byte) (path, rest []byte) {
	if len(p) < 4 {
		return nil, nil
	}
	n := min(max(int(int32(binary.BigEndian.Uint32(p))), 0), len(p)-4)
	return p[4 : 4+n], p[4+n:]
}

// Session identifies a session to the servers.
type Session struct {
	ID       int64 // zero if there is no session
	Password []byte
}

// parseSession reads the session from the body of a connect response. It is zero if the response is malformed.
func parseSession(body []byte) Session {
	const fixed = 16 // the version, the timeout and the id
	if len(body) < fixed {
		return Session{}
	}
	password, _ := jutePath(body[fixed:])
	return Session{ID: int64(binary.BigEndian.Uint64(body[8:])), Password: slices.Clone(password)}
}

// End ends the connection.
func (c *Conn) End() { c.Close() }
