package conformance_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// errCut is what the operating system says when a connection is gone.
var errCut = &net.OpError{Op: "write", Net: "tcp", Err: errors.New("cut by the test")}

// cable is a connection that can be unplugged for good, or frozen for a while.
type cable struct {
	mu        sync.Mutex
	conns     []net.Conn
	unplugged bool
	frozen    chan struct{} // closed when it thaws
}

func (c *cable) wrap(conn net.Conn) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unplugged {
		conn.Close()
		return nil, errCut
	}
	c.conns = append(c.conns, conn)
	return &cableConn{Conn: conn, cable: c}, nil
}

// cabled opens a session whose connection the test can unplug, or freeze.
func cabled(t testing.TB, e ensemble.Ensemble, timeout time.Duration) (*client, *cable) {
	t.Helper()
	cable := &cable{}
	return connect(t, e.Servers()[0], timeout, cable.wrap), cable
}

func (c *cable) unplug() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unplugged = true
	for _, conn := range c.conns {
		conn.Close()
	}
}

func (c *cable) replug() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unplugged = false
}

func (c *cable) freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen = make(chan struct{})
}

func (c *cable) thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.frozen)
	c.frozen = nil
}

// mustTimeOut makes a call while the server is silent: the caller must get control back all the same.
func (c *cable) mustTimeOut(t testing.TB, what string, call func(context.Context) error) {
	t.Helper()
	c.freeze()
	defer c.thaw()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%s at a silent server returned %v, want context.DeadlineExceeded", what, err)
	}
}

type cableConn struct {
	net.Conn
	cable *cable
}

func (c *cableConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.cable.mu.Lock()
	frozen := c.cable.frozen
	c.cable.mu.Unlock()
	if frozen != nil {
		select {
		case <-frozen:
		case <-time.After(patience):
		}
	}
	return n, err
}

// embeddedServer returns the server of a venue where a fault can be injected at an exact request. Elsewhere the test is
// skipped.
func embeddedServer(t testing.TB, v venue) *embedded.Ensemble {
	t.Helper()
	server, ok := v.Ensemble.(*embedded.Ensemble)
	if !ok {
		t.Skip("faults at an exact request need the embedded server")
	}
	return server
}

// inject makes a client's next request of a kind fail.
func inject(server *embedded.Ensemble, c *client, op wire.Opcode, do embedded.Action) *embedded.Trap {
	return server.Inject(embedded.Fault{Session: c.conn.SessionID(), Op: op, Do: do})
}

func hasFired(trap *embedded.Trap) bool {
	select {
	case <-trap.Fired():
		return true
	default:
		return false
	}
}

func mustHaveFired(t testing.TB, traps ...*embedded.Trap) {
	t.Helper()
	for _, trap := range traps {
		if !hasFired(trap) {
			t.Fatal("the connection was not cut: the test tests nothing")
		}
	}
}
