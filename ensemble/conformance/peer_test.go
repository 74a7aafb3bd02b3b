package conformance_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

const patience = 30 * time.Second

// maxFrame is larger than any reply in these tests.
const maxFrame = 16 << 20

// peer is a raw client: it sends any frame, and keeps received frames in their order.
type peer struct {
	t        testing.TB
	root     string // removed from the paths of notifications
	conn     net.Conn
	in       *bufio.Reader
	hello    greeting
	xid      int32
	seen     int64  // last zxid in a reply
	latest   *int64 // last zxid in a reply to any peer of the site
	received []notification
}

type greeting struct {
	version, timeout int32
	id               int64
	password         []byte
	readOnly         bool // the reply has the flag
}

// sessionTimeout is long enough for the tests, and short for sessions that are not closed.
const sessionTimeout = 10 * time.Second

// handshake is a connect request. The zero value asks for a new session with sessionTimeout.
type handshake struct {
	timeout  time.Duration
	id       int64
	password []byte
	seen     int64
	readOnly bool // to send the flag that only newer clients send
}

type reply struct {
	xid  int32
	zxid int64
	code wire.Code
	body *jute.Decoder
}

type notification struct {
	zxid int64
	typ  wire.EventType
	path string
}

// dial opens a connection without a handshake.
func dial(t testing.TB, addr string) *peer {
	t.Helper()
	conn := must.Get(net.DialTimeout("tcp", addr, patience))(t)
	t.Cleanup(func() { conn.Close() })
	return &peer{t: t, conn: conn, in: bufio.NewReader(conn), latest: new(int64)}
}

// greet performs the handshake. It returns io.EOF if the server closes the connection.
func (p *peer) greet(h handshake) error {
	p.t.Helper()
	p.write(h.frame())
	frame, err := p.read()
	if err != nil {
		return err
	}
	p.hello, err = readGreeting(frame)
	return err
}

func (h handshake) frame() []byte {
	if h.timeout == 0 {
		h.timeout = sessionTimeout
	}
	if h.password == nil {
		h.password = make([]byte, 16)
	}
	out := jute.NewFrame(64)
	out.Int(0)
	out.Long(h.seen)
	out.Int(int32(h.timeout.Milliseconds()))
	out.Long(h.id)
	out.Buffer(h.password)
	if h.readOnly {
		out.Bool(false)
	}
	return out.Frame()
}

func readGreeting(frame []byte) (greeting, error) {
	d := jute.NewDecoder(frame)
	g := greeting{d.Int(), d.Int(), d.Long(), slices.Clone(d.Buffer()), d.Rest() > 0}
	return g, d.Err()
}

func open(t testing.TB, addr string, h handshake) *peer {
	t.Helper()
	p := dial(t, addr)
	if err := p.greet(h); err != nil {
		t.Fatalf("handshake with %s: %v", addr, err)
	}
	t.Cleanup(p.leave)
	return p
}

// bye closes the session, and returns when the server has closed the connection.
func (p *peer) bye() {
	p.t.Helper()
	p.call(wire.OpClose, nil)
	p.closed()
}

func (p *peer) leave() {
	if _, err := p.conn.Write(encode(0, wire.OpClose, nil)); err != nil {
		return
	}
	for err := error(nil); err == nil; {
		_, err = p.read()
	}
}

func (p *peer) write(frame []byte) {
	p.t.Helper()
	p.giveTime()
	if _, err := p.conn.Write(frame); err != nil {
		p.t.Fatal(err)
	}
}

// giveTime extends the deadline of the connection by patience.
func (p *peer) giveTime() {
	p.t.Helper()
	if err := p.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		p.t.Fatal(err)
	}
}

// read returns the next frame, or io.EOF if the server has closed or reset the connection.
func (p *peer) read() ([]byte, error) {
	p.giveTime()
	frame, err := jute.ReadFrame(p.in, maxFrame)
	var network net.Error
	switch {
	case err == nil, errors.Is(err, jute.ErrMalformed), errors.As(err, &network) && network.Timeout():
		return frame, err
	default:
		return nil, io.EOF
	}
}

func encode(xid int32, op wire.Opcode, fill func(*jute.Encoder)) []byte {
	out := jute.NewFrame(64)
	out.Int(xid)
	out.Int(int32(op))
	if fill != nil {
		fill(out)
	}
	return out.Frame()
}

func (p *peer) send(op wire.Opcode, fill func(*jute.Encoder)) {
	p.t.Helper()
	p.xid++
	p.write(encode(p.xid, op, fill))
}

