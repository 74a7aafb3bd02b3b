package ensembletest

import (
	"net"
	"testing"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/results/must"
)

// Listen calls serve with every connection to the address that it returns, until the test ends.
func Listen(t testing.TB, serve func(net.Conn)) (address string) {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	go dial.Accept(listener, func(error) {}, func(conn net.Conn) {
		go func() {
			defer conn.Close()
			serve(conn)
		}()
	})
	return listener.Addr().String()
}
