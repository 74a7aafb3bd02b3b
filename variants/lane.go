package variants

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// cleanupTimeout is how long a participant that gives up keeps trying to remove what it created: longer than any
// session timeout that servers grant by default, so that it ends with the work done or with the session lost.
const cleanupTimeout = time.Minute

// grace is how long a caller whose context has ended waits for the clean-up, which takes one round trip while the
// session is up. A session that does not answer must not keep the caller.
const grace = time.Second

// Lane runs the operations of one client one after another, and gives the caller of each back control when its context
// ends, although the ZooKeeper client's own calls cannot be interrupted. An operation whose caller has left keeps the
// lane until it has cleaned up, so that the next one finds a clean slate.
type Lane chan struct{}

// NewLane returns a free lane.
func NewLane() Lane { return make(Lane, 1) }

// Run runs op on the lane. op must itself return soon after ctx has ended, unless a call to the server holds it up; in
// that case Run returns the context's error, and should op succeed after all, undo takes back what it did.
func Run[T any](ctx context.Context, lane Lane, op func(context.Context) (T, error), undo func(T)) (T, error) {
	var zero T
	select {
	case lane <- struct{}{}:
	case <-ctx.Done():
		return zero, ctx.Err()
	}
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome)
	left := make(chan struct{})
	go func() {
		defer func() { <-lane }()
		value, err := op(ctx)
		select {
		case done <- outcome{value, err}:
		case <-left:
			if err == nil {
				undo(value)
			}
		}
	}()
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o.value, o.err
	case <-time.After(grace):
		close(left)
		return zero, ctx.Err()
	}
}

// Do is [Run] for what yields nothing but an error. undo is nil where nothing has to be taken back.
func Do(ctx context.Context, lane Lane, op func(context.Context) error, undo func()) error {
	_, err := Run(ctx, lane, func(ctx context.Context) (struct{}, error) { return struct{}{}, op(ctx) }, func(struct{}) {
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

// retryPause is how long to wait before asking again a client that says at once that it has no connection.
const retryPause = 50 * time.Millisecond

// Retry repeats an operation while its outcome is unknown, until ctx has ended or the session is lost, which is
// reported as ErrSessionLost. The operation must be one that may take effect twice without harm.
func Retry(ctx context.Context, lost <-chan struct{}, op func() error) error {
	for {
		err := op()
		switch {
		case errors.Is(err, zk.ErrSessionExpired):
			return ErrSessionLost
		case !OutcomeUnknown(err):
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w while the connection was down (%w)", ctx.Err(), err)
		case <-lost:
			return ErrSessionLost
		case <-time.After(retryPause):
		}
	}
}
