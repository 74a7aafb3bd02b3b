package wire

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble/jute"
)

// Tap receives the frames on the connections of other programs, see [Ledger.Tapped]. Its methods are called in the order of the frames
// of a session, while the session's ledger is locked: they must not block and must not use the ledger. For different sessions, they are
// called concurrently.
type Tap interface {
	// Connected is called when a server has opened a session, or resumed it on a further connection, and granted a timeout.
	Connected(session int64, resumed bool, timeout time.Duration)
	// Exchanged is called for each request that was answered. Housekeeping is left out, except the request to close the session.
	Exchanged(session int64, e Exchange)
	// Notified is called for each notification.
	Notified(session int64, n Notification)
	// Over is called when a session is closed, or when a client that wanted to resume it learns that it has expired.
	Over(session int64, expired bool)
}

// Exchange is a request and its reply.
type Exchange struct {
	Op Opcode
	// Path is truncated to about 900 bytes, and empty for a request without one. It is
	//  - the path of the new znode for a create that succeeded,
	//  - the path of the first operation for a multi,
	//  - the path in the request otherwise.
	Path       string
	Parts      []Part        // of a multi, as far as they are within the first thousand bytes
	MoreParts  bool          // the multi has operations that are not in Parts, or may have some
	Sequential bool          // a create that succeeded, to whose path the server has appended a number
	Number     int32         // that number; after 2^31 of them, it is negative
	Flags      int32         // of a create; [UnknownFlags] if they are not within the first thousand bytes
	Asked      bool          // the request asks for a watch
	Armed      bool          // the watch is set
	Code       Code          // of a failed multi, the code of the operation that made it fail, or UnknownCode
	Zxid       int64         // of a write, its transaction; otherwise, the last transaction that the server had applied
	Sent       time.Duration // since the ledger's epoch, like Reply
	Reply      time.Duration

	BytesOut, BytesIn int64 // with their length prefixes
}

// Part is an operation of a multi.
type Part struct {
	Op   Opcode
	Path string // of the new znode for a create that succeeded, if it is within the first thousand bytes of the reply

	Flags      int32 // of a create, as are Sequential and Number; see Exchange
	Sequential bool
	Number     int32
}

// UnknownFlags stands for the flags of a create that are not decoded, and for those of other requests.
const UnknownFlags = -1

// NewTapped returns an empty ledger of a session of another program, whose frames a tap receives. It keeps no notifications: the tap
// receives them instead of TakeNotifications.
func NewTapped(epoch time.Time, tap Tap) *Ledger {
	l := NewLedger(epoch)
	l.tap = tap
	return l
}

// Tapped counts a connection of another program, from copies of its bytes.
type Tapped struct{ conn Conn }

// Tapped returns the counter of a further connection of the session. Nothing may have been sent on the connection before.
func (l *Ledger) Tapped() *Tapped {
	t := &Tapped{}
	l.attach(&t.conn)
	return t
}

// Sent counts bytes from the client. It is called before they are forwarded, so that no reply overtakes its request.
func (t *Tapped) Sent(p []byte) { t.conn.count(p) }

// Received counts bytes from the server.
func (t *Tapped) Received(p []byte) {
	t.conn.ledger.mu.Lock()
	defer t.conn.ledger.mu.Unlock()
	t.conn.in.feed(p)
}

// Greeted reports whether the server has answered the connect request.
func (t *Tapped) Greeted() bool { return read(t.conn.ledger, &t.conn.greetedIn) }

// Unanswered returns the number of requests without a reply. closing reports whether the one to close the session is among them.
func (t *Tapped) Unanswered() (requests int, closing bool) {
	c := &t.conn
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	return len(c.outstanding), slices.ContainsFunc(c.outstanding, func(r outstandingRequest) bool { return r.op == OpClose })
}

// End counts the end of the connection. Nothing more may be sent in either direction. A second call has no effect.
func (t *Tapped) End() {
	c := &t.conn
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	if !c.ending.ended {
		c.end()
		c.settle()
	}
}

// exchange returns the request's part of an [Exchange]; nil without a tap, or for housekeeping except the request to close the session.
func (l *Ledger) exchange(r outstandingRequest, body []byte, length int) *Exchange {
	if l.tap == nil || r.housekeeping && r.op != OpClose {
		return nil
	}
	e := &Exchange{Op: r.op, Flags: UnknownFlags, Sent: time.Since(l.epoch), BytesOut: int64(length) + 4, Asked: r.watch != watchKey{}}
	switch r.op {
	case OpClose:
		e.Op = OpCloseSession
	case OpMulti, OpMultiRead:
		e.Parts, e.MoreParts = multiParts(body[8:])
		if len(e.Parts) > 0 {
			e.Path = e.Parts[0].Path
		}
	default:
		if path, rest := jutePath(body[8:]); r.op >= OpCreate && r.op != OpReconfig && r.op != OpWhoAmI {
			e.Path, e.Flags = known(path), skipPart(r.op, jute.NewDecoder(rest))
		}
	}
	return e
}

