package external

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/zkbench/zkbench/ensemble/dial"
)

// port is the protocol of a port that does not answer like a ZooKeeper client port.
type port string

const (
	tlsPort     port = "TLS"
	webPort     port = "HTTP"
	unknownPort port = ""
)

// sniff tests for TLS and HTTP in parallel until ctx ends. TLS takes precedence.
func sniff(ctx context.Context, addr string) port {
	var tries sync.WaitGroup
	var isTLS, isWeb bool
	tries.Go(func() { isTLS = connected(ctx, addr, speaksTLS) })
	tries.Go(func() { isWeb = connected(ctx, addr, speaksHTTP) })
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

func connected(ctx context.Context, addr string, speaks func(context.Context, net.Conn) bool) bool {
	conn, err := dial.To(ctx, nil, addr)
	if err != nil {
		return false
	}
	defer conn.Close()
	return speaks(ctx, conn)
}

// speaksTLS reports whether a ClientHello is answered in TLS. A refusal counts, because a server may require a certificate.
func speaksTLS(ctx context.Context, conn net.Conn) bool {
	err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) //nolint:gosec // nothing is sent
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

func speaksHTTP(ctx context.Context, conn net.Conn) bool {
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		return false
	}
	const protocol = "HTTP/"
	answer := make([]byte, len(protocol))
	_, err := io.ReadFull(conn, answer)
	return err == nil && string(answer) == protocol
}
