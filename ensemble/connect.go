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

// Note: the client makes two buffers of 1.5 MB for each session (see [SessionBuffers]). The kernel backs them with memory
// as they are touched, so that a session takes 50 kB, with the embedded server's part of it, and 4,000 sessions 210 MB.
// That holds for all sessions of a process under two conditions: what a frame has touched is given back (see thriftyConn),
// and buffers of earlier sessions are returned to the operating system before the next ones are opened, or else the
// runtime reuses them and fills them with zeros, which touches them whole.

// Connect opens one session, pinned to one server, and returns when it exists. Everything it sends and receives is
// booked in ledger. observe, if not nil, is called with every event of the session and must not block.
//
// One session serves one participant: the server keys watches by connection, so that participants who shared one would
// share their notifications and hide the herd.
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
		zk.WithEventCallback(callback), // the event channel drops what nobody reads in time
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
