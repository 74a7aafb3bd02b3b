package conformance_test

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// fault is where a connection is cut around the next create.
type fault int

const (
	dropReply   fault = iota // the server has done it, the client does not learn so
	dropRequest              // the server never sees it
)

func (f fault) String() string {
	if f == dropReply {
		return "reply lost"
	}
	return "request lost"
}

// errCut is what the operating system says when a connection is gone.
var errCut = &net.OpError{Op: "write", Net: "tcp", Err: errors.New("cut by the test")}

// cutter cuts a session's connection once, around its next create (alone or in a multi), after arm.
type cutter struct {
	fault fault
	armed atomic.Bool
	cut   atomic.Bool // the reply to the create is to be dropped
	done  atomic.Bool
}

func (c *cutter) arm()        { c.armed.Store(true) }
func (c *cutter) fired() bool { return c.done.Load() }

func (c *cutter) wrap(conn net.Conn) (net.Conn, error) { return &cutConn{Conn: conn, cutter: c}, nil }

type cutConn struct {
	net.Conn
	cutter *cutter
}

// Write sees whole packets: the client sends each with one Write.
func (c *cutConn) Write(p []byte) (int, error) {
	if isCreate(p) && c.cutter.armed.CompareAndSwap(true, false) {
		c.cutter.done.Store(true)
		if c.cutter.fault == dropRequest {
			c.Close()
			return 0, errCut
		}
		c.cutter.cut.Store(true)
	}
	return c.Conn.Write(p)
}

// Read drops the connection as soon as the server has answered: then it has done what it was asked.
func (c *cutConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.cutter.cut.CompareAndSwap(true, false) {
		c.Close()
		return 0, errCut
	}
	return n, err
}

func isCreate(packet []byte) bool {
	if len(packet) < 12 {
		return false
	}
	op := binary.BigEndian.Uint32(packet[8:])
	return op == 1 || op == 14
}

// cable is a connection that can be unplugged for good, or frozen for a while.
type cable struct {
	mu        sync.Mutex
	conns     []net.Conn
	unplugged bool
	frozen    chan struct{} // closed when it thaws
}

func (c *cable) wrap(conn net.Conn) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unplugged {
		conn.Close()
		return nil, errCut
	}
	c.conns = append(c.conns, conn)
	return &cableConn{Conn: conn, cable: c}, nil
}

// unplug cuts the connection and refuses all later ones.
func (c *cable) unplug() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unplugged = true
	for _, conn := range c.conns {
		conn.Close()
	}
}

// replug lets new connections through again.
func (c *cable) replug() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unplugged = false
}

// freeze holds back whatever the server sends.
func (c *cable) freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen = make(chan struct{})
}

func (c *cable) thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.frozen)
	c.frozen = nil
}

type cableConn struct {
	net.Conn
	cable *cable
}

func (c *cableConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.cable.mu.Lock()
	frozen := c.cable.frozen
	c.cable.mu.Unlock()
	if frozen != nil {
		select {
		case <-frozen:
		case <-time.After(patience):
		}
	}
	return n, err
}
