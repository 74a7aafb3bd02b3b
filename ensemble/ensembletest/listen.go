package ensembletest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Listen calls serve with every connection to the address that it returns, until the test ends.
func Listen(t testing.TB, serve func(net.Conn)) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// Stallable returns an address that leads to addr until stall is called. From then on it behaves like a server whose process
// is paused: connections are accepted and stay open, and no request is answered. stall may be called more than once.
func Stallable(t testing.TB, addr string) (address string, stall func()) {
	t.Helper()
	stalled := make(chan struct{})
	address = Listen(t, func(client net.Conn) {
		server, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		defer server.Close()
		go func() {
			defer client.Close()
			_, _ = io.Copy(client, stallable{server, stalled, t})
		}()
		_, _ = io.Copy(server, stallable{client, stalled, t})
	})
	return address, sync.OnceFunc(func() { close(stalled) })
}

// stallable is a connection that passes on nothing that it reads after stalled is closed.
type stallable struct {
	net.Conn
	stalled <-chan struct{}
	t       testing.TB
}

// Read blocks until the test ends if the connection is stalled.
func (s stallable) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if err != nil {
		return n, err
	}
	select {
	case <-s.stalled:
		<-s.t.Context().Done()
		return 0, io.EOF
	default:
		return n, nil
	}
}
