package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// handshakeTimeout bounds the TLS handshake with a client.
const handshakeTimeout = 10 * time.Second

// secure makes the handshake with the client if the addresses speak TLS. A client that ends the connection before it has sent anything,
// such as a test for an open port, is not an incident.
func (l *link) secure() error {
	if l.proxy.config.ToClients == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(l.proxy.alive, handshakeTimeout)
	defer cancel()
	secured := tls.Server(l.client, l.proxy.config.ToClients)
	err := secured.HandshakeContext(ctx)
	if err == nil {
		l.client = secured
	} else if !errors.Is(err, io.EOF) || secured.ConnectionState().Version > 0 {
		l.happened(ClientTLS, disagreement(err), 0)
	}
	return err
}

// disagreement says what a client did instead of the handshake.
func disagreement(err error) string {
	var op *net.OpError
	switch {
	case errors.As(err, new(tls.RecordHeaderError)):
		return "it does not speak TLS, and this address does: connect with TLS, or omit --tls-listen-cert and -key"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("it has not finished the TLS handshake within %s", handshakeTimeout)
	case errors.As(err, &op) && (op.Op == "remote error" && strings.Contains(err.Error(), "certificate") || // an alert
		strings.Contains(err.Error(), "bad record MAC")): // an alert of OpenSSL, which does not encrypt it
		return fmt.Sprintf("it does not accept zkbench's certificate: it must know its CA, and connect to a host that it is for: %v", err)
	}
	return fmt.Sprintf("the TLS handshake failed: %v", err)
}
