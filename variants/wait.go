package variants

import (
	"context"
	"sync"

	"github.com/go-zookeeper/zk"
)

type waitingKey struct{}

// WithWaiting returns a context in which observe is called with each wait that [Await] begins, and with nil when it has
// ended: a runner that lets participants act one by one has to know which of them have nothing left to do.
func WithWaiting(ctx context.Context, observe func(*Wait)) context.Context {
	return context.WithValue(ctx, waitingKey{}, observe)
}

// Wait is a wait for the first of two watches, either of which may be nil, that has begun.
type Wait struct {
	one, other <-chan zk.Event

	mu    sync.Mutex
	taken chan zk.Event // events that Fired has received in place of the waiting participant
}

// Fired reports whether one of the watches has fired, whether or not the participant already knows: on a busy machine it
// may take a while until it runs. It is exact once the session has received a reply from after the event, because the
// client library passes events on in the order in which it receives them. It may be called concurrently.
//
// Note: a channel cannot be looked into. The client library sends one event and closes the channel. So a channel that is
// closed has handed its event over, and an event that is received here is passed on to the participant.
func (w *Wait) Fired() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, watch := range []<-chan zk.Event{w.one, w.other} {
		select {
		case event, ok := <-watch:
			if ok {
				w.taken <- event
			}
			return true
		default:
		}
	}
	return len(w.taken) > 0
}

// received returns the event of a channel that was received from, which is closed if Fired was faster.
func (w *Wait) received(event zk.Event, ok bool) zk.Event {
	if ok {
		return event
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case event = <-w.taken:
	default:
	}
	return event
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

// Fired reports whether a watch has fired. The client passes on a notification before it returns from any request that the
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

// await does not report a wait for a watch that has already fired: the runner would count the participant as idle.
func await(ctx context.Context, lost <-chan struct{}, one, other <-chan zk.Event) (zk.Event, error) {
	select {
	case event := <-one:
		return event, nil
	case event := <-other:
		return event, nil
	default:
	}
	w := &Wait{one: one, other: other, taken: make(chan zk.Event, 2)}
	if observe, ok := ctx.Value(waitingKey{}).(func(*Wait)); ok {
		observe(w)
		defer observe(nil)
	}
	select {
	case event, ok := <-one:
		return w.received(event, ok), nil
	case event, ok := <-other:
		return w.received(event, ok), nil
	case event := <-w.taken:
		return event, nil
	case <-lost:
		return zk.Event{}, ErrSessionLost
	case <-ctx.Done():
		return zk.Event{}, ctx.Err()
	}
}
