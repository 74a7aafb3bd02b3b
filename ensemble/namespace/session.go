package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// ErrSilent is wrapped by the error of a request that the server did not answer. Another server may answer it.
var ErrSilent = errors.New("the server does not answer")

// Patience is how long a client of Connect waits for an answer.
const Patience = 5 * time.Second

// ask sends one request and waits for its answer, until ctx ends or the client's patience is over. The caller then closes the session,
// which ends the goroutine of the request, and must not use what the request assigns.
func (c Client) ask(ctx context.Context, request func() error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Patience, fmt.Errorf("%w within %s", ErrSilent, c.Patience))
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- request() }()
	select {
	case err := <-answer:
		lost := []error{zk.ErrConnectionClosed, zk.ErrClosing, zk.ErrNoServer, zk.ErrSessionExpired}
		if slices.ContainsFunc(lost, func(e error) bool { return errors.Is(err, e) }) {
			return fmt.Errorf("%w: %w", ErrSilent, err)
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c Client) multi(ctx context.Context, operations ...any) error {
	return c.ask(ctx, func() error { _, err := c.Conn.Multi(operations...); return err })
}

// Connect opens a session on the first server that grants one, without waiting for silent ones. The caller closes it.
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
			conn, err := ensemble.Connect(ctx, s, wire.NewLedger(time.Now()), nil)
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
		default: // another server has granted a session at the same time
			r.conn.Close()
		}
	}
	if first == nil {
		return Client{}, errors.Join(errs...)
	}
	return Client{Conn: first, Patience: Patience, ACL: servers[0].ACL()}, nil
}
