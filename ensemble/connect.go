package ensemble

import (
	"context"
	"fmt"
	"io"
	"log"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// SessionTimeout is what zkbench asks for: long enough that a stalled machine does not end a measurement. Servers
// clamp it to 20 ticks, and the ledger has what was granted.
const SessionTimeout = 30 * time.Second

// Note: the client makes two buffers of 1.5 MB for each session, and they are best left alone. The kernel does not back
// them with memory until they are touched, so that 2,000 sessions take about 60 MB. Asking for a smaller one makes the
// client drop the first, the collector reuse it, and reuse means writing zeros: 2,000 sessions then took 1,600 MB.

// Connect opens one session, pinned to one server, and returns when it exists. Everything it sends and receives is
// booked in ledger. observe, if not nil, is called with every event of the session and must not block.
//
// One session serves one participant: the server keys watches by connection, so that participants who shared one would
// share their notifications and hide the herd.
func Connect(ctx context.Context, addr string, ledger *wire.Ledger, observe func(zk.Event)) (*zk.Conn, error) {
	ready := make(chan struct{})
	var once sync.Once
	callback := func(e zk.Event) {
		if e.State == zk.StateHasSession {
			once.Do(func() { close(ready) })
		}
		if observe != nil {
			observe(e)
		}
	}
	conn, _, err := zk.Connect([]string{addr}, SessionTimeout,
		zk.WithDialer(ledger.Dial),
		zk.WithEventCallback(callback), // the event channel drops what nobody reads in time
		zk.WithLogger(log.New(io.Discard, "", 0)),
		zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	select {
	case <-ready:
		return conn, nil
	case <-ctx.Done():
		conn.Close()
		return nil, fmt.Errorf("no session at %s: %w", addr, context.Cause(ctx))
	}
}

// Fence makes the session's server catch up with the leader by a sync: the server sends a session what happened in order,
// so that notifications of what it had to catch up with have arrived before the reply. A leader answers its own sessions
// at once, although it may lag behind a follower that has applied the newest transaction already: whoever needs that one
// asks the ledger how far the session has come, and fences again.
func Fence(conn *zk.Conn) error {
	if _, err := conn.Sync(wire.FencePath); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}
