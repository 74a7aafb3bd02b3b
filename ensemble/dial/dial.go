// Package dial opens zkbench's connections to servers, over TCP or in memory.
//
// It takes one position: no other package of zkbench dials. So the path between zkbench and a server, such as memory in place
// of a network, is decided in one place, and is the same for sessions, four-letter commands and the proxy.
package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

// Dialer opens connections. A [net.Dialer] is one.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// ErrOwnLimit is in the error of a connection that this process or machine could not open or accept. It says nothing about the server.
var ErrOwnLimit = errors.New("a limit of zkbench or this machine, not of the servers " +
	"(of files: ulimit -n, fs.file-max; of ports to a server: net.ipv4.ip_local_port_range)")

func explained(err error) error {
	limits := []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL}
	if slices.ContainsFunc(limits, func(limit error) bool { return errors.Is(err, limit) }) {
		return fmt.Errorf("%w: %w", err, ErrOwnLimit)
	}
	return err
}

// To opens a connection to a server's address through d; nil means TCP. Its errors may be an [ErrOwnLimit].
func To(ctx context.Context, d Dialer, address string) (net.Conn, error) {
	if d == nil {
		d = new(net.Dialer)
	}
	conn, err := d.DialContext(ctx, "tcp", address)
	return conn, explained(err)
}

// Accept calls serve with each connection to a listener, until the listener is closed. After any other error, such as an [ErrOwnLimit],
// it pauses and tries again. It calls failed with the first error in a row.
func Accept(listener net.Listener, failed func(error), serve func(net.Conn)) {
	for failing := false; ; {
		conn, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err == nil:
			failing = false
			serve(conn)
		case !failing:
			failing = true
			failed(explained(err))
			fallthrough
		default:
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// Destination returns the address at which clients reach a listener. If it listens on all addresses of this machine, that is the first
// IPv4 address that other machines may reach, or else the machine's name.
func Destination(listens net.Addr) string {
	host, port, _ := net.SplitHostPort(listens.String())
	if !net.ParseIP(host).IsUnspecified() {
		return listens.String()
	}
	host, _ = os.Hostname()
	all, _ := net.InterfaceAddrs()
	for _, a := range slices.Backward(all) {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			host = n.IP.String()
		}
	}
	return net.JoinHostPort(host, port)
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
