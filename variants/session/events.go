package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// ErrUnmonitored is returned by [Session.Subscribe] if no monitor observes the session.
var ErrUnmonitored = errors.New("no monitor observes the session's events")

// Events holds the events of a session until they are taken, in the order in which the client library received them. It is for
// clients with so many watches that they cannot wait for each of them. It has the notifications of all watches, and two
// events of type zk.EventSession: zk.StateDisconnected when the connection is lost, and zk.StateHasSession when it is made
// again. Its methods may be called concurrently.
//
// When the connection is made again, the client library sends its watches to the server, and the server answers with what
// the client has missed. That is not certain if a request overtakes the watches: see [Session.Overtakes].
type Events struct {
	more chan struct{} // capacity 1: receives after an event has been added

	mu    sync.Mutex
	queue []zk.Event
}

// Subscribe returns the session's events from now on. They are kept until they are taken, so the caller must take them for as
// long as the session lives.
func (s *Session) Subscribe() (*Events, error) {
	m := s.monitor
	if m == nil {
		return nil, ErrUnmonitored
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	events := &Events{more: make(chan struct{}, 1)}
	m.events = append(m.events, events)
	return events, nil
}

func (e *Events) add(event zk.Event) {
	e.mu.Lock()
	e.queue = append(e.queue, event)
	e.mu.Unlock()
	select {
	case e.more <- struct{}{}:
	default:
	}
}

// Pending reports whether there is an event to take. It may be called on nil, which has none. The client library passes on a
// notification before it returns from any request that the server answered later.
func (e *Events) Pending() bool {
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.queue) > 0
}

// Take returns the events since the last call.
func (e *Events) Take() []zk.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	taken := e.queue
	e.queue = nil
	return taken
}

// AwaitEvents waits until there is an event to take, or until the timer fires, which may be nil.
func (s *Session) AwaitEvents(ctx context.Context, events *Events, timer <-chan time.Time) error {
	defer s.report(&Wait{events: events})()
	for !events.Pending() {
		select {
		case <-events.more:
		case <-timer:
			return nil
		case <-s.lost:
			return ErrSessionLost
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
