package ensemble

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// SessionTimeout is the session timeout that zkbench asks for. It is long enough that a stalled machine does not end a
// measurement. Servers reduce it to 20 ticks; the ledger has the timeout that was granted.
const SessionTimeout = 30 * time.Second

// Note: the client makes two buffers of 1.5 MB for each session (see [SessionBuffers]), which the kernel backs with memory as
// they are touched. A session takes 50 kB, including the embedded server's part, and 4,000 sessions take 210 MB. That
// requires that the pages of big frames are given back (see thriftyConn), and that buffers of earlier sessions are returned
// to the operating system before new ones are opened: the runtime fills a buffer that it reuses with zeros.

// Connect opens one session, pinned to one server, and returns when it exists. All its frames are counted in ledger. observe,
// if not nil, is called with every event and must not block. Each participant has its own session: servers key watches by
// connection, so that participants with a common session would share notifications and hide the herd.
func Connect(ctx context.Context, addr string, ledger *wire.Ledger, observe func(zk.Event)) (*zk.Conn, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, context.Cause(ctx))
	}
	ready := make(chan struct{})
	var once sync.Once
	refusals := newRefusals()
	callback := func(e zk.Event) {
		refusals.observe(e.State)
		if e.State == zk.StateHasSession {
			once.Do(func() { close(ready) })
		}
		if observe != nil {
			observe(e)
		}
	}
	conn, _, err := zk.Connect([]string{addr}, SessionTimeout,
		zk.WithDialer(dialThrifty(ledger)),
		zk.WithEventCallback(callback), // the event channel drops events when it is full
		zk.WithLogger(log.New(io.Discard, "", 0)),
		zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	if err := awaitSession(ctx, addr, ready, refusals); err != nil {
		conn.Close()
		return nil, fmt.Errorf("no session at %s: %w", addr, err)
	}
	return conn, nil
}

func awaitSession(ctx context.Context, addr string, ready <-chan struct{}, refusals *refusals) error {
	for {
		select {
		case <-ready:
			return nil
		case <-refusals.enough:
			if err := explainRefusals(ctx, addr); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Fence makes the session's server catch up with the leader by a sync. Notifications of transactions up to there arrive before
// the reply. A leader answers syncs of its own sessions at once, although it may lag behind a follower that has applied the
// newest transaction. A caller that needs a certain transaction checks Ledger.LastZxid and repeats the fence.
func Fence(conn *zk.Conn) error {
	if _, err := conn.Sync(wire.FencePath); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

// enoughRefusals is how many connections in a row a server may close before a session exists. The client library retries
// once a second without end, and users learn within five seconds what is wrong.
const enoughRefusals = 2

// refusals counts the connections that a server closes before the session exists. One goroutine of the client calls it.
type refusals struct {
	n         int
	connected bool
	enough    chan struct{} // capacity 1; receives after every enoughRefusals in a row
}

func newRefusals() *refusals { return &refusals{enough: make(chan struct{}, 1)} }

func (r *refusals) observe(state zk.State) {
	switch state {
	case zk.StateConnected:
		r.connected = true
	case zk.StateHasSession:
		r.connected, r.n = false, 0
	case zk.StateDisconnected:
		if !r.connected {
			return
		}
		r.connected = false
		if r.n++; r.n%enoughRefusals == 0 {
			select {
			case r.enough <- struct{}{}:
			default:
			}
		}
	default:
	}
}

// explainRefusals returns why a server closes connections, or nil if its ensemble is electing a leader.
func explainRefusals(ctx context.Context, addr string) error {
	if _, err := Srvr(ctx, addr); errors.Is(err, ErrNotServing) {
		return nil
	}
	return fmt.Errorf("the server closed %d connections in a row before a session existed: it may be out of connections for this address (maxClientCnxns, 60 by default) or in all (maxCnxns): raise the limit there, or ask for fewer clients", enoughRefusals)
}
