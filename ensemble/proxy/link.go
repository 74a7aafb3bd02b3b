package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/wire"
)

const (
	bufferSize  = 16 << 10
	dialTimeout = 10 * time.Second
	// lingering is how long a connection may stay half open after the client has ended its half. A server that works closes it at once.
	lingering = time.Minute
)

type link struct {
	proxy    *Proxy
	listener *listener
	client   net.Conn
	server   net.Conn // nil until it is open

	pending []byte // of the client's first bytes, until its protocol is known
	kind    opening
	wanted  int64                    // the session to resume; zero for a new one
	counted atomic.Pointer[counting] // nil unless the client speaks ZooKeeper's protocol
	ended   sync.Once                // guards the report of the side that ended the connection
}

type counting struct {
	*wire.Tapped
	account *account
}

// reset closes a connection so that the other side receives a reset instead of the end of the stream, be it that of TLS.
func reset(conn net.Conn) {
	conn = dial.Below(conn)
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

func (l *link) serve() {
	err := l.secure()
	if err != nil {
		l.client.Close()
		return
	}
	if l.server, err = l.listener.dial(dialTimeout, l.listener.dialer); err != nil {
		l.refuse(err)
		return
	}
	defer context.AfterFunc(l.proxy.alive, func() {
		reset(l.client)
		reset(l.server)
	})()
	var toClient sync.WaitGroup
	toClient.Go(func() { l.forward(l.server, l.client, EndedServer, EndedClient, l.receive) })
	l.forward(l.client, l.server, EndedClient, EndedServer, l.admit)
	toClient.Wait()
	l.client.Close()
	l.server.Close()
	l.settle()
}

// refuse resets the client's connection, so that the client tries again.
func (l *link) refuse(err error) {
	kind := kindOf(err)
	if kind == Unreachable {
		l.listener.shut()
	}
	l.happened(kind, err.Error(), 0)
	reset(l.client)
}

// forward sends what it reads from one side to the other, until a side ends. count returns the bytes to send.
func (l *link) forward(from, to net.Conn, fromEnded, toEnded IncidentKind, count func(p []byte, end bool) []byte) {
	buffer := make([]byte, bufferSize)
	for {
		n, err := from.Read(buffer)
		if p := count(buffer[:n], err != nil); len(p) > 0 {
			if _, err := to.Write(p); err != nil {
				l.over(toEnded, err)
				reset(from)
				return
			}
		}
		if err != nil {
			if l.over(fromEnded, err) && fromEnded == EndedServer {
				l.listener.check()
			}
			_ = to.SetReadDeadline(time.Now().Add(lingering))
			endHalf(to, err)
			return
		}
	}
}

// endHalf ends one half of a connection in the way in which the other side has ended: by the end of the stream or by a reset.
func endHalf(conn net.Conn, err error) {
	if errors.Is(err, io.EOF) {
		_ = dial.CloseWrite(conn)
		return
	}
	reset(conn)
}

// admit returns the bytes to forward to the server: nothing until the connection's kind is known, or the connection has ended.
func (l *link) admit(p []byte, end bool) []byte {
	if l.kind == undecided {
		l.pending = append(l.pending, p...)
		if l.kind = classify(l.pending); l.kind == undecided && !end {
			return nil
		}
		p, l.pending = l.pending, nil
		l.begin(p)
	}
	if c := l.counted.Load(); c != nil {
		c.Sent(p)
	}
	return p
}

// receive counts bytes from the server.
func (l *link) receive(p []byte, _ bool) []byte {
	if c := l.counted.Load(); c != nil {
		c.Received(p)
	}
	return p
}

func (l *link) begin(first []byte) {
	switch l.kind {
	case handshake:
		l.wanted, _ = wire.SessionToResume(first[lengthSize:]) // a handshake is complete here
		a := l.proxy.accounts.join(l.wanted)
		l.counted.Store(&counting{Tapped: a.ledger.Tapped(), account: a})
	case command:
		l.proxy.count(func(s *Stats) { s.Commands++ })
	case encrypted:
		kind, detail := Encrypted, ""
		if c := l.proxy.config; c.ToServers != nil && c.ToClients == nil { // no server expects TLS within TLS
			kind, detail = ClientTLS, "it speaks TLS, and this address does not: connect without, or give --tls-listen-cert and -key"
		}
		l.happened(kind, detail, 0)
	case foreign:
		l.happened(NotZooKeeper, strconv.Quote(string(first[:min(len(first), mostQuoted)])), 0)
	case undecided:
		if len(first) > 0 {
			l.happened(NotZooKeeper, "ended after "+strconv.Quote(string(first)), 0)
		}
	}
}

const mostQuoted = 16

// over counts the end of a connection, and reports it unless the client had closed its session. The side that ends first is the one
// that has ended it. A server that refuses the proxy's certificate may do so here: with TLS 1.3, its side of the handshake is the last.
func (l *link) over(kind IncidentKind, err error) (reported bool) {
	if errors.As(err, new(*dial.Refusal)) {
		l.ended.Do(func() { l.happened(ServerTLS, err.Error(), 0) })
		return false
	}
	c := l.counted.Load()
	if c == nil {
		return false
	}
	l.ended.Do(func() {
		unanswered, closing := c.Unanswered()
		detail := ""
		if !errors.Is(err, io.EOF) {
			detail = err.Error()
		}
		switch {
		case kind == EndedServer && !c.Greeted():
			kind = Refused
		case kind == EndedServer && c.account.id.Load() == 0:
			kind, detail = Refused, fmt.Sprintf("session %#x does not exist", uint64(l.wanted))
		case c.account.over.Load() || closing && kind == EndedClient: // a client need not wait for the reply to its last request
			return
		}
		l.happened(kind, detail, unanswered)
		reported = true
	})
	return reported
}

func (l *link) happened(kind IncidentKind, detail string, unanswered int) {
	i := Incident{Kind: kind, Server: l.listener.server, Client: l.client.RemoteAddr().String(), Detail: detail, Unanswered: unanswered}
	if c := l.counted.Load(); c != nil {
		i.Session = c.account.id.Load()
	}
	l.proxy.happened(i)
}

// settle ends the connection's part in its account, and reports frames that could not be decoded.
func (l *link) settle() {
	c := l.counted.Load()
	if c == nil {
		return
	}
	c.End()
	if n := l.proxy.accounts.leave(c.account); n > 0 {
		l.happened(Unmatched, fmt.Sprintf("%d frames that could not be decoded, or answer no request", n), 0)
	}
}
