package variants

import (
	"context"

	"github.com/go-zookeeper/zk"
)

type waitingKey struct{}

// WithWaiting returns a context in which observe is called whenever [Await] begins to wait, and again when it has
// ended: a runner that conducts participants step by step has to know which of them have nothing left to do.
func WithWaiting(ctx context.Context, observe func()) context.Context {
	return context.WithValue(ctx, waitingKey{}, observe)
}

// Await waits for a watch to fire. It does not look at the event: what matters is read again, never guessed. All
// variants wait by this function or by the two below.
func Await(ctx context.Context, lost <-chan struct{}, watch <-chan zk.Event) error {
	return AwaitAny(ctx, lost, watch, nil)
}

// AwaitAny waits for the first of two watches to fire; a nil one never does.
func AwaitAny(ctx context.Context, lost <-chan struct{}, one, other <-chan zk.Event) error {
	_, err := await(ctx, lost, one, other)
	return err
}

// AwaitEvent waits for a watch to fire, and returns what it said, for the few who can go by that: a deletion, say, is a
// deletion even if the znode is there again.
func AwaitEvent(ctx context.Context, lost <-chan struct{}, watch <-chan zk.Event) (zk.Event, error) {
	event, err := await(ctx, lost, watch, nil)
	if err == nil && event.Type == zk.EventNotWatching { // the client library gave the watch up with the session
		err = ErrSessionLost
	}
	return event, err
}

// Fired tells whether a watch has. The client passes on a notification before it returns from any request that the
// server answered later: so a watch that has not fired proves that, as far as this session has seen, nothing happened.
// Ask no more once it has: the client closes the channel only after it has sent the event, so that for a moment a watch
// whose event has been received looks as if it had not fired.
func Fired(watch <-chan zk.Event) bool {
	select {
	case <-watch:
		return true
	default:
		return false
	}
}

// await does not tell of a wait if a watch has fired already: whoever conducts would take it to be at rest.
func await(ctx context.Context, lost <-chan struct{}, one, other <-chan zk.Event) (zk.Event, error) {
	select {
	case event := <-one:
		return event, nil
	case event := <-other:
		return event, nil
	default:
	}
	if observe, ok := ctx.Value(waitingKey{}).(func()); ok {
		observe()
		defer observe()
	}
	select {
	case event := <-one:
		return event, nil
	case event := <-other:
		return event, nil
	case <-lost:
		return zk.Event{}, ErrSessionLost
	case <-ctx.Done():
		return zk.Event{}, ctx.Err()
	}
}
