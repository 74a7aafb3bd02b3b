package runner_test

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants/catalog"
)

// When a server refuses connections, one client finds out, and no others begin.
func TestOneRefusalIsEnough(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var accepted atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			conn.Close()
		}
	}()
	const clients, tries = 400, 3 // of each client: two before it is found out, and one to ask why
	servers := []ensemble.Server{{ID: 1, Name: "zk1", Addr: listener.Addr().String()}}
	_, _, err = runner.OpenClients(t.Context(), servers, catalog.Recipes()[0], catalog.Recipes()[0].Variants[0], "/room", clients)
	if err == nil || !strings.Contains(err.Error(), "maxClientCnxns") || !strings.Contains(err.Error(), "on zk1") {
		t.Errorf("error = %v, want it to name the limit and the server", err)
	}
	if n := accepted.Load(); n > clients*tries/2 {
		t.Errorf("%d connections were tried, as if each of %d clients had to find out", n, clients)
	}
}
