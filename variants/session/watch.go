package session

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"
)

// Watch is a one-shot watch that a session has set. Its methods may be called concurrently.
//
// A watch counts as fired when the connection has been made again since it was set, because a reply that overtakes the
// watches on the new connection may hide changes that they have missed: the recipe reads again, which is always safe.
type Watch struct {
	events <-chan zk.Event
	again  <-chan struct{} // closed when the connection has been made again; nil if that is not observed
	// overtook reports whether the event may belong to a watch from before the last outage, on which the server has caught up
	// later. It then proves nothing.
	overtook bool
	stale    chan struct{} // closed by Invalidate

	mu    sync.Mutex
	fired bool
	event zk.Event // received by Fired in place of the client that waits, or by that client
}

// Invalidate makes the watch count as fired, as when the client itself changes the znode. It may be called on nil.
func (w *Watch) Invalidate() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !IsClosed(w.stale) {
		close(w.stale)
	}
}

// Fired reports whether the watch has fired, or must be assumed to have. It may be called on nil, which has not. The client
// library passes on a notification before it returns from any request that the server answered later. So as far as the session
// has seen, a watch that has not fired proves that nothing has happened.
func (w *Watch) Fired() bool {
	if w == nil {
		return false
	}
	return w.notified() || IsClosed(w.stale) || IsClosed(w.again)
}

// Moved reports whether the session's connection has been made again since the watch was set. The server may then lag
// behind the watch's notification: clients do not report the zxids of notifications when they connect. It may be called
// on nil.
func (w *Watch) Moved() bool { return w != nil && IsClosed(w.again) }

// IsClosed reports whether a channel on which nothing is sent is closed, such as [Session.Lost]. A nil channel is not.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// notified reports whether the notification has arrived, even if the client that waits for it has not run since.
//
// Note: the client library sends one event and closes the channel. So a closed channel has delivered its event, and an event
// that is received here is kept for the client.
func (w *Watch) notified() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case event, ok := <-w.events:
		w.keep(event, ok)
	default:
	}
	return w.fired
}

// take returns the event that was received from the channel, or the event that notified received before.
func (w *Watch) take(event zk.Event, ok bool) zk.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.keep(event, ok)
	return w.event
}

// The caller of keep holds the mutex.
func (w *Watch) keep(event zk.Event, ok bool) {
	w.fired = true
	if ok && (!w.overtook || event.Type == zk.EventNotWatching) {
		w.event = event
	}
}

// cases returns the cases of a select that waits for the watch. The channels of a nil watch are nil.
func (w *Watch) cases() [casesOfWatch]reflect.SelectCase {
	if w == nil {
		w = &Watch{}
	}
	return [casesOfWatch]reflect.SelectCase{receive(w.events), receive[struct{}](w.stale), receive(w.again)}
}

// casesOfWatch is how many cases a watch has in a select. The first one receives its event.
const casesOfWatch = 3

// Wait is a wait for the first of several watches, any of which may be nil, or for an event of the session.
type Wait struct {
	watches []*Watch
	events  *Events
}

// Fired reports whether the wait is over, even if the client that waits has not run since. It is exact once the session has
// received a reply from after the event, because the client library passes events on in the order in which it receives them.
func (w *Wait) Fired() bool {
	return slices.ContainsFunc(w.watches, (*Watch).Fired) || w.events.Pending()
}

// Await waits for the first of the watches to fire. A nil watch never fires. It does not return the event: a recipe reads again
// instead of guessing.
func (s *Session) Await(ctx context.Context, watches ...*Watch) error {
	_, err := s.await(ctx, &Wait{watches: slices.Clone(watches)}) // the runner looks at it while the caller may change its own
	return err
}

// AwaitEvent waits for a watch to fire and returns its event, for recipes that can rely on it: a deletion is a deletion
// even if the znode exists again. The event of a watch that only counts as fired has no type.
func (s *Session) AwaitEvent(ctx context.Context, watch *Watch) (zk.Event, error) {
	event, err := s.await(ctx, &Wait{watches: []*Watch{watch}})
	if err == nil && event.Type == zk.EventNotWatching { // the client library gave the watch up with the session
		err = ErrSessionLost
	}
	return event, err
}

func (s *Session) await(ctx context.Context, w *Wait) (zk.Event, error) {
	defer s.report(w)()
	event, err := s.awaitFirst(ctx, w)
	return event, cmp.Or(err, s.Alive()) // the watches of a session that is closed fire
}

// report makes a wait the session's current one, until end is called. It does not report a wait for a watch that has already
// fired: the runner would count the client as idle. Nor does it report a wait in the background.
func (s *Session) report(w *Wait) (end func()) {
	if s.background || w.Fired() {
		return func() {}
	}
	s.waits.Add(1)
	s.waiting.Store(w)
	return func() { s.waiting.Store(nil) }
}

func (s *Session) awaitFirst(ctx context.Context, w *Wait) (zk.Event, error) {
	for _, watch := range w.watches {
		if watch.Fired() {
			return watch.take(zk.Event{}, false), nil // it has no type if the watch only counts as fired
		}
	}
	cases := []reflect.SelectCase{receive(s.lost), receive(ctx.Done())}
	for _, watch := range w.watches {
		of := watch.cases()
		cases = append(cases, of[:]...)
	}
	chosen, value, ok := reflect.Select(cases)
	switch chosen {
	case 0:
		return zk.Event{}, ErrSessionLost
	case 1:
		return zk.Event{}, ctx.Err()
	}
	watch, of := (chosen-2)/casesOfWatch, (chosen-2)%casesOfWatch
	if of != 0 {
		return zk.Event{}, nil
	}
	event, _ := value.Interface().(zk.Event)
	return w.watches[watch].take(event, ok), nil
}

func receive[T any](from <-chan T) reflect.SelectCase {
	return reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(from)}
}
