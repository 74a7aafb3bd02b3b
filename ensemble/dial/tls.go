package dial

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
)

// Files are what a client with TLS needs: PEM files, and optionally the name that is in the servers' certificates instead of their host.
type Files struct {
	CA         string // who signs the servers' certificates; empty for the system's CAs
	Cert, Key  string // of the client; empty without a client certificate
	ServerName string
}

// TLS opens connections with TLS over TCP. Each connection makes a full handshake. Errors that no further attempt mends are a [Refusal].
type TLS struct {
	config  *tls.Config
	files   Files
	client  *x509.Certificate // nil without one
	address string            // of the server, as the user knows it
}

// NewTLS reads the files. They are not read again.
func NewTLS(files Files) (*TLS, error) {
	t := &TLS{files: files, config: &tls.Config{MinVersion: tls.VersionTLS12, ServerName: files.ServerName}}
	if files.CA != "" {
		text, err := os.ReadFile(files.CA)
		if err != nil {
			return nil, fmt.Errorf("the CA of the servers: %w", err)
		}
		t.config.RootCAs = x509.NewCertPool()
		if !t.config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("the CA of the servers: %s holds no certificate in PEM (-----BEGIN CERTIFICATE-----): "+
				"`openssl x509 -in FILE -inform DER` converts one, `keytool -exportcert -rfc` takes one from a trust store", files.CA)
		}
	}
	if files.Cert == "" {
		return t, nil
	}
	pair, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if err != nil {
		return nil, fmt.Errorf("the client certificate %s with the key %s: %w; both must be in PEM without encryption",
			files.Cert, files.Key, err)
	}
	t.config.Certificates, t.client = []tls.Certificate{pair}, pair.Leaf
	return t, nil
}

// For returns a dialer to one server, whose certificate must have the host of this address unless [Files] has a name.
func (t *TLS) For(address string) *TLS {
	own := *t
	own.config, own.address = t.config.Clone(), address
	host, _, _ := net.SplitHostPort(address)
	own.config.ServerName = cmp.Or(t.files.ServerName, host)
	return &own
}

// DialContext implements [Dialer].
func (t *TLS) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(conn, t.config)
	if err := secured.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, t.explain(err)
	}
	return &tlsConn{secured, t}, nil
}

// tlsConn explains what servers say after the handshake: in TLS 1.3, a client learns only then that its certificate is refused.
type tlsConn struct {
	*tls.Conn
	dialer *TLS
}

func (c *tlsConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = c.dialer.explain(err)
	}
	return n, err
}

// CloseWrite lets the other end of a connection read what was written, and then the end of the stream. With TLS, it also ends the stream
// of TCP: ZooKeeper would keep the connection.
func CloseWrite(conn net.Conn) error {
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	err := half.CloseWrite()
	if below := Below(conn); below != conn {
		return errors.Join(err, CloseWrite(below))
	}
	return err
}

// Below returns the connection below TLS, or conn itself without TLS. Its Close is at once: that of TLS may wait for a peer that does not
// read.
func Below(conn net.Conn) net.Conn {
	if secured, ok := conn.(interface{ NetConn() net.Conn }); ok {
		return secured.NetConn()
	}
	return conn
}
