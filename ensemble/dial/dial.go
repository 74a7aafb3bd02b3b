// Package dial opens zkbench's connections to servers, over TCP or in memory.
//
// It takes one position: no other package of zkbench dials. So what lies between zkbench and a server, such as memory in place
// of a network, is decided in one place, and is the same for sessions, four-letter commands and the proxy.
package dial

import (
	"context"
	"net"
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
