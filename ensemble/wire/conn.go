package wire

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
)

// The xids and the zxid with a meaning of their own.
const (
	XidNotification = -1 // of frames that reply to no request
	XidPing         = -2 // this and the next ones are of requests that may be answered out of order
	XidAuth         = -4 // with credentials
	xidSetWatches   = -8 // of ZooKeeper's own client, which sets its watches again
	UnknownZxid     = -1 // of notifications before ZooKeeper 3.9 and of ClickHouse Keeper, and of those that are sent again
)

const replyHeaderSize = 16

// Conn is a counted connection. It decodes both directions into its session's ledger. The server answers the requests of a
// session in order, so that a queue of the outstanding requests suffices to match each reply to its request.
type Conn struct {
	net.Conn
	ledger *Ledger

	reading dial.Mutex // held while bytes are received
	arrived []byte     // counted, but not read by the client yet
	buffer  [readSize]byte
	writing dial.Mutex // held while a request is counted and sent

	// What follows is guarded by the ledger's lock.
	out, in     frames
	greetedOut  bool                 // the connect request has been sent
	greetedIn   bool                 // the connect response has arrived
	opens       bool                 // the connect request asks for a new session
	requests    []outstandingRequest // the memory of outstanding
	outstanding []outstandingRequest // in the order of their replies
	resetting   int                  // requests to set watches again that are outstanding
	watching    bool                 // a request that sets watches has been sent
	kept        watchSet             // watches that the server has kept although the client takes them for fired
	ending      ending
}

// Write counts the frames in p, then sends them: a reply cannot overtake the count of its request. After the end of the connection, it
// has no effect, as when a network loses data. A write that fails ends the connection, which the next read reports.
//
// Note: it returns no error, because go-zookeeper 1.0.4 answers a request whose write fails up to three times while the session is
// being closed. The channel has room for two answers, so that the third would block its main loop, and leak 3 MB of buffers with it.
func (c *Conn) Write(p []byte) (int, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.count(p) {
		if _, err := c.Conn.Write(p); err != nil {
			_ = c.Close()
		}
	}
	return len(p), nil
}

// count counts the frames of the client, and returns false if the connection has ended.
func (c *Conn) count(p []byte) bool {
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	if c.ending.ended || !c.spring(p) {
		return false
	}
	c.out.feed(p)
	return true
}

// Established reports whether the server has answered the connect request and the connection has not ended.
func (c *Conn) Established() bool {
	return locked(c.ledger, func() bool { return c.greetedIn && !c.ending.ended })
}

// readSize is how much is read from the network at once. The client reads a frame in two pieces, its length and its
// body. Both usually fit, which saves one of two system calls.
const readSize = 4096

// Read counts the frames that arrived.
func (c *Conn) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
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

// receive reads from the network, and returns how many of the bytes are for the client.
func (c *Conn) receive(p []byte) (int, error) {
	if read(c.ledger, &c.ending.ended) {
		return 0, io.EOF
	}
	n, err := c.Conn.Read(p)
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	c.in.feed(p[:n])
	n = c.ending.admit(n)
	switch {
	case c.ending.ended && n == 0:
		return 0, io.EOF
	case c.ending.ended:
		return n, nil
	case err != nil && !errors.Is(err, os.ErrDeadlineExceeded): // which leaves the connection open
		c.end()
		c.settle()
	}
	return n, err
}

type outstandingRequest struct {
	xid          int32
	op           Opcode
	housekeeping bool
	last         bool     // its reply ends the connection
	watch        watchKey // the watch that it sets; zero if it sets none
	removes      watchKey // the watch that it removes; zero if it removes none
	exchange     *Exchange
	write        *Write
}

// request counts one frame to the server. The ledger is locked.
func (c *Conn) request(body []byte, length int) {
	l := c.ledger
	if !c.greetedOut { // the connect request has no header
		id, known := SessionToResume(body)
		c.greetedOut, c.opens = true, known && id == 0
		l.sessionRequest(c.opens, OpCreateSession, length)
		return
	}
	if len(body) < 8 {
		l.unmatched++
		return
	}
	r := parseRequest(body)
	r.exchange, r.write = l.exchange(r, body, length), l.marked(r.op)
	l.keepWrite(r.op, body)
	l.send(body)
	r.last, c.ending.next = c.ending.next, false
	c.watching = c.watching || r.watch != watchKey{} || r.op.resetsWatches()
	if r.op.resetsWatches() {
		c.resetting++
	}
	// After 2^31 requests, clients use the xids of these kinds of requests for others, too.
	special := r.op == OpPing || r.xid == XidAuth && r.op == OpAuth || r.xid == xidSetWatches && r.op.resetsWatches()
	if !special {
		c.expect(r)
	}
	if r.housekeeping {
		l.sessionRequest(r.op == OpClose, OpCloseSession, length)
		return
	}
	l.inFlight++
	l.notified = false
	l.counts.Requests[r.op]++
	l.counts.BytesOut += int64(length) + 4
}