func (p *peer) next() (reply, *notification) {
	p.t.Helper()
	frame, err := p.read()
	if err != nil {
		p.t.Fatalf("instead of a frame: %v", err)
	}
	r, n, err := parse(frame)
	if err != nil {
		p.t.Fatal(err)
	}
	return r, n
}

func parse(frame []byte) (reply, *notification, error) {
	d := jute.NewDecoder(frame)
	r := reply{xid: d.Int(), zxid: d.Long(), code: wire.Code(d.Int()), body: d}
	if r.xid != -1 {
		return r, nil, nil
	}
	n := notification{zxid: r.zxid, typ: wire.EventType(d.Int())}
	if state := d.Int(); state != 3 {
		return r, &n, fmt.Errorf("a notification tells of state %d", state)
	}
	n.path = d.Text()
	if d.Err() != nil || d.Rest() > 0 {
		return r, &n, fmt.Errorf("a notification is malformed: %x", frame)
	}
	return r, &n, nil
}

// await returns the next reply and keeps the notifications that come before it.
func (p *peer) await() reply {
	p.t.Helper()
	for {
		r, n := p.next()
		if n == nil {
			p.seen = max(p.seen, r.zxid)
			*p.latest = max(*p.latest, p.seen)
			return r
		}
		p.received = append(p.received, *n)
	}
}

func (p *peer) call(op wire.Opcode, fill func(*jute.Encoder)) reply {
	p.t.Helper()
	p.send(op, fill)
	r := p.await()
	if r.xid != p.xid {
		p.t.Fatalf("a reply to request %d instead of %d", r.xid, p.xid)
	}
	return r
}

// closed waits for the server to close the connection, and returns the replies before.
func (p *peer) closed() (replies []reply) {
	p.t.Helper()
	for {
		frame, err := p.read()
		if errors.Is(err, io.EOF) {
			return replies
		}
		if err != nil {
			p.t.Fatalf("the server did not close the connection: %v", err)
		}
		d := jute.NewDecoder(frame)
		if r := (reply{xid: d.Int(), zxid: d.Long(), code: wire.Code(d.Int()), body: d}); r.xid != -1 {
			replies = append(replies, r)
		}
	}
}

// events returns the notifications so far as text, with paths relative to the root. It syncs first, so that the server is up to
// date.
func (p *peer) events() string {
	p.t.Helper()
	p.sync("/")
	var words []string
	for _, n := range p.received {
		words = append(words, fmt.Sprintf("%s %s", n.typ, strings.TrimPrefix(n.path, p.root)))
	}
	p.received = nil
	return strings.Join(words, ", ")
}

// The requests, by their names in the protocol. Each returns the content of the reply and its code.

// sync makes the server catch up with the last zxid that any peer of the site has seen. It may take several requests: a
// leader answers the syncs of its own clients before it has applied all commits.
func (p *peer) sync(path string) (string, wire.Code) {
	p.t.Helper()
	for {
		r := p.call(wire.OpSync, func(out *jute.Encoder) { out.Text(path) })
		if r.code != wire.OK || p.seen >= *p.latest {
			return text(r), r.code
		}
	}
}

func text(r reply) string {
	if r.code != wire.OK {
		return ""
	}
	return r.body.Text()
}

func stat(r reply) zk.Stat {
	if r.code != wire.OK {
		return zk.Stat{}
	}
	return r.body.Stat()
}

// The create modes.
const (
	persistent          = 0
	ephemeral           = 1
	sequential          = 2
	ephemeralSequential = 3
	containerMode       = 4
)

func putCreate(path string, data []byte, flags int32) func(*jute.Encoder) {
	return putCreateACL(path, data, zk.WorldACL(zk.PermAll), flags)
}

func putCreateACL(path string, data []byte, acl []zk.ACL, flags int32) func(*jute.Encoder) {
	return func(out *jute.Encoder) {
		out.Text(path)
		out.Buffer(data)
		out.ACLs(acl)
		out.Int(flags)
	}
}

func (p *peer) create(path string, flags int32) (string, wire.Code) {
	p.t.Helper()
	r := p.call(wire.OpCreate, putCreate(path, []byte{}, flags))
	return text(r), r.code
}

func (p *peer) mustCreate(path string, flags int32) string {
	p.t.Helper()
	created, code := p.create(path, flags)
	if code != wire.OK {
		p.t.Fatalf("create %s: %s", path, code)
	}
	return created
}

func (p *peer) create2(op wire.Opcode, path string, data []byte, flags int32) (string, zk.Stat, reply) {
	p.t.Helper()
	r := p.call(op, putCreate(path, data, flags))
	return text(r), stat(r), r
}

func putPathVersion(path string, version int32) func(*jute.Encoder) {
	return func(out *jute.Encoder) {
		out.Text(path)
		out.Int(version)
	}
}

