package session

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// cleanupTimeout is how long a client that gives up keeps trying to remove its znodes. It is longer than any session timeout
// that servers grant by default: at its end, either the work is done or the session is lost.
const cleanupTimeout = time.Minute

// grace is how long a caller whose context has ended waits for the clean-up, which takes one round trip while the
// session is up. A session that does not answer must not keep the caller.
const grace = time.Second

// Run runs op when all earlier operations of the handle have ended, also with a context that has ended before, unless it would have to
// wait. The caller gets control back when its context ends, although the client library's own calls cannot be interrupted: op must return
// soon after that, unless a call to the server holds it up. In that case Run returns the context's error, and op continues in the
// background; the next operation waits for it. If op succeeds after all, undo takes back what it did, with a context of [Cleanup]; a nil
// undo does nothing. Its error is dropped, because the caller has left.
func Run[T any](
	ctx context.Context, s *Session, op func(context.Context) (T, error), undo func(context.Context, T) error,
) (T, error) {
	var value, zero T
	var err error
	select {
	case s.executor <- struct{}{}: // even if ctx has ended: chance must not decide whether a lock is released
	default:
		select {
		case s.executor <- struct{}{}:
		case <-ctx.Done():
			return zero, ctx.Err()
		}
	}
	done, left := make(chan struct{}), make(chan struct{})
	go func() {
		value, err = op(ctx)
		select {
		case done <- struct{}{}:
		case <-left:
			defer func() { <-s.executor }()
			if err == nil && undo != nil {
				ctx, cancel := Cleanup(ctx)
				defer cancel()
				_ = undo(ctx, value)
			}
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
		select {
		case <-done:
		case <-time.After(grace):
			close(left)
			return zero, ctx.Err()
		}
	}
	<-s.executor // here, not in the goroutine: the caller's next operation, even with a context that has ended, must find it free
	return value, err
}

// Do is [Run] for an operation that returns only an error. undo may be nil.
func (s *Session) Do(ctx context.Context, op, undo func(context.Context) error) error {
	_, err := Run(ctx, s, func(ctx context.Context) (struct{}, error) { return struct{}{}, op(ctx) },
		func(ctx context.Context, _ struct{}) error {
			if undo == nil {
				return nil
			}
			return undo(ctx)
		})
	return err
}

// RunWhileAlive is [Run] for an operation that must not begin when its context has ended or the session is lost. It returns
// ErrSessionLost if the session is lost when the operation ends: see [Session.Alive].
func RunWhileAlive[T any](
	ctx context.Context, s *Session, op func(context.Context) (T, error), undo func(context.Context, T) error,
) (T, error) {
	return Run(ctx, s, func(ctx context.Context) (value T, err error) {
		err = s.whileAlive(ctx, func(ctx context.Context) error {
			value, err = op(ctx)
			return err
		})
		return value, err
	}, undo)
}

// DoWhileAlive is [RunWhileAlive] for an operation that returns only an error. undo may be nil.
func (s *Session) DoWhileAlive(ctx context.Context, op, undo func(context.Context) error) error {
	return s.Do(ctx, func(ctx context.Context) error { return s.whileAlive(ctx, op) }, undo)
}

func (s *Session) whileAlive(ctx context.Context, op func(context.Context) error) error {
	if err := errors.Join(ctx.Err(), s.Alive()); err != nil {
		return err
	}
	return cmp.Or(op(ctx), s.Alive())
}

// UntilLost returns a context that also ends when lost is closed, as by a loss of a session, with the cause that why returns then.
func UntilLost(ctx context.Context, lost <-chan struct{}, why func() error) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-lost:
			cancel(why())
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Cleanup returns a context for undoing things after ctx has ended.
func Cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
}

// Withdraw gives something up after err, even if ctx has ended, and returns err. If it could not be given up, that error is joined
// to it, except for the loss of the session: what the session held goes with it.
func Withdraw(ctx context.Context, err error, giveUp func(context.Context) error) error {
	ctx, cancel := Cleanup(ctx)
	defer cancel()
	if left := giveUp(ctx); left != nil && !errors.Is(left, ErrSessionLost) {
		return errors.Join(err, left)
	}
	return err
}
