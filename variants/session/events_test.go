package session_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

func subscribed(t *testing.T) (*session.Session, *session.Monitor, *session.Events) {
	t.Helper()
	m := session.NewMonitor(time.Hour)
	s := session.NewMonitoredSession(nil, m)
	events, err := s.Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	return s, m, events
}

// A client learns of each notification, and of a connection that is lost and made again, once.
func TestEvents(t *testing.T) {
	_, m, events := subscribed(t)
	changed := zk.Event{Type: zk.EventNodeDataChanged, Path: "/z"}
	lost, made := state(zk.StateDisconnected), state(zk.StateHasSession)
	for _, e := range []zk.Event{
		made, changed, state(zk.StateConnected), lost, lost, state(zk.StateConnecting), made, made, changed,
		{Type: zk.EventNotWatching, Path: "/z", State: zk.StateDisconnected},
	} {
		m.Observe(e)
	}
	if got, want := events.Take(), []zk.Event{changed, lost, made, changed}; !slices.Equal(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	if events.Pending() || len(events.Take()) > 0 {
		t.Error("the events can be taken again")
	}
}

// A client that subscribes while the connection is lost learns that it is made again.
func TestEventsOfALostConnection(t *testing.T) {
	m := session.NewMonitor(time.Hour)
	m.Observe(state(zk.StateDisconnected))
	events, err := session.NewMonitoredSession(nil, m).Subscribe()
	if err != nil {
		t.Fatal(err)
	}
	m.Observe(state(zk.StateHasSession))
	if got := events.Take(); len(got) != 1 || got[0].State != zk.StateHasSession {
		t.Errorf("events %v, want that the connection is made again", got)
	}
}

func TestSubscribeWantsAMonitor(t *testing.T) {
	if _, err := session.NewSession(nil, nil).Subscribe(); !errors.Is(err, session.ErrUnmonitored) {
		t.Errorf("Subscribe returned %v, want ErrUnmonitored", err)
	}
}

// A wait for events is reported until an event has come. It also ends with the session, the context or the timer.
func TestAwaitEvents(t *testing.T) {
	s, m, events := subscribed(t)
	done := make(chan error, 1)
	await := func(ctx context.Context, timer <-chan time.Time) *session.Wait {
		go func() { done <- s.AwaitEvents(ctx, events, timer) }()
		return awaitWait(t, s)
	}
	wait := await(t.Context(), nil)
	if wait.Fired() {
		t.Error("the wait has fired before an event came")
	}
	m.Observe(zk.Event{Type: zk.EventNodeDeleted, Path: "/z"})
	if err := <-done; err != nil || !wait.Fired() {
		t.Errorf("after an event: %v, fired: %v", err, wait.Fired())
	}
	if err := s.AwaitEvents(t.Context(), events, nil); err != nil {
		t.Errorf("a wait for an event that has come returned %v", err)
	}
	if _, begun := s.Waiting(); begun != 1 {
		t.Errorf("%d waits, want 1: the second was none", begun)
	}
	events.Take()
	timer := make(chan time.Time, 1)
	await(t.Context(), timer)
	if timer <- time.Now(); <-done != nil {
		t.Error("the timer ended the wait with an error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	await(ctx, nil)
	if cancel(); !errors.Is(<-done, context.Canceled) {
		t.Error("the context did not end the wait")
	}
	await(t.Context(), nil)
	m.Observe(state(zk.StateExpired))
	if err := <-done; !errors.Is(err, session.ErrSessionLost) {
		t.Errorf("the wait ended with %v, want ErrSessionLost", err)
	}
}
