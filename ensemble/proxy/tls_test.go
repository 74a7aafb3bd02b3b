package proxy_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/results/must"
)

// way is what lies between an application and its servers: TLS on neither side of the proxy, on one, or on both.
type way struct {
	toServers, toClients   bool
	serverFiles, ownFiles  dial.Files // of the server, and of the proxy's addresses, which is the server's certificate for clients
	clientFiles, appsFiles dial.Files
}

// onEveryWay calls test with each way.
func onEveryWay(t *testing.T, test func(*testing.T, *way)) {
	for name, w := range map[string]way{"plain": {}, "TLS out": {toServers: true}, "TLS in": {toClients: true}, "TLS in and out": {toServers: true, toClients: true}} {
		t.Run(name, func(t *testing.T) {
			w.serverFiles, w.clientFiles = ensembletest.Certificates(t, nil)
			w.ownFiles, w.appsFiles = ensembletest.Certificates(t, nil)
			w.appsFiles.Cert, w.appsFiles.Key = "", ""
			test(t, &w)
		})
	}
}

// serve returns a server's connection as the way has it.
func (w *way) serve(t *testing.T, serve func(net.Conn)) (address string) {
	if !w.toServers {
		return ensembletest.Listen(t, serve)
	}
	config := ensembletest.ServerTLS(t, w.serverFiles)
	return ensembletest.Listen(t, func(conn net.Conn) {
		secured := tls.Server(conn, config)
		defer secured.Close()
		serve(secured)
	})
}

// front returns the address of a server as the way has it.
func (w *way) front(t *testing.T, address string) string {
	if !w.toServers {
		return address
	}
	return w.serve(t, func(client net.Conn) {
		server, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		defer server.Close()
		var up sync.WaitGroup
		up.Go(func() {
			_, _ = io.Copy(server, client)
			_ = dial.CloseWrite(server)
		})
		_, _ = io.Copy(client, server)
		_ = dial.CloseWrite(client)
		up.Wait()
	})
}

func (w *way) start(t *testing.T, servers ...string) (*proxy.Proxy, *noted) {
	t.Helper()
	n := &noted{}
	config := proxy.Config{Servers: servers, Epoch: time.Now(), Observer: n}
	if w.toServers {
		config.ToServers = must.Get(dial.NewTLS(w.clientFiles))(t)
	}
	if w.toClients {
		config.ToClients = ensembletest.ServerTLS(t, w.ownFiles)
		config.ToClients.ClientAuth = tls.NoClientCert
	}
	p := must.Get(proxy.Start(t.Context(), config))(t)
	t.Cleanup(p.Close)
	return p, n
}

// at returns a server as an application has it.
func (w *way) at(t *testing.T, address string) ensemble.Server {
	t.Helper()
	var access ensemble.Access
	if w.toClients {
		access.TLS = must.Get(dial.NewTLS(w.appsFiles))(t)
	}
	return access.To(ensemble.Server{Addr: address}, address)
}

func (w *way) dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn := must.Get(w.at(t, address).Dial(t.Context()))(t)
	t.Cleanup(func() { conn.Close() })
	return conn
}

// end ends a connection by a reset, or by the end of the stream.
func end(conn net.Conn, byReset bool) {
	if !byReset {
		conn.Close()
		return
	}
	if secured, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secured.NetConn()
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	conn.Close()
}

// The client is reset if the server and the proxy do not agree on TLS, and the reason is reported. The address stays open.
func TestServerRefusesTLS(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*x509.Certificate)
		client func(own, other dial.Files) dial.Files
		plain  func(net.Conn) // of a server without TLS
		want   string
	}{
		{name: "expired", change: func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }, want: "the server's certificate is valid from"},
		{name: "another host", change: func(c *x509.Certificate) { c.IPAddresses = nil }, want: "zoo3, and not for 127.0.0.1"},
		{name: "another CA", client: func(own, other dial.Files) dial.Files { own.CA = other.CA; return own }, want: "is not among the CAs of"},
		{name: "no certificate", client: func(own, _ dial.Files) dial.Files { own.Cert, own.Key = "", ""; return own }, want: "accepts only clients with a certificate"},
		{name: "a certificate of another CA", client: func(own, other dial.Files) dial.Files { other.CA = own.CA; return other }, want: "does not accept the client certificate"},
		{name: "a server that answers without TLS", plain: func(conn net.Conn) { _, _ = io.WriteString(conn, "hello") }, want: "does not speak TLS"},
		{name: "a server that ends the connection", plain: func(conn net.Conn) { _, _ = conn.Read(make([]byte, 16<<10)) }, want: "EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := way{toServers: true}
			w.serverFiles, w.clientFiles = ensembletest.Certificates(t, tt.change)
			_, other := ensembletest.Certificates(t, nil)
			if tt.client != nil {
				w.clientFiles = tt.client(w.clientFiles, other)
			}
			server := w.serve(t, echo)
			if tt.plain != nil {
				server = ensembletest.Listen(t, tt.plain)
			}
			p, n := w.start(t, server)
			for range 2 {
				conn, err := w.at(t, p.Addresses()[0]).Dial(t.Context())
				if err == nil { // the reset may be there before the connection is returned
					_, _ = conn.Write([]byte("ruok"))
					_, err = io.ReadAll(conn)
					conn.Close()
				}
				if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
					t.Errorf("no reset: %v", err)
				}
			}
			awaitClosed(t, p)
			all := n.all()
			if kinds := kindsOf(all); !slices.Equal(kinds, []proxy.IncidentKind{proxy.ServerTLS, proxy.ServerTLS}) || !strings.Contains(all[0].Detail, tt.want) {
				t.Errorf("incidents %+v, want two with %q", all, tt.want)
			}
		})
	}
}

