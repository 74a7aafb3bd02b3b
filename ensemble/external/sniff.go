package external

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
)

// sniff tests for TLS, for ZooKeeper without TLS, and for HTTP in parallel until ctx ends. It returns an error that names a protocol
// which the server is not asked in, or nil. TLS takes precedence.
func sniff(ctx context.Context, s ensemble.Server) error {
	var tries sync.WaitGroup
	var isOther, isWeb bool
	withTLS := s.Dialer != nil
	tries.Go(func() { isOther = withTLS && speaksPlain(ctx, s.Addr) || !withTLS && connected(ctx, s.Addr, speaksTLS) })
	tries.Go(func() { isWeb = connected(ctx, s.Addr, speaksHTTP) })
	tries.Wait()
	switch {
	case isOther && !withTLS:
		return Mistake{fmt.Errorf("%s speaks TLS: add --tls, with --tls-ca FILE unless this system knows the CA of its certificate, "+
			"or give its port without TLS (clientPort, usually 2181)", s.Name)}
	case isOther:
		return Mistake{fmt.Errorf("%s answers without TLS, and not with it: give its port for TLS (secureClientPort), or omit --tls",
			s.Name)}
	case isWeb:
		return Mistake{fmt.Errorf("%s is a web server, such as ZooKeeper's AdminServer: give the client port (clientPort, usually 2181)", s.Name)}
	default:
		return nil
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
	switch {
	case err == nil:
		return true
	case errors.As(err, new(tls.RecordHeaderError)):
		return false
	case errors.As(err, &refused):
		return refused.Op == "remote error" // an alert
	default:
		return strings.HasPrefix(err.Error(), "tls: ") // such as a version that is too old
	}
}

func speaksPlain(ctx context.Context, addr string) bool {
	_, err := ensemble.Srvr(ctx, ensemble.Server{Addr: addr})
	return err == nil || errors.Is(err, ensemble.ErrNotServing) || errors.Is(err, ensemble.ErrNotAllowed)
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
