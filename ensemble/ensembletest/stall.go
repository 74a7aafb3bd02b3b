package ensembletest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Stallable returns an address that leads to addr, and stall, after which it behaves like a server whose process is
// paused: connections are accepted and stay open, and nothing is answered. stall may be called more than once.
func Stallable(t testing.TB, addr string) (address string, stall func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{stalled: make(chan struct{}), ended: make(chan struct{})}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.forward(client, addr) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		close(p.ended)
		serving.Wait()
	})
	return listener.Addr().String(), sync.OnceFunc(func() { close(p.stalled) })
}

// proxy passes bytes on until it is stalled.
type proxy struct{ stalled, ended chan struct{} }

// forward connects a client with a server until one of them hangs up or the test ends.
func (p *proxy) forward(client net.Conn, addr string) {
	defer client.Close()
	server, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer server.Close()
	hungUp := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			p.copy(way[1], way[0])
			hungUp <- struct{}{}
		}()
	}
	select {
	case <-hungUp:
	case <-p.ended:
	}
}

// copy passes on what arrives. Once stalled, it holds what it has for as long as the test takes.
func (p *proxy) copy(to io.Writer, from io.Reader) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		select {
		case <-p.stalled:
			<-p.ended
			return
		default:
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