// A client and an address that do not agree on TLS are reported, each case in its own words. A test for an open port is not.
func TestClientWithTheWrongTLS(t *testing.T) {
	onEveryWay(t, func(t *testing.T, w *way) {
		p, n := w.start(t, w.serve(t, echo))
		probe := must.Get(net.Dial("tcp", p.Addresses()[0]))(t)
		probe.Close()
		awaitClosed(t, p)
		if all := n.all(); len(all) > 0 {
			t.Fatalf("a test for an open port: %v", all)
		}
		opposite, kind, want := way{toClients: !w.toClients, appsFiles: w.appsFiles}, proxy.ClientTLS, "it does not speak TLS, and this address does"
		switch {
		case w.toServers && !w.toClients:
			want = "it speaks TLS, and this address does not"
		case !w.toClients:
			kind, want = proxy.Encrypted, ""
		}
		if conn, err := opposite.at(t, p.Addresses()[0]).Dial(t.Context()); err == nil {
			_, _ = conn.Write([]byte("ruok?"))
			_, _ = io.ReadAll(conn)
			conn.Close()
		}
		awaitClosed(t, p)
		if all := n.all(); len(all) != 1 || all[0].Kind != kind || !strings.Contains(all[0].Detail, want) {
			t.Errorf("incidents %+v, want %s: %s", all, kind, want)
		}
		if !w.toClients {
			return
		}
		distrusts := way{toClients: true, appsFiles: w.clientFiles}
		if _, err := distrusts.at(t, p.Addresses()[0]).Dial(t.Context()); err == nil {
			t.Error("a client accepts a certificate of an unknown CA")
		}
		awaitClosed(t, p)
		config := &tls.Config{ServerName: "127.0.0.1"}
		if err := tls.Client(&openSSL{Conn: must.Get(net.Dial("tcp", p.Addresses()[0]))(t)}, config).HandshakeContext(t.Context()); err == nil {
			t.Error("a client accepts a certificate of an unknown CA")
		}
		awaitClosed(t, p)
		for _, i := range n.all()[1:] {
			if !strings.Contains(i.Detail, "it does not accept zkbench's certificate") {
				t.Errorf("incident %+v", i)
			}
		}
		if n := len(n.all()); n != 3 {
			t.Errorf("%d incidents, want 3", n)
		}
	})
}

// openSSL is a connection whose client refuses a certificate as OpenSSL does with TLS 1.3: by an alert that is not encrypted.
type openSSL struct {
	net.Conn
	greeted bool
}

func (c *openSSL) Write(p []byte) (int, error) {
	if c.greeted {
		unknownCA := []byte{21, 3, 3, 0, 2, 2, 48}
		_, err := c.Conn.Write(unknownCA)
		return len(p), errors.Join(err, c.Close())
	}
	c.greeted = true
	return c.Conn.Write(p)
}

// A client that is silent instead of a handshake is given up in the end, and others are served meanwhile.
func TestClientThatNeverFinishesItsHandshake(t *testing.T) {
	onEveryWay(t, func(t *testing.T, w *way) {
		if !w.toClients {
			t.Skip("without TLS, there is no handshake")
		}
		p, _ := w.start(t, w.serve(t, echo))
		silent := must.Get(net.Dial("tcp", p.Addresses()[0]))(t)
		defer silent.Close()
		if got := w.converse(t, p.Addresses()[0], []byte("ruok"), 4); string(got) != "ruokfarewell" {
			t.Errorf("another client receives %q", got)
		}
		if s := p.Stats(); s.Open == 0 || s.Incidents[proxy.ClientTLS] > 0 {
			t.Errorf("the silent client was given up before another one was served: %+v", s)
		}
		p.Close() // returns although the handshake has not finished
	})
	synctest.Test(t, func(t *testing.T) {
		_, server := dial.Pipe()
		before := time.Now()
		n := &noted{}
		err := proxy.Handshake(t.Context(), server, proxy.Config{ToClients: &tls.Config{}, Observer: n})
		if after := time.Since(before); !errors.Is(err, context.DeadlineExceeded) || after != 10*time.Second || !strings.Contains(n.all()[0].Detail, "within 10s") {
			t.Errorf("after %s: %v, reported as %v", after, err, n.all())
		}
	})
}

// Many clients at a time are served, and each gets its own bytes.
func TestManyConnections(t *testing.T) {
	onEveryWay(t, func(t *testing.T, w *way) {
		p, n := w.start(t, w.serve(t, echo))
		var clients sync.WaitGroup
		for i := range 100 {
			clients.Go(func() {
				sent := strings.Repeat(fmt.Sprintf("client %d ", i), 1000)
				if got := w.converse(t, p.Addresses()[0], []byte(sent), 1<<20); string(got) != sent+"farewell" {
					t.Errorf("client %d receives %d bytes, and not its own %d", i, len(got), len(sent))
				}
			})
		}
		clients.Wait()
		awaitClosed(t, p)
		if s := p.Stats(); s.Connections != 100 || s.Incidents[proxy.ServerTLS]+s.Incidents[proxy.ClientTLS] > 0 {
			t.Errorf("%+v, incidents %v", s, n.all())
		}
	})
}