// LeastConnectRequest is the size of a connect request up to the end of the id of the session to resume: after the version, the last
// zxid and the timeout.
const LeastConnectRequest = 4 + 8 + 4 + 8

// SessionToResume returns the session that a connect request wants to resume, or zero for a new one. known is false if there are too
// few bytes. The request is given without its length prefix.
func SessionToResume(request []byte) (id int64, known bool) {
	if len(request) < LeastConnectRequest {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(request[LeastConnectRequest-8:])), true
}

// expect appends to the outstanding requests. Their memory is reused when all of them have been answered.
func (c *Conn) expect(r outstandingRequest) {
	c.outstanding = append(c.outstanding, r)
	if len(c.outstanding) == 1 {
		c.requests = c.outstanding
	}
}

// sessionRequest counts a frame to the server that maintains the session. If it opens or closes a further session, it is a request of
// the recipe, under the given opcode. Otherwise it is housekeeping. The ledger is locked.
func (l *Ledger) sessionRequest(opensOrCloses bool, op Opcode, length int) {
	if !l.further || !opensOrCloses {
		l.counts.Housekeeping++
		l.counts.HousekeepingSent++
		return
	}
	l.counts.Requests[op]++
	l.counts.BytesOut += int64(length) + 4
}

// sessionReply counts the reply to a frame of sessionRequest. The ledger is locked.
func (c *Conn) sessionReply(opensOrCloses bool, length int) {
	counts := &c.ledger.counts
	switch {
	case !c.ledger.further || !opensOrCloses:
		counts.Housekeeping++
	case c.ending.ended:
		counts.LostReplies++
	default:
		counts.BytesIn += int64(length) + 4
	}
}

func parseRequest(body []byte) outstandingRequest {
	r := outstandingRequest{xid: int32(binary.BigEndian.Uint32(body)), op: Opcode(binary.BigEndian.Uint32(body[4:]))}
	path, rest := jutePath(body[8:])
	r.housekeeping = r.op.IsHousekeeping() || r.op == OpSync && string(path) == FencePath
	switch {
	case r.op == OpAddWatch && len(rest) >= 4:
		r.watch = newWatchKey(path, persistentWatch|WatchKind(rest[3]&1))
	case r.op == OpRemoveWatches && len(rest) >= 4:
		r.removes = newWatchKey(path, WatchKind(binary.BigEndian.Uint32(rest)))
	case r.op.armsWatch() && len(rest) > 0 && rest[0] != 0:
		r.watch = newWatchKey(path, DataWatch)
		if r.op == OpGetChildren || r.op == OpGetChildren2 {
			r.watch.kind = ChildWatch
		}
	}
	return r
}

// reply counts one frame from the server. The ledger is locked.
func (c *Conn) reply(body []byte, length int) {
	defer c.ending.pass(length)
	l := c.ledger
	if !c.greetedIn {
		c.greeting(body, length)
		return
	}
	if len(body) < replyHeaderSize {
		l.unmatched++
		return
	}
	xid, zxid := int32(binary.BigEndian.Uint32(body)), int64(binary.BigEndian.Uint64(body[4:]))
	next := len(c.outstanding) > 0 && c.outstanding[0].xid == xid
	switch {
	case xid == XidNotification && (!next || isEvent(body, length)):
		c.notification(body, length)
		return
	case !next && (xid == XidPing || xid == XidAuth || xid == xidSetWatches):
		l.counts.Answers++
		l.counts.Housekeeping++
		if xid == xidSetWatches {
			c.resetDone()
		}
	default:
		l.counts.Answers++
		c.answer(xid, zxid, body, length)
	}
	if !c.ending.ended {
		l.lastZxid = max(l.lastZxid, zxid)
		l.latest = max(l.latest, zxid)
		l.seen = max(l.seen, zxid)
		l.blind = l.blind && zxid <= 0
	}
}

