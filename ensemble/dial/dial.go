// Package dial opens zkbench's connections to servers, over TCP or in memory.
//
// It takes one position: no other package of zkbench dials. So the path between zkbench and a server, such as memory in place
// of a network, is decided in one place, and is the same for sessions, four-letter commands and the proxy.
package dial

import (
	"context"
	"errors"
	"net"
	"time"
)

// Dialer opens connections. A [net.Dialer] is one.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// To opens a connection to a server's address through d; nil means TCP.
func To(ctx context.Context, d Dialer, address string) (net.Conn, error) {
	if d == nil {
		d = new(net.Dialer)
	}
	return d.DialContext(ctx, "tcp", address)
}

// Accept calls serve with each connection to a listener, until the listener is closed. After any other error, such as too many open
// files, it calls failed and pauses: 1 ms, doubled after each further error in a row, up to 50 ms.
func Accept(listener net.Listener, failed func(error), serve func(net.Conn)) {
	for pause := time.Millisecond; ; {
		conn, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			failed(err)
			time.Sleep(pause)
			pause = min(2*pause, 50*time.Millisecond)
		default:
			pause = time.Millisecond
			serve(conn)
		}
	}
}

// Impatient returns a connection that waits at most patience for the answer to its connect request; zero means without bound. The
// client library would wait for almost seven session timeouts at a server that accepts connections and is silent, and the session
// would end meanwhile.
func Impatient(conn net.Conn, patience time.Duration) net.Conn { return &impatientConn{conn, patience} }

type impatientConn struct {
	net.Conn
	patience time.Duration
}

// SetReadDeadline implements [net.Conn]. The first deadline that the client library sets is the one for the answer.
func (c *impatientConn) SetReadDeadline(t time.Time) error {
	if c.patience > 0 {
		t = time.Now().Add(c.patience)
	}
	c.patience = 0
	return c.Conn.SetReadDeadline(t)
}
