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

// doorkeeper closes the first sessions' connections that it accepts, answers srvr with a text, and lets all others through
// to a server.
func doorkeeper(t *testing.T, closes int32, srvr, backend string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	var sessions atomic.Int32
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
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
			}()
		}
	}()
	return listener.Addr().String()
}

// A server that has no connection left closes every one that it accepts. The client library would try for ever.
func TestConnectNamesALimitOfConnections(t *testing.T) {
	addr := doorkeeper(t, 1000, srvr, "")
	_, err := ensemble.Connect(t.Context(), addr, wire.NewLedger(time.Now()), nil)
	if err == nil || !strings.Contains(err.Error(), "maxClientCnxns") {
		t.Errorf("error = %v, want it to name the limit", err)
	}
}

// A server without a leader closes connections, too, for as long as an election takes.
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
