package ensemble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// Link is a session's way to its servers, which can be made to fail. Its methods may be called concurrently.
//
// The client learns of the end of a connection at once, and the servers a round trip later: what they had sent is still counted,
// as lost. A link waits for that before it lets the client connect again.
type Link struct {
	ledger *wire.Ledger

	mu      sync.Mutex
	current *wire.Conn // nil before the first connection
	address string     // the server of the current connection
	severed bool
	traps   []*Trap
	held    sync.Mutex // is locked while no connection may begin
}

// NewLink returns a link whose frames are counted in ledger.
func NewLink(ledger *wire.Ledger) *Link { return &Link{ledger: ledger} }

// Ledger returns the ledger in which the link's frames are counted.
func (l *Link) Ledger() *wire.Ledger { return l.ledger }

// errSevered is the error of connections through a severed link.
var errSevered = errors.New("the link is severed")

// dial opens a counted connection. It is an argument for zk.WithDialer.
func (l *Link) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	l.held.Lock()
	defer l.held.Unlock()
	l.mu.Lock()
	severed := l.severed
	l.mu.Unlock()
	if severed {
		return nil, errSevered
	}
	conn, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.severed { // meanwhile
		conn.Close()
		return nil, errSevered
	}
	l.current, l.address = l.ledger.Wrap(conn), address
	return &thriftyConn{Conn: &trappedConn{Conn: l.current, link: l}}, nil
}

// Cut ends the current connection at once. The client library connects again.
func (l *Link) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil {
		l.current.End()
	}
}

// Sever ends the connection and refuses all further ones, as when the client's process has died: no close request leaves.
func (l *Link) Sever() {
	l.mu.Lock()
	l.severed = true
	l.mu.Unlock()
	l.Cut()
}

// CutBefore ends the connection in place of sending the next request of a kind.
func (l *Link) CutBefore(op wire.Opcode) *Trap { return l.set(&Trap{op: op}) }

// CutAfter lets the next request of a kind leave, waits for its reply, and loses it with the connection.
func (l *Link) CutAfter(op wire.Opcode) *Trap { return l.set(&Trap{op: op, after: true}) }

func (l *Link) set(t *Trap) *Trap {
	t.link, t.fired = l, make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.traps = append(l.traps, t)
	return t
}

// Trap is a cut that has not happened yet.
type Trap struct {
	link  *Link
	op    wire.Opcode
	after bool
	fired chan struct{}
}

// Fired is closed when the connection has been cut.
func (t *Trap) Fired() <-chan struct{} { return t.fired }

// Disarm removes the trap, and reports whether it had not fired.
func (t *Trap) Disarm() bool {
	t.link.mu.Lock()
	defer t.link.mu.Unlock()
	n := len(t.link.traps)
	t.link.traps = slices.DeleteFunc(t.link.traps, func(o *Trap) bool { return o == t })
	return len(t.link.traps) < n
}

// spring removes and returns the trap for a request, or nil.
func (l *Link) spring(op wire.Opcode) *Trap {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.traps, func(t *Trap) bool { return t.op == op })
	if i < 0 {
		return nil
	}
	t := l.traps[i]
	l.traps = slices.Delete(l.traps, i, i+1)
	return t
}

// trappedConn is a connection with the traps of its link.
type trappedConn struct {
	*wire.Conn
	link *Link
}

// Write sends one frame, unless a trap cuts the connection.
func (c *trappedConn) Write(p []byte) (int, error) {
	const header = 12 // the length, the xid and the opcode
	if len(p) < header {
		return c.Conn.Write(p)
	}
	t := c.link.spring(wire.Opcode(binary.BigEndian.Uint32(p[8:])))
	if t == nil {
		return c.Conn.Write(p)
	}
	defer close(t.fired)
	defer c.Conn.End()
	if t.after {
		return c.Conn.Write(p)
	}
	return len(p), nil
}

// Expire ends the session at the servers by a second connection with the same id and password, which closes it. It is an error
// if the session does not exist.
func (l *Link) Expire(ctx context.Context) error {
	l.held.Lock()
	defer l.held.Unlock()
	s := l.ledger.Session()
	if s.ID == 0 {
		return ErrNoSession
	}
	l.Cut()
	l.mu.Lock()
	address := l.address
	l.mu.Unlock()
	if err := closeSession(ctx, address, s); err != nil {
		return fmt.Errorf("expire session %#x at %s: %w", s.ID, address, err)
	}
	return nil
}

// ErrNoSession is the error of Expire if the servers do not have the session.
var ErrNoSession = errors.New("the session does not exist")

// maxReply bounds the frames that closeSession reads.
const maxReply = 1 << 20

// closeSession resumes a session on a new connection and closes it.
func closeSession(ctx context.Context, address string, s wire.Session) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	out := jute.NewFrame(64)
	out.Int(0)
	out.Long(0)
	out.Int(int32(SessionTimeout.Milliseconds()))
	out.Long(s.ID)
	out.Buffer(s.Password)
	if _, err := conn.Write(out.Frame()); err != nil {
		return err
	}
	frame, err := jute.ReadFrame(conn, maxReply)
	if err != nil {
		return err
	}
	d := jute.NewDecoder(frame)
	d.Int()
	d.Int()
	if id := d.Long(); d.Err() != nil || id != s.ID {
		return ErrNoSession
	}
	out = jute.NewFrame(8)
	out.Int(1)
	out.Int(int32(wire.OpClose))
	if _, err := conn.Write(out.Frame()); err != nil {
		return err
	}
	_, err = jute.ReadFrame(conn, maxReply)
	return err
}
