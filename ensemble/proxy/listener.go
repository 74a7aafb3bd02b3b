package proxy

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
)

const (
	// probePause is the time between two attempts to connect to a server that does not accept connections.
	probePause = 100 * time.Millisecond
	// probeTimeout bounds such an attempt. A server that has not refused it by then counts as up.
	probeTimeout = 100 * time.Millisecond
	// secondLook is the delay before the server is probed again after the end of a connection. A process that has ended no longer
	// listens by then.
	secondLook = 20 * time.Millisecond
)

type listener struct {
	proxy  *Proxy
	server string
	dialer dial.Dialer // of the server; nil means TCP

	mu     sync.Mutex
	socket net.Listener // closed while connections are refused; nil before the first listen; only Start and serve change it

	looking atomic.Bool // a second look is due
}

func (l *listener) address() net.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.socket.Addr()
}

func (l *listener) listen(address string) error {
	socket, err := (&net.ListenConfig{}).Listen(l.proxy.alive, "tcp", address)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.proxy.alive.Err(); err != nil { // closed meanwhile
		return errors.Join(err, socket.Close())
	}
	l.socket = socket
	return nil
}

// shut makes the address refuse connections, until serve finds that the server accepts them again.
func (l *listener) shut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.socket != nil {
		l.socket.Close()
	}
}

func (l *listener) serve() {
	for {
		dial.Accept(l.socket, l.failed, func(conn net.Conn) { l.proxy.serve(&link{proxy: l.proxy, listener: l, client: conn}) })
		if !l.awaitServer() {
			l.shut()
			return
		}
		if err := l.listen(l.address().String()); err != nil && l.proxy.alive.Err() == nil {
			l.failed(err)
		}
	}
}

func (l *listener) failed(err error) {
	l.proxy.happened(Incident{Kind: kindOf(err), Server: l.server, Detail: err.Error()})
}

// kindOf returns the kind of an error to listen, to accept a connection, or to open one to the server.
func kindOf(err error) IncidentKind {
	var op *net.OpError
	switch {
	case errors.Is(err, dial.ErrOwnLimit):
		return OwnLimit
	case errors.As(err, &op) && slices.Contains([]string{"listen", "accept", "dial"}, op.Op):
		return Unreachable
	default: // TCP has connected
		return ServerTLS
	}
}

func (l *listener) awaitServer() bool {
	for {
		select {
		case <-l.proxy.alive.Done():
			return false
		case <-time.After(probePause):
		}
		if l.probe() == nil {
			return true
		}
	}
}

func (l *listener) dial(timeout time.Duration, dialer dial.Dialer) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(l.proxy.alive, timeout)
	defer cancel()
	return dial.To(ctx, dialer, l.server)
}

// probe returns an error if the server refuses a connection. It returns nil if the server does not answer, or cannot be asked. It makes
// no TLS handshake: a server that accepts connections is up, whether TLS succeeds or not.
func (l *listener) probe() error {
	conn, err := l.dial(probeTimeout, nil)
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, dial.ErrOwnLimit):
		return nil
	case err != nil:
		return err
	}
	return conn.Close()
}

// check shuts the address if the server does not accept connections. It probes at once and a second time, because a process that ends
// may close its connections before its listening socket.
func (l *listener) check() {
	if l.probe() != nil {
		l.shut()
		return
	}
	if !l.looking.CompareAndSwap(false, true) {
		return
	}
	l.proxy.running.Go(func() {
		defer l.looking.Store(false)
		select {
		case <-l.proxy.alive.Done():
		case <-time.After(secondLook):
			if l.probe() != nil {
				l.shut()
			}
		}
	})
}
