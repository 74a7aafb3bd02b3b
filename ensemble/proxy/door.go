package proxy

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
)

const (
	// knockPause is the time between two attempts to connect to a server that takes no connections.
	knockPause = 100 * time.Millisecond
	// knockTimeout bounds such an attempt. A server that has not refused by then is taken to be up.
	knockTimeout = 100 * time.Millisecond
	// secondLook is how long after the end of a connection the server is looked at again. A process that has ended no longer listens then.
	secondLook = 20 * time.Millisecond
)

// door is the address at which clients reach a server.
type door struct {
	proxy  *Proxy
	server string

	mu       sync.Mutex
	address  string       // that the door has, also while it is shut
	listener net.Listener // nil while the door is shut

	looking atomic.Bool // a second look is due
}

// at returns the door's address.
func (d *door) at() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.address
}

// listen opens the door.
func (d *door) listen() error {
	listener, err := (&net.ListenConfig{}).Listen(d.proxy.dials, "tcp", d.at())
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.proxy.dials.Err(); err != nil { // closed meanwhile
		return errors.Join(err, listener.Close())
	}
	d.listener, d.address = listener, listener.Addr().String()
	return nil
}

// shut makes the address refuse connections. A door that is shut stays so until serve opens it.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.listener != nil {
		d.listener.Close()
		d.listener = nil
	}
}

func (d *door) open() net.Listener {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.listener
}

// serve takes connections while the server does, until the proxy is closed.
func (d *door) serve() {
	for {
		if listener := d.open(); listener != nil {
			dial.Accept(listener, d.unreachable, func(conn net.Conn) { d.proxy.serve(&link{proxy: d.proxy, door: d, client: conn}) })
		}
		if !d.awaitServer() {
			d.shut()
			return
		}
		if err := d.listen(); err != nil && d.proxy.dials.Err() == nil {
			d.unreachable(err)
		}
	}
}

// unreachable reports that clients cannot connect.
func (d *door) unreachable(err error) {
	d.proxy.happened(Incident{Kind: Unreachable, Server: d.server, Detail: err.Error()})
}

// awaitServer returns true when the server takes connections, and false when the proxy is closed.
func (d *door) awaitServer() bool {
	for {
		select {
		case <-d.proxy.dials.Done():
			return false
		case <-time.After(knockPause):
		}
		if d.knock() == nil {
			return true
		}
	}
}

// dial opens a connection to the server.
func (d *door) dial(timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(d.proxy.dials, timeout)
	defer cancel()
	return dial.To(ctx, nil, d.server)
}

// knock connects to the server, and returns why that is not possible.
func (d *door) knock() error {
	conn, err := d.dial(knockTimeout)
	var timeout net.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return nil
	case err != nil:
		return err
	}
	return conn.Close()
}

// check shuts the door if the server does not take connections: at once, and by a second look, as a process that ends may close its
// connections before its listening socket.
func (d *door) check() {
	if d.knock() != nil {
		d.shut()
		return
	}
	if !d.looking.CompareAndSwap(false, true) {
		return
	}
	d.proxy.running.Go(func() {
		defer d.looking.Store(false)
		select {
		case <-d.proxy.dials.Done():
		case <-time.After(secondLook):
			if d.knock() != nil {
				d.shut()
			}
		}
	})
}
