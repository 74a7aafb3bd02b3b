package ensemble_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

// fakeServer closes the connections of the first sessions, answers srvr with a text, and forwards all other connections to a
// server.
func fakeServer(t *testing.T, closes int32, srvr, backend string) string {
	t.Helper()
	var sessions atomic.Int32
	return ensembletest.Listen(t, func(conn net.Conn) {
		if head := answerSrvr(conn, srvr); head != nil && sessions.Add(1) > closes {
			forward(io.MultiReader(bytes.NewReader(head), conn), conn, backend)
		}
	})
}

// answerSrvr answers srvr with a text, and returns the beginning of any other request.
func answerSrvr(conn net.Conn, srvr string) []byte {
	head := make([]byte, 4)
	_, _ = io.ReadFull(conn, head)
	if string(head) == "srvr" {
		_, _ = io.WriteString(conn, srvr)
		return nil
	}
	return head
}

// forward copies a client's requests to a server, and the server's answers back.
func forward(requests io.Reader, conn net.Conn, backend string) {
	server, err := net.Dial("tcp", backend)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(server, requests) }()
	_, _ = io.Copy(conn, server)
}

// A server without a free connection closes all that it accepts, also those that ask for its status. The client library alone
// would retry without end, and also at a server that serves but closes connections for an unknown reason.
func TestConnectNamesALimitOfConnections(t *testing.T) {
	for name, answer := range map[string]string{"no answer": "", "it serves": srvr} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := fakeServer(t, 1000, answer, "")
			_, err := ensemble.Connect(t.Context(), ensemble.Server{Addr: addr}, wire.NewLedger(time.Now()), nil)
			if err == nil || !strings.Contains(err.Error(), "maxClientCnxns") || !strings.Contains(err.Error(), addr+" closes") {
				t.Errorf("error = %v, want it to name the limit and the server", err)
			}
		})
	}
}

// closed dials a server that serves but closes the connections of sessions.
type closed struct{}

func (closed) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := dial.Pipe()
	go func() { answerSrvr(server, srvr); server.Close() }()
	return client, nil
}

// A deadline may come before the server is asked again, as on a busy machine. An interrupt says nothing about the server.
func TestConnectNamesALimitOfConnectionsAtADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := ensemble.Server{Addr: "192.0.2.1:2181", Dialer: closed{}}
		connect := func(ctx context.Context) error {
			_, err := ensemble.Connect(ctx, server, wire.NewLedger(time.Now()), nil)
			return err
		}
		const late = 1500 * time.Millisecond // the server has been asked once
		deadline, cancel := context.WithTimeout(t.Context(), late)
		defer cancel()
		if err := connect(deadline); err == nil || !strings.Contains(err.Error(), server.Addr+" closes") {
			t.Errorf("error = %v, want it to name the limit and the server", err)
		}
		interrupted, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(late, interrupt)
		if err := connect(interrupted); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want the interrupt", err)
		}
		time.Sleep(time.Minute) // for the client library, which is closing
	})
}

// exhausted dials without files.
type exhausted struct{}

func (exhausted) DialContext(context.Context, string, string) (net.Conn, error) {
	return nil, syscall.EMFILE
}

// A limit of this process ends the attempt at once: the client library would try again without end, as if the server were down.
func TestConnectNamesAnOwnLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := ensemble.NewLink(wire.NewLedger(time.Now()))
		for _, c := range []ensemble.SessionConfig{{}, {Link: link}} {
			c.Servers = []ensemble.Server{{Addr: "192.0.2.1:2181", Dialer: exhausted{}}}
			began := time.Now() // in virtual time
			_, err := ensemble.OpenSession(t.Context(), c)
			if waited := time.Since(began); !errors.Is(err, dial.ErrOwnLimit) || waited > 0 {
				t.Errorf("after %s: %v", waited, err)
			}
		}
		time.Sleep(time.Minute) // for the client library, which is closing
	})
}

// A server without a leader also closes connections, until a leader is elected. By the time that it is asked why, it may have
// one.
func TestConnectWaitsForAnElection(t *testing.T) {
	backend := ensembletest.Embedded(t, embedded.Config{}).Addr()
	for name, tt := range map[string]struct {
		closes int32
		answer string
	}{
		"it goes on":        {4, "This ZooKeeper instance is not currently serving requests\n"},
		"it is over":        {3, srvr},
		"it cannot be seen": {3, "srvr is not executed because it is not in the whitelist.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := fakeServer(t, tt.closes, tt.answer, backend)
			conn := must.Get(ensemble.Connect(t.Context(), ensemble.Server{Addr: addr}, wire.NewLedger(time.Now()), nil))(t)
			conn.Close()
		})
	}
}

// The server that refuses a session is asked why. It need not be the session's first one.
func TestConnectAsksTheServerThatRefuses(t *testing.T) {
	t.Parallel()
	backend := ensembletest.Embedded(t, embedded.Config{}).Addr()
	full := fakeServer(t, 1000, "", "")
	electing := fakeServer(t, 3, "This ZooKeeper instance is not currently serving requests\n", backend)
	down := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	down.Close()
	open := func(servers ...string) error {
		link := ensemble.NewLink(wire.NewLedger(time.Now()))
		conn, err := ensemble.OpenSession(t.Context(), ensemble.SessionConfig{Servers: ensembletest.At(servers...), Link: link})
		if err == nil {
			conn.Close()
		}
		return err
	}
	if err := open(down.Addr().String(), electing); err != nil {
		t.Errorf("while a leader was elected: %v", err)
	}
	if err := open(down.Addr().String(), full); err == nil || !strings.Contains(err.Error(), full+" closes") {
		t.Errorf("out of connections: error %v, want it to name %s", err, full)
	}
}

func TestConnectHeedsItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ensemble.Connect(ctx, ensemble.Server{Addr: "127.0.0.1:1"}, wire.NewLedger(time.Now()), nil); err == nil {
		t.Error("connected to nothing")
	}
}
