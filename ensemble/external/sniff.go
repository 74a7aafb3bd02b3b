package external

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
)

// port is what a port turned out to be that does not answer as ZooKeeper's client port does.
type port string

const (
	tlsPort     port = "TLS"
	webPort     port = "HTTP"
	unknownPort port = ""
)

// sniff tries both at once, for as long as ctx lets it; a port that is both is one for TLS.
func sniff(ctx context.Context, addr string) port {
	var tries sync.WaitGroup
	var isTLS, isWeb bool
	tries.Go(func() { isTLS = speaksTLS(ctx, addr) })
	tries.Go(func() { isWeb = speaksHTTP(ctx, addr) })
	tries.Wait()
	switch {
	case isTLS:
		return tlsPort
	case isWeb:
		return webPort
	default:
		return unknownPort
	}
}

// speaksTLS reports whether a ClientHello is answered in TLS. A refusal counts: a server may want a certificate.
func speaksTLS(ctx context.Context, addr string) bool {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	err = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) //nolint:gosec // nothing is sent
	var refused *net.OpError
	var noRecord tls.RecordHeaderError
	switch {
	case err == nil:
		return true
	case errors.As(err, &noRecord):
		return false
	case errors.As(err, &refused):
		return refused.Op == "remote error" // an alert
	default:
		return strings.HasPrefix(err.Error(), "tls: ") // such as a version that is too old
	}
}

func speaksHTTP(ctx context.Context, addr string) bool {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return false
	}
	const protocol = "HTTP/"
	answer := make([]byte, len(protocol))
	_, err = io.ReadFull(conn, answer)
	return err == nil && string(answer) == protocol
}
