package simulation

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// link connects one session to the servers, which it tries in turn. A message that has left the client arrives even if
// the client has died.
type link struct {
	servers  []*embedded.Server
	ledger   *wire.Ledger
	sending  func(wire.Opcode) // is called before each request that is not housekeeping
	rewatch  time.Duration     // at most, see Plan
	up, down way
	refused  until

	mu      sync.Mutex
	turn    int      // how often a server has been tried
	current net.Conn // the client's end of the last connection; nil before the first
	severed bool
}

// way is one direction of a link. Each message takes a time of its own, which is never zero: without that, a client that
// reads again as soon as it is notified would stop the clock for ever.
type way struct {
	latency  time.Duration
	withheld until

	mu     sync.Mutex
	random *rand.Rand
}

// until is a moment up to which a state lasts. It may move on at any time.
type until struct {
	mu     sync.Mutex
	moment time.Time
}

// extend makes it last for d from now on, or for longer.
func (u *until) extend(d time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.moment = time.Now().Add(max(d, time.Until(u.moment)))
}

func (u *until) left() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	return time.Until(u.moment)
}

func (u *until) wait() {
	for d := u.left(); d > 0; d = u.left() {
		time.Sleep(d)
	}
}

func (w *way) part(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.random.Int64N(int64(d)))
}

func (w *way) travel() {
	time.Sleep(w.latency/2 + w.part(w.latency))
	w.withheld.wait()
}

var errDown = errors.New("the link is down")

// refusal is how long a failed attempt to connect takes.
const refusal = 100 * time.Millisecond

// dial opens a connection. It is an argument for zk.WithDialer.
func (l *link) dial(string, string, time.Duration) (net.Conn, error) {
	l.up.travel()
	if l.isDown() {
		time.Sleep(refusal)
		return nil, errDown
	}
	l.mu.Lock()
	l.turn++
	l.mu.Unlock()
	far, err := l.server().DialContext(context.Background(), "tcp", "")
	if err != nil {
		return nil, err
	}
	client, near := dial.Pipe()
	go l.up.carry(far, near)
	go l.down.carry(near, far)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = l.ledger.Wrap(client)
	if l.severed {
		l.current.Close()
	}
	return dial.Impatient(&countedConn{Conn: l.current, link: l}, l.ledger.Patience(len(l.servers))), nil
}

func (l *link) server() *embedded.Server {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.servers[l.turn%len(l.servers)]
}

func (l *link) isDown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.severed || l.ledger.Over() || l.refused.left() > 0
}

func (w *way) carry(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	message := make([]byte, 4<<10)
	for {
		n, err := from.Read(message)
		w.travel()
		if n > 0 {
			if _, err := to.Write(message[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (l *link) cut(d time.Duration) {
	l.refused.extend(d)
	l.end(false)
}

func (l *link) sever() { l.end(true) }

func (l *link) end(forEver bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.severed = l.severed || forEver
	if l.current != nil {
		l.current.Close()
	}
}

// countedConn calls sending for each request before it is sent.
type countedConn struct {
	net.Conn
	link    *link
	greeted bool // the connect request, which has no opcode, has been sent
}

// Write sends one frame: the client library calls it once for each.
func (c *countedConn) Write(p []byte) (int, error) {
	op, known := wire.OpcodeOf(p)
	if !c.greeted || !known {
		c.greeted = true
		return c.Conn.Write(p)
	}
	switch {
	case op == wire.OpSetWatches && c.link.rewatch > 0:
		go c.rewatch(slices.Clone(p))
		return len(p), nil
	case !op.IsHousekeeping():
		c.link.sending(op)
	}
	return c.Conn.Write(p)
}

// rewatch sends the watches again as a client library does that is slow to look up the zxid after which it has missed
// something: other requests overtake the watches, and the session is not notified of what happened before their
// replies. In virtual time, the library is never slow.
func (c *countedConn) rewatch(p []byte) {
	time.Sleep(c.link.up.part(c.link.rewatch))
	binary.BigEndian.PutUint64(p[12:], uint64(max(c.link.ledger.LastZxid(), int64(binary.BigEndian.Uint64(p[12:])))))
	_, _ = c.Conn.Write(p)
}
