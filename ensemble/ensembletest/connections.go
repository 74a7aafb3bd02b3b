package ensembletest

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// Connections returns how many client connections the servers have.
func Connections(t testing.TB, servers []ensemble.Server) int64 {
	t.Helper()
	var n int64
	for _, s := range servers {
		status, err := ensemble.Probe(t.Context(), s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		n += status.Sessions
	}
	return n
}

// AwaitConnections returns when the servers have no more client connections than most. A server that has answered a close
// request counts the connection until it reads that the client has hung up.
func AwaitConnections(t testing.TB, servers []ensemble.Server, most int64) {
	t.Helper()
	const patience = 30 * time.Second
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		n := Connections(t, servers)
		if n <= most {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d client connections after %s, want at most %d", n, patience, most)
		}
	}
}