// Creates reports whether the requests create a znode.
func (op Opcode) Creates() bool {
	return op == OpCreate || op == OpCreate2 || op == OpCreateContainer || op == OpCreateTTL
}

// exchanged adds the reply to an exchange, and passes it to the tap. The ledger is locked.
func (l *Ledger) exchanged(e *Exchange, body []byte, length int, armed bool) {
	e.Reply, e.BytesIn = time.Since(l.epoch), int64(length)+4
	e.Zxid, e.Code = int64(binary.BigEndian.Uint64(body[4:])), Code(binary.BigEndian.Uint32(body[12:]))
	e.Armed = armed
	payload := body[replyHeaderSize:]
	switch {
	case e.Op == OpMulti && multiFailed(payload):
		e.Code = multiCode(payload, length == len(body))
	case e.Op == OpMulti:
		nameCreated(e.Parts, payload)
	case e.Op.Creates() && e.Code == OK:
		path, _ := jutePath(payload)
		e.Sequential, e.Number = given(e.Path, path)
		e.Path = known(path)
	}
	l.tap.Exchanged(l.session.ID, *e)
}

// given reports whether the server has appended a number to a path, and which one.
func given(asked string, created []byte) (sequential bool, number int32) {
	suffix, ok := strings.CutPrefix(known(created), asked)
	n, err := strconv.ParseInt(suffix, 10, 32)
	return ok && err == nil && len(created) < maxWatchedPath, int32(n)
}

// partHeader is the size of the header of each operation of a multi, and of each result: a type, a flag for the end, and a code.
const partHeader = 9

// multiParts returns the operations of a multi that are decoded, and whether there are more.
func multiParts(p []byte) (parts []Part, more bool) {
	for len(p) > partHeader && p[4] == 0 {
		op := Opcode(binary.BigEndian.Uint32(p))
		path, rest := jutePath(p[partHeader:])
		if len(rest) == 0 && len(path) < maxWatchedPath { // there is more of the path
			return parts, true
		}
		d := jute.NewDecoder(rest)
		parts = append(parts, Part{Op: op, Path: known(path), Flags: skipPart(op, d)})
		if d.Err() != nil {
			return parts, true
		}
		p = rest[len(rest)-d.Rest():]
	}
	return parts, len(p) < partHeader || p[4] == 0
}

// skipPart reads the rest of an operation, after its path, and returns a create's flags. It rejects operations of an unknown form.
func skipPart(op Opcode, d *jute.Decoder) (flags int32) {
	flags = UnknownFlags
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		d.Buffer()
		d.ACLs()
		if flags = d.Int(); d.Err() != nil {
			flags = UnknownFlags
		}
		if op == OpCreateTTL {
			d.Long()
		}
	case OpSetData:
		d.Buffer()
		d.Int()
	case OpDelete, OpCheck:
		d.Int()
	case OpGetData, OpGetChildren:
		d.Bool()
	default:
		d.Reject("an operation of another kind")
	}
	return flags
}

// statSize is the size of a znode's stat.
const statSize = 68

// nameCreated gives creates of a multi that succeeded the paths that the server has given to them.
func nameCreated(parts []Part, results []byte) {
	for i, p := range parts {
		if len(results) < partHeader {
			return
		}
		results = results[partHeader:]
		if p.Op.Creates() {
			path, rest := jutePath(results)
			if len(rest) == 0 { // it may be cut
				return
			}
			parts[i].Sequential, parts[i].Number = given(p.Path, path)
			parts[i].Path, results = known(path), rest
		}
		if p.Op == OpSetData || p.Op.Creates() && p.Op != OpCreate {
			results = results[min(statSize, len(results)):]
		}
	}
}

// multiCode returns the code of the operation that made a multi fail. Operations before it have no error of their own, and those after
// it have RuntimeInconsistency. If the results are not whole, the code may be unknown.
func multiCode(results []byte, whole bool) Code {
	const size = partHeader + 4
	for len(results) >= size {
		if code := Code(binary.BigEndian.Uint32(results[partHeader:])); code != OK && code != RuntimeInconsistency {
			return code
		}
		results = results[size:]
	}
	if !whole {
		return UnknownCode
	}
	return RuntimeInconsistency
}
