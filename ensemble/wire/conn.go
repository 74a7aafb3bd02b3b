package wire

import (
	"bytes"
	"encoding/binary"
	"net"
	"time"
)

// The transaction ids that stand for something else than the reply to a request.
const (
	xidNotification = -1
	replyHeaderSize = 16
)

// countingConn decodes both directions of one connection into its session's ledger.
//
// The server answers the requests of a session in the order in which they were sent, so that a queue of what is
// outstanding is enough to tell which operation a reply belongs to.
type countingConn struct {
	net.Conn
	ledger *Ledger

	out, in     frames
	arrived     []byte // counted, but not yet asked for by the client
	buffer      [readSize]byte
	greetedOut  bool // the connect request has left
	greetedIn   bool // the connect response has arrived
	outstanding queue
	onRequest   func(prefix []byte, length int)
	onReply     func(prefix []byte, length int)
}

// Write counts the frames in p, then sends them: a reply cannot overtake the count of its request.
func (c *countingConn) Write(p []byte) (int, error) {
	c.ledger.mu.Lock()
	c.out.feed(p, c.onRequest)
	c.ledger.mu.Unlock()
	return c.Conn.Write(p)
}

// readSize is how much is taken from the network at once. The client asks for a frame in two pieces, its length and its
// body; most pairs fit, and cost one call of the operating system instead of two.
const readSize = 4096

// Read counts the frames that arrived.
func (c *countingConn) Read(p []byte) (int, error) {
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

func (c *countingConn) receive(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.ledger.mu.Lock()
		c.in.feed(p[:n], c.onReply)
		c.ledger.mu.Unlock()
	}
	return n, err
}

// outstandingRequest is what must be remembered of a request until its reply.
type outstandingRequest struct {
	xid    int32
	op     Opcode
	watch  bool
	upkeep bool
}

// request books one frame to the server. The ledger is locked.
func (c *countingConn) request(body []byte, length int) {
	l := c.ledger
	if !c.greetedOut { // the connect request has no header
		c.greetedOut = true
		l.counts.Upkeep++
		return
	}
	if len(body) < 8 {
		l.unmatched++
		return
	}
	r := parseRequest(body)
	if r.xid >= 0 { // the others, such as pings, are answered out of order and under the same xid
		c.outstanding.push(r)
	}
	if r.upkeep {
		l.counts.Upkeep++
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
	r.upkeep = r.xid < 0 || r.op.isUpkeep() || r.op == OpSync && string(path) == FencePath
	if can, _ := r.op.armsWatch(); can && len(rest) > 0 {
		r.watch = rest[0] != 0
	}
	return r
}

// reply books one frame from the server. The ledger is locked.
func (c *countingConn) reply(body []byte, length int) {
	l := c.ledger
	if !c.greetedIn {
		c.greetedIn = true
		l.counts.Upkeep++
		if len(body) >= 8 {
			l.sessionTimeout = time.Duration(binary.BigEndian.Uint32(body[4:])) * time.Millisecond
		}
		return
	}
	if len(body) < replyHeaderSize {
		l.unmatched++
		return
	}
	xid, zxid := int32(binary.BigEndian.Uint32(body)), int64(binary.BigEndian.Uint64(body[4:]))
	if xid != xidNotification {
		l.caughtUp = max(l.caughtUp, zxid)
	}
	switch {
	case xid == xidNotification:
		c.notification(body, length)
	case xid < 0:
		l.counts.Upkeep++
	default:
		c.answer(xid, body, length)
	}
}

func (c *countingConn) notification(body []byte, length int) {
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

func (c *countingConn) answer(xid int32, body []byte, length int) {
	l := c.ledger
	r, ok := c.outstanding.pop()
	if !ok || r.xid != xid {
		l.unmatched++
		return
	}
	if r.upkeep {
		l.counts.Upkeep++
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

// multiFailed looks into the first result of a multi: the server answers a failed one without an error in the reply
// header, and replaces every result by an error (type -1).
func multiFailed(results []byte) bool {
	return len(results) >= 9 && bytes.Equal(results[:4], []byte{0xff, 0xff, 0xff, 0xff}) && results[4] == 0
}

// jutePath returns the length-prefixed string at the start of p, cut to what p holds of it, and what follows.
func jutePath(p []byte) (path, rest []byte) {
	if len(p) < 4 {
		return nil, nil
	}
	n := min(max(int(int32(binary.BigEndian.Uint32(p))), 0), len(p)-4)
	return p[4 : 4+n], p[4+n:]
}

// queue is a first-in, first-out queue that reuses its memory.
type queue struct {
	items []outstandingRequest
	head  int
}

func (q *queue) push(r outstandingRequest) {
	if q.head > 0 && len(q.items) == cap(q.items) {
		q.items = q.items[:copy(q.items, q.items[q.head:])]
		q.head = 0
	}
	q.items = append(q.items, r)
}

func (q *queue) pop() (outstandingRequest, bool) {
	if q.head == len(q.items) {
		return outstandingRequest{}, false
	}
	r := q.items[q.head]
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return r, true
}
