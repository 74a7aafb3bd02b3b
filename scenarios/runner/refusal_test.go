package runner_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants/catalog"
)

// refusing is a server that ends each connection, and counts them.
type refusing struct{ accepted atomic.Int64 }

func (r *refusing) DialContext(context.Context, string, string) (net.Conn, error) {
	r.accepted.Add(1)
	client, server := dial.Pipe()
	return client, server.Close()
}

// When a server refuses connections, one client finds out, and no others begin.
func TestOneRefusalIsEnough(t *testing.T) {
	bubble(t, func(t *testing.T, _ *embedded.Ensemble) {
		const clients, tries = 400, 3 // of each client: two before it is found out, and one to ask why
		var server refusing
		servers := []ensemble.Server{{ID: 1, Name: "zk1", Addr: "192.0.2.2:2181", Dialer: &server}}
		_, _, err := runner.OpenClients(t.Context(), servers, catalog.Recipes()[0], catalog.Recipes()[0].Variants[0], "/room", clients)
		if err == nil || !strings.Contains(err.Error(), "maxClientCnxns") || !strings.Contains(err.Error(), "on zk1") {
			t.Errorf("error = %v, want it to name the limit and the server", err)
		}
		if n := server.accepted.Load(); n > clients*tries/2 {
			t.Errorf("%d connections were tried, as if each of %d clients had to find out", n, clients)
		}
	})
}