func (c *Conn) greeting(body []byte, length int) {
	c.greetedIn = true
	c.ledger.counts.Answers++
	c.sessionReply(c.opens, length)
	const fixed = 16 // the version, the timeout and the id
	if len(body) < fixed {
		return
	}
	password, _ := jutePath(body[fixed:])
	s := Session{ID: int64(binary.BigEndian.Uint64(body[8:])), Password: slices.Clone(password)}
	if c.ending.ended {
		if c.opens && s.ID != 0 { // the client never learns of this session
			c.ledger.counts.SessionsOpened++
		}
		return
	}
	c.ledger.sessionTimeout = time.Duration(binary.BigEndian.Uint32(body[4:])) * time.Millisecond
	c.ledger.begin(s)
	if c.ledger.tap != nil && s.ID != 0 {
		c.ledger.tap.Connected(s.ID, !c.opens, c.ledger.sessionTimeout)
	}
}

func (c *Conn) notification(body []byte, length int) {
	l := c.ledger
	n := Notification{At: time.Since(l.epoch), Zxid: int64(binary.BigEndian.Uint64(body[4:]))}
	var path []byte
	if event := body[replyHeaderSize:]; len(event) >= 8 {
		n.Type = EventType(binary.BigEndian.Uint32(event))
		path, _ = jutePath(event[8:])
	}
	again := c.resetting > 0 && n.Zxid == UnknownZxid
	c.fire(n.Type, path, again)
	if c.ending.ended {
		if !again {
			l.counts.LostNotifications++
		}
		return
	}
	if again {
		l.counts.ResentNotifications++
	}
	l.record(n, path, length)
}

func (c *Conn) answer(xid int32, zxid int64, body []byte, length int) {
	l := c.ledger
	i := slices.IndexFunc(c.outstanding, func(r outstandingRequest) bool { return r.xid == xid })
	if i < 0 {
		l.unmatched++
		return
	}
	for _, r := range c.outstanding[:i] { // whose replies were not seen
		l.unmatched++
		r.write.end(0)
	}
	r := c.outstanding[i]
	if c.outstanding = c.outstanding[i+1:]; len(c.outstanding) == 0 {
		c.outstanding = c.requests[:0]
	}
	if r.last && !c.ending.ended {
		c.endAndDrain()
	}
	r.write.end(zxid)
	code := Code(binary.BigEndian.Uint32(body[12:]))
	armed := r.watch != watchKey{} && (code == OK || code == NoNode && r.op == OpExists)
	if r.exchange != nil {
		l.exchanged(r.exchange, body, length, armed)
	}
	switch {
	case r.housekeeping:
		c.upkeep(r, code, length)
	case c.ending.ended:
		l.counts.LostReplies++
		if armed {
			c.ending.remaining.add(r.watch, c)
		}
	default:
		l.inFlight--
		l.shown = max(l.shown, zxid)
		l.counts.BytesIn += int64(length) + 4
		if code != OK || r.op == OpMulti && multiFailed(body[replyHeaderSize:]) {
			l.counts.Failed[r.op]++
		}
		if armed {
			l.counts.Watches[r.op]++
			l.watches.add(r.watch, c)
			delete(c.kept, r.watch)
		}
		if r.op == OpRemoveWatches && code == OK {
			l.watches.remove(r.removes)
		}
	}
}

func (c *Conn) upkeep(r outstandingRequest, code Code, length int) {
	l := c.ledger
	c.sessionReply(r.op == OpClose, length)
	switch {
	case r.op.resetsWatches():
		c.resetDone()
	case r.op == OpClose && code == OK:
		l.closed(false)
	case r.removes != watchKey{} && (code == OK || code == NoWatcher):
		delete(c.ending.remaining, r.removes)
	}
}

func (c *Conn) resetDone() {
	c.resetting--
	c.ledger.resumed = !c.ending.ended
}

// multiFailed reports whether the first result is an error (type -1): a multi fails without an error in the reply header.
func multiFailed(results []byte) bool {
	return len(results) >= partHeader && int32(binary.BigEndian.Uint32(results)) == -1 && results[4] == 0
}

// jutePath returns the length-prefixed string at the start of p, truncated to the end of p, and the bytes after it.
func jutePath(p []byte) (path, rest []byte) {
	if len(p) < 4 {
		return nil, nil
	}
	n := min(max(int(int32(binary.BigEndian.Uint32(p))), 0), len(p)-4)
	return p[4 : 4+n], p[4+n:]
}