func (p *peer) delete(path string, version int32) reply {
	p.t.Helper()
	return p.call(wire.OpDelete, putPathVersion(path, version))
}

func (p *peer) mustDelete(path string) {
	p.t.Helper()
	if r := p.delete(path, -1); r.code != wire.OK {
		p.t.Fatalf("delete %s: %s", path, r.code)
	}
}

func putSetData(path string, data []byte, version int32) func(*jute.Encoder) {
	return func(out *jute.Encoder) {
		out.Text(path)
		out.Buffer(data)
		out.Int(version)
	}
}

func (p *peer) setData(path string, data []byte, version int32) (zk.Stat, wire.Code) {
	p.t.Helper()
	r := p.call(wire.OpSetData, putSetData(path, data, version))
	return stat(r), r.code
}

func putPathWatch(path string, watch bool) func(*jute.Encoder) {
	return func(out *jute.Encoder) {
		out.Text(path)
		out.Bool(watch)
	}
}

func (p *peer) exists(path string, watch bool) (zk.Stat, wire.Code) {
	p.t.Helper()
	r := p.call(wire.OpExists, putPathWatch(path, watch))
	return stat(r), r.code
}

func (p *peer) getData(path string, watch bool) ([]byte, zk.Stat, wire.Code) {
	p.t.Helper()
	r := p.call(wire.OpGetData, putPathWatch(path, watch))
	if r.code != wire.OK {
		return nil, zk.Stat{}, r.code
	}
	return r.body.Buffer(), r.body.Stat(), r.code
}

func (p *peer) children(path string, watch bool) (string, zk.Stat, wire.Code) {
	p.t.Helper()
	r := p.call(wire.OpGetChildren2, putPathWatch(path, watch))
	return names(r), stat(r), r.code
}

// names returns a sorted list of children: servers return them in any order.
func names(r reply) string {
	if r.code != wire.OK {
		return ""
	}
	return strings.Join(slices.Sorted(slices.Values(r.body.Texts())), " ")
}

type step struct {
	op  wire.Opcode
	put func(*jute.Encoder)
}

func putMulti(steps ...step) func(*jute.Encoder) {
	return func(out *jute.Encoder) {
		for _, s := range steps {
			out.Int(int32(s.op))
			out.Bool(false)
			out.Int(-1)
			s.put(out)
		}
		out.Int(-1)
		out.Bool(true)
		out.Int(-1)
	}
}

type result struct {
	op   wire.Opcode
	code wire.Code
	path string
	stat zk.Stat
}

func (p *peer) multi(steps ...step) ([]result, reply) {
	p.t.Helper()
	r := p.call(wire.OpMulti, putMulti(steps...))
	if r.code != wire.OK {
		return nil, r
	}
	results, err := readMulti(r.body)
	if err != nil {
		p.t.Fatalf("the answer to a multi: %v", err)
	}
	return results, r
}

func readMulti(d *jute.Decoder) ([]result, error) {
	var out []result
	for d.Err() == nil {
		r := result{op: wire.Opcode(d.Int())}
		done := d.Bool()
		r.code = wire.Code(d.Int())
		if done {
			break
		}
		switch r.op {
		case wire.OpCreate:
			r.path = d.Text()
		case wire.OpCreate2:
			r.path, r.stat = d.Text(), d.Stat()
		case wire.OpSetData:
			r.stat = d.Stat()
		case -1:
			if again := wire.Code(d.Int()); again != r.code {
				return nil, fmt.Errorf("an error is called both %s and %s", r.code, again)
			}
		}
		out = append(out, r)
	}
	if d.Err() == nil && d.Rest() > 0 {
		return nil, fmt.Errorf("%d bytes after its end", d.Rest())
	}
	return out, d.Err()
}

func codes(results []result) string {
	var words []string
	for _, r := range results {
		words = append(words, r.code.String())
	}
	return strings.Join(words, " ")
}

func (p *peer) setWatches(since int64, data, exist, child []string) reply {
	p.t.Helper()
	return p.call(wire.OpSetWatches, func(out *jute.Encoder) {
		out.Long(since)
		out.Texts(data)
		out.Texts(exist)
		out.Texts(child)
	})
}

// The kinds of watches that checkWatches finds and removeWatches removes.
const (
	childWatch = 1
	dataWatch  = 2
	anyWatch   = 3
)

func (p *peer) checkWatches(path string, kind int32) wire.Code {
	p.t.Helper()
	return p.call(wire.OpCheckWatches, putPathVersion(path, kind)).code
}

func (p *peer) removeWatches(path string, kind int32) wire.Code {
	p.t.Helper()
	return p.call(wire.OpRemoveWatches, putPathVersion(path, kind)).code
}
