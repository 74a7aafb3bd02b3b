package embedded

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"math/big"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

// secured returns the settings of a server with a certificate of its own, and those of its clients.
func secured(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"zoo"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	roots := x509.NewCertPool()
	roots.AddCert(must.Get(x509.ParseCertificate(der))(t))
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}},
		&tls.Config{RootCAs: roots, ServerName: "zoo"}
}

func put(op wire.Opcode, fill func(*jute.Encoder)) []byte {
	out := jute.NewFrame(smallFrame)
	out.Int(1)
	out.Int(int32(op))
	fill(out)
	return out.Frame()
}

func TestTLS(t *testing.T) {
	server, client := secured(t)
	s := must.Get(Listen(Config{TLS: server}))(t)
	dial := func() net.Conn { return must.Get(tls.Dial("tcp", s.Addr(), client))(t) }

	var received bytes.Buffer
	recorded := client.Clone()
	recorded.MaxVersion = tls.VersionTLS12 // whose alerts are visible
	command := tls.Client(recorder{must.Get(net.Dial("tcp", s.Addr()))(t), &received}, recorded)
	must.Get(io.WriteString(command, "ruok"))(t)
	if answer := must.Get(io.ReadAll(command))(t); string(answer) != "imok" {
		t.Errorf("ruok: %q", answer)
	}
	if last := lastRecord(received.Bytes()); last != 21 {
		t.Errorf("the last record has type %d, want an alert that the answer is complete", last)
	}

	silent := must.Get(net.Dial("tcp", s.Addr()))(t)
	plain := must.Get(net.Dial("tcp", s.Addr()))(t)
	must.Get(plain.Write(conversation(greeted, nil)))(t)
	if answer, _ := io.ReadAll(plain); len(answer) > 7 { // the size of an alert
		t.Errorf("a client without TLS was answered: %x", answer)
	}

	conn := dial() // although the silent one has not finished its handshake
	shakeHands(t, conn)
	must.Get(conn.Write(put(wire.OpExists, func(out *jute.Encoder) { out.Text("/"); out.Bool(true) })))(t)
	must.Get(jute.ReadFrame(conn, 1000))(t)
	must.Get(conn.Write(put(wire.OpClose, func(*jute.Encoder) {})))(t)
	must.Get(jute.ReadFrame(conn, 1000))(t)
	ended(t, conn)

	open := dial()
	shakeHands(t, open)
	must.Do(t, s.Close())
	for _, c := range []net.Conn{silent, open} {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a connection is open although the server is closed")
		}
	}
	if len(s.connections) > 0 {
		t.Errorf("%d connections are left", len(s.connections))
	}
}

// recorder keeps what it reads.
type recorder struct {
	net.Conn
	received *bytes.Buffer
}

func (r recorder) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.received.Write(p[:n])
	return n, err
}

// lastRecord returns the type of the last record of TLS.
func lastRecord(p []byte) (typ byte) {
	for len(p) >= 5 {
		typ = p[0]
		p = p[5+int(binary.BigEndian.Uint16(p[3:])):]
	}
	return typ
}

// A client that does not finish the handshake of TLS is dropped in time, also if it does not read.
func TestTLSHandshakeTimeout(t *testing.T) {
	for name, said := range map[string]string{"nothing": "", "half a record": "\x16\x03\x01\x02\x00\x01"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, _ := secured(t)
				s, conn := dialThrough(t, func(c net.Conn) net.Conn { return tls.Server(c, server) })
				must.Get(io.WriteString(conn, said))(t)
				_, _ = io.ReadAll(conn)
				s.running.Wait()
				must.Do(t, inspect(s))
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		server, client := secured(t)
		s, conn := dialThrough(t, func(c net.Conn) net.Conn { return tls.Server(c, server) })
		go func() { _ = tls.Client(deaf{conn}, client).Handshake() }()
		s.running.Wait()
		must.Do(t, inspect(s))
	})
}

// deaf is a connection that never reads.
type deaf struct{ net.Conn }

func (d deaf) Read([]byte) (int, error) { return 0, errors.New("deaf") }

// A client that does not read does not hold up the server that drops it.
func TestTLSDropDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, client := secured(t)
		s, pipe := dialThrough(t, func(c net.Conn) net.Conn { return tls.Server(c, server) })
		conn := tls.Client(pipe, client)
		shakeHands(t, conn)
		synctest.Wait()
		before := time.Now()
		s.mu.Lock()
		s.dropAll()
		s.mu.Unlock()
		if passed := time.Since(before); passed > 0 { // virtual time
			t.Errorf("the server was locked for %s", passed)
		}
	})
}

// Where a scheme is demanded, other clients are told so, and only authentication is served before.
func TestScheme(t *testing.T) {
	auth := func(scheme string) []byte {
		return put(wire.OpAuth, func(out *jute.Encoder) {
			out.Int(0)
			out.Text(scheme)
			out.Buffer([]byte("user:password"))
		})
	}
	requests := map[string][]byte{
		"exists": put(wire.OpExists, func(out *jute.Encoder) { out.Text("/"); out.Bool(false) }),
		"ping":   put(wire.OpPing, func(*jute.Encoder) {}),
		"close":  put(wire.OpClose, func(*jute.Encoder) {}),
	}
	for name, request := range requests {
		for _, scheme := range []string{"", ipScheme, digestScheme} {
			t.Run(name+" after "+scheme, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, conn := dialThrough(t, func(c net.Conn) net.Conn { return c })
					s.config.Scheme = digestScheme
					shakeHands(t, conn)
					if scheme != "" {
						must.Get(conn.Write(auth(scheme)))(t)
						must.Get(jute.ReadFrame(conn, 1000))(t)
					}
					must.Get(conn.Write(request))(t)
					d := jute.NewDecoder(must.Get(jute.ReadFrame(conn, 1000))(t))
					d.Int()
					zxid, code := d.Long(), wire.Code(d.Int())
					if scheme == digestScheme {
						if code != wire.OK {
							t.Errorf("%s: %s", name, code)
						}
						return
					}
					if code != wire.SessionClosedRequireSASLAuth || zxid != 0 {
						t.Errorf("%s: %s at %d", name, code, zxid)
					}
					ended(t, conn)
					if len(s.sessions) != 1 {
						t.Error("the session has ended with its connection")
					}
				})
			})
		}
	}
}
