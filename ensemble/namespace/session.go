package namespace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// ErrSilent is wrapped by errors that say nothing about znodes: the server did not answer, so another one may.
var ErrSilent = errors.New("the server does not answer")

// Patience is how long a client that removes roots waits for an answer before it turns to another server.
const Patience = 5 * time.Second

// ask sends one request and waits for its answer until ctx ends or the client's patience does. The goroutine that it
// then leaves ends when the session is closed, which is the caller's next step.
func ask[T any](ctx context.Context, c Client, request func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	go func() {
		value, err := request()
		answers <- answer{value, err}
	}()
	patience := time.NewTimer(c.Patience)
	defer patience.Stop()
	var none T
	select {
	case a := <-answers:
		if connectionLost(a.err) {
			return none, fmt.Errorf("%w: %w", ErrSilent, a.err)
		}
		return a.value, a.err
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case <-patience.C:
		return none, fmt.Errorf("%w within %s", ErrSilent, c.Patience)
	}
}

func connectionLost(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrClosing) || errors.Is(err, zk.ErrNoServer) || errors.Is(err, zk.ErrSessionExpired)
}

// Connect opens a session on the server that is the first to grant one, so that servers that are down or silent cost no
// time. The caller closes it.
func Connect(ctx context.Context, servers []ensemble.Server) (Client, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, Patience, fmt.Errorf("%w within %s", ErrSilent, Patience))
	defer cancel()
	type result struct {
		conn *zk.Conn
		err  error
	}
	granted := make(chan result, len(servers))
	for _, s := range servers {
		go func() {
			conn, err := ensemble.Connect(ctx, s.Addr, wire.NewLedger(time.Now()), nil)
			granted <- result{conn, err}
		}()
	}
	var first *zk.Conn
	var errs []error
	for range servers {
		switch r := <-granted; {
		case r.err != nil:
			errs = append(errs, r.err)
		case first == nil:
			first = r.conn
			cancel()
		default: // granted in the same moment
			r.conn.Close()
		}
	}
	if first == nil {
		return Client{}, errors.Join(errs...)
	}
	return Client{Conn: first, Patience: Patience}, nil
}
