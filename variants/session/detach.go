package session

import (
	"context"
	"time"
)

// cleanupTimeout is how long a client that gives up keeps trying to remove its znodes. It is longer than any session timeout
// that servers grant by default: at its end, either the work is done or the session is lost.
const cleanupTimeout = time.Minute

// grace is how long a caller whose context has ended waits for the clean-up, which takes one round trip while the
// session is up. A session that does not answer must not keep the caller.
const grace = time.Second

// Run runs op when all earlier operations of the handle have ended. The caller gets control back when its context ends,
// although the client library's own calls cannot be interrupted: op must return soon after that, unless a call to the
// server holds it up. In that case Run returns the context's error, and op continues in the background; the next operation
// waits for it. If op succeeds after all, undo takes back what it did; a nil undo does nothing.
func Run[T any](ctx context.Context, s *Session, op func(context.Context) (T, error), undo func(T)) (T, error) {
	var value, zero T
	var err error
	select {
	case s.executor <- struct{}{}:
	case <-ctx.Done():
		return zero, ctx.Err()
	}
	done, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer func() { <-s.executor }()
		value, err = op(ctx)
		select {
		case done <- struct{}{}:
		case <-left:
			if err == nil && undo != nil {
				undo(value)
			}
		}
	}()
	select {
	case <-done:
		return value, err
	case <-ctx.Done():
	}
	select {
	case <-done:
		return value, err
	case <-time.After(grace):
		close(left)
		return zero, ctx.Err()
	}
}

// Do is [Run] for an operation that returns only an error. undo may be nil.
func (s *Session) Do(ctx context.Context, op func(context.Context) error, undo func()) error {
	_, err := Run(ctx, s, func(ctx context.Context) (struct{}, error) { return struct{}{}, op(ctx) }, func(struct{}) {
		if undo != nil {
			undo()
		}
	})
	return err
}

// Cleanup returns a context for undoing things after ctx has ended.
func Cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
}
