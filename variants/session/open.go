package session

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// Open opens a session for an application, and returns when it exists. Servers are addresses with ports; the session moves from
// one to another when a connection is lost. The caller closes it. It counts as lost when the servers say so, or when there has been
// no connection for a third of the timeout. All its recipes then return ErrSessionLost, and the application opens another one.
func Open(ctx context.Context, servers []string, timeout time.Duration) (*Session, error) {
	monitor, opened := NewMonitor(timeout), make(chan struct{})
	open := sync.OnceFunc(func() { close(opened) })
	conn, _, err := zk.Connect(servers, timeout, zk.WithLogInfo(false), zk.WithDialer(monitor.dial),
		zk.WithEventCallback(func(e zk.Event) {
			if e.State == zk.StateHasSession {
				open()
			}
			if IsClosed(opened) { // a server that refuses to open a session does not end one
				monitor.Observe(e)
			}
		}))
	if err != nil {
		return nil, fmt.Errorf("open a session: %w", err)
	}
	select {
	case <-opened:
		monitor.Guard(conn)
		return NewMonitoredSession(conn, monitor), nil
	case <-ctx.Done():
		conn.Close()
		return nil, fmt.Errorf("no session at %s: %w", strings.Join(servers, ", "), context.Cause(ctx))
	}
}

// Close ends the session, and with it its ephemeral znodes and the watches of all its handles. It then counts as lost, so that
// calls that are under way return.
func (s *Session) Close() {
	if s.monitor != nil {
		s.monitor.Lose()
	}
	if conn, ok := s.Conn().(interface{ Close() }); ok {
		conn.Close()
	}
}

// dial opens a connection on which the monitor reads the timeout that the server grants, which may be less than requested. The
// client library does not report it.
func (m *Monitor) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	return &greeted{Conn: conn, granted: m.SetTimeout}, nil
}

// greeting is the number of bytes at the beginning of a server's first reply: its length, the version of the protocol, and the
// timeout in milliseconds, each a number of four bytes.
const greeting = 12

// greeted is a connection that copies the server's greeting while the client library reads it.
type greeted struct {
	net.Conn
	head    []byte
	granted func(time.Duration)
}

func (g *greeted) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	if missing := greeting - len(g.head); missing > 0 {
		g.head = append(g.head, p[:min(n, missing)]...)
		if n >= missing {
			g.granted(time.Duration(binary.BigEndian.Uint32(g.head[8:])) * time.Millisecond)
		}
	}
	return n, err
}
