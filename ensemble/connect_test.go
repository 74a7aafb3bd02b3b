package ensemble_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// doorkeeper closes the connections of the first sessions, answers srvr with a text, and forwards all other connections to a
// server.
func doorkeeper(t *testing.T, closes int32, srvr, backend string) string {
	t.Helper()
	var sessions atomic.Int32
	return ensembletest.Listen(t, func(conn net.Conn) {
		head := make([]byte, 4)
		_, _ = io.ReadFull(conn, head)
		if string(head) == "srvr" {
			_, _ = io.WriteString(conn, srvr)
			return
		}
		if sessions.Add(1) <= closes {
			return
		}
		server, err := net.Dial("tcp", backend)
		if err != nil {
			return
		}
		defer server.Close()
		_, _ = server.Write(head)
		go func() { _, _ = io.Copy(server, conn) }()
		_, _ = io.Copy(conn, server)
	})
}

// A server without a free connection closes all that it accepts. The client library alone would retry without end.
func TestConnectNamesALimitOfConnections(t *testing.T) {
	addr := doorkeeper(t, 1000, srvr, "")
	_, err := ensemble.Connect(t.Context(), addr, wire.NewLedger(time.Now()), nil)
	if err == nil || !strings.Contains(err.Error(), "maxClientCnxns") {
		t.Errorf("error = %v, want it to name the limit", err)
	}
}

// A server without a leader also closes connections, until a leader is elected.
func TestConnectWaitsForAnElection(t *testing.T) {
	backend := ensembletest.Embedded(t, embedded.Config{}).Addr()
	addr := doorkeeper(t, 3, "This ZooKeeper instance is not currently serving requests\n", backend)
	conn, err := ensemble.Connect(t.Context(), addr, wire.NewLedger(time.Now()), nil)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

func TestConnectHeedsItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ensemble.Connect(ctx, "127.0.0.1:1", wire.NewLedger(time.Now()), nil); err == nil {
		t.Error("connected to nothing")
	}
}
