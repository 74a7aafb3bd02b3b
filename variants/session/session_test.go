package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/variants/session"
)

const patience = 10 * time.Second

func state(s zk.State) zk.Event { return zk.Event{Type: zk.EventSession, State: s} }

// The monitor reports a session as lost when it has expired, or when the server has been silent for too long, but not when the
// connection comes back in time.
func TestMonitor(t *testing.T) {
	for _, tt := range []struct {
		name    string
		timeout time.Duration
		events  []zk.Event
		want    bool
	}{
		{"nothing happened", time.Hour, nil, false},
		{"connected", time.Hour, []zk.Event{state(zk.StateHasSession)}, false},
		{"expired", time.Hour, []zk.Event{state(zk.StateHasSession), state(zk.StateExpired)}, true},
		{"expired twice", time.Hour, []zk.Event{state(zk.StateExpired), state(zk.StateExpired)}, true},
		{"authentication failed", time.Hour, []zk.Event{state(zk.StateAuthFailed)}, true},
		{"disconnected a moment ago", time.Hour, []zk.Event{state(zk.StateDisconnected)}, false},
		{"back again", time.Hour, []zk.Event{state(zk.StateDisconnected), state(zk.StateHasSession)}, false},
		{"expired, then a new session", time.Hour, []zk.Event{state(zk.StateExpired), state(zk.StateHasSession)}, true},
		{"a watch event says nothing", time.Hour, []zk.Event{{Type: zk.EventNodeDeleted, State: zk.StateExpired}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := session.NewMonitor(tt.timeout)
			for _, e := range tt.events {
				m.Observe(e)
			}
			if got := session.IsClosed(m.Lost()); got != tt.want {
				t.Errorf("lost = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestMonitorGivesUpOnASilentServer(t *testing.T) {
	m := session.NewMonitor(time.Hour)
	m.SetTimeout(3 * time.Millisecond)
	m.Observe(state(zk.StateDisconnected))
	select {
	case <-m.Lost():
	case <-time.After(patience):
		t.Error("a session without a connection was not taken to be lost")
	}
}

// The end of a session that its owner closes is not a loss, and starts no timer that would keep the session in memory.
func TestMonitorIsDismissed(t *testing.T) {
	for _, before := range [][]zk.Event{nil, {state(zk.StateDisconnected)}} {
		synctest.Test(t, func(t *testing.T) {
			m, s := session.NewMonitor(time.Hour), make(closer, 1)
			m.Guard(s)
			for _, e := range before {
				m.Observe(e)
			}
			m.Dismiss()
			m.Observe(state(zk.StateDisconnected))
			time.Sleep(2 * time.Hour) // of the test's own clock
			if session.IsClosed(m.Lost()) || len(s) > 0 {
				t.Errorf("after %v and dismissal: lost = %v, closed %d times; want neither", before, session.IsClosed(m.Lost()), len(s))
			}
		})
	}
}

// The server's answers are known outcomes; after all other errors the operation may have happened or not.
func TestOutcomeUnknown(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{zk.ErrNodeExists, false},
		{fmt.Errorf("create: %w", zk.ErrNoNode), false},
		{zk.ErrSessionExpired, false},
		{context.DeadlineExceeded, false}, // a net.Error, too
		{zk.ErrInvalidPath, false},
		{errors.New("unknown error: -125"), false}, // over quota, which the client library does not know
		{zk.ErrConnectionClosed, true},
		{io.EOF, true},
		{zk.ErrNoServer, true},
		{&net.OpError{Op: "write", Err: errors.New("broken pipe")}, true},
	} {
		if got := session.OutcomeUnknown(tt.err); got != tt.want {
			t.Errorf("OutcomeUnknown(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}

func TestRetry(t *testing.T) {
	for _, tt := range []struct {
		name     string
		outcomes []error // one per attempt
		want     error
		attempts int
	}{
		{"at once", []error{nil}, nil, 1},
		{"an answer is final", []error{zk.ErrNodeExists}, zk.ErrNodeExists, 1},
		{"until there is an answer", []error{zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrNoNode}, zk.ErrNoNode, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			attempts := 0
			repeated, err := session.NewSession(nil, nil).Retry(t.Context(), func(session.Conn) error {
				attempts++
				return tt.outcomes[attempts-1]
			})
			if !errors.Is(err, tt.want) || attempts != tt.attempts || repeated != (attempts > 1) {
				t.Errorf("%v after %d attempts (repeated: %v), want %v after %d", err, attempts, repeated, tt.want, tt.attempts)
			}
		})
	}
}

func TestRetryEnds(t *testing.T) {
	down := func(session.Conn) error { return zk.ErrConnectionClosed }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := session.NewSession(nil, nil).Retry(ctx, down); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v, want context.Canceled", err)
	}
	lost := make(chan struct{})
	close(lost)
	if _, err := session.NewSession(nil, lost).Retry(t.Context(), down); !errors.Is(err, session.ErrSessionLost) {
		t.Errorf("with a lost session: %v, want ErrSessionLost", err)
	}
}

// The caller of a stuck operation gets control back. If the operation succeeds later, it is undone, and the next operation
// waits for that.
func TestAbandonedOperationIsUndone(t *testing.T) {
	s := session.NewSession(nil, nil)
	stuck, undone := make(chan struct{}), make(chan int, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	stuckFirst, began := make(chan struct{}), make(chan struct{})
	go s.Do(t.Context(), func(context.Context) error { close(began); <-stuckFirst; return nil }, nil)
	<-began
	if _, err := session.Run(ctx, s, func(context.Context) (int, error) { return 0, nil }, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for a busy session: %v, want context.Canceled", err)
	}
	close(stuckFirst)
	ctx, cancel = context.WithCancel(t.Context())
	_, err := session.Run(ctx, s, func(context.Context) (int, error) { cancel(); <-stuck; return 7, nil },
		func(_ context.Context, v int) error { undone <- v; return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a stuck operation: %v, want context.Canceled", err)
	}
	close(stuck)
	got, err := session.Run(t.Context(), s, func(context.Context) (int, error) {
		select {
		case v := <-undone:
			return v, nil
		default:
			return 0, errors.New("the next operation began before the last one was undone")
		}
	}, nil)
	if err != nil || got != 7 {
		t.Errorf("got %d, %v; want the 7 that was undone", got, err)
	}
}

// A hold is given up once, a holder cannot acquire again, and a lost session does not get a grant.
func TestExclusive(t *testing.T) {
	broken := errors.New("broken")
	lost := make(chan struct{})
	given := 0
	var giveErr error
	e := session.NewExclusive(session.NewSession(nil, lost), func(context.Context) (session.Grant, error) { return session.Grant{}, nil },
		func(context.Context) error { given++; return giveErr })
	release := func(err error, want error, wantGiven int) {
		t.Helper()
		giveErr = err
		if err := e.Release(t.Context()); !errors.Is(err, want) || given != wantGiven {
			t.Errorf("Release returned %v after %d calls, want %v after %d", err, given, want, wantGiven)
		}
	}
	acquire := func(want error) {
		t.Helper()
		if _, err := e.Acquire(t.Context()); !errors.Is(err, want) {
			t.Errorf("Acquire returned %v, want %v", err, want)
		}
	}
	release(nil, nil, 0) // not held
	acquire(nil)
	acquire(session.ErrHeld)
	release(broken, broken, 1)
	acquire(session.ErrHeld) // it is held still
	release(session.ErrSessionLost, session.ErrSessionLost, 2)
	release(nil, nil, 2)
	close(lost)
	acquire(session.ErrSessionLost)
	release(nil, nil, 3) // given up by the failed Acquire
}

// A context that has ended before does not keep a client from releasing, and lets it acquire nothing.
func TestExclusiveWithAnEndedContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	taken, given := 0, 0
	e := session.NewExclusive(session.NewSession(nil, nil), func(context.Context) (session.Grant, error) { taken++; return session.Grant{}, nil },
		func(context.Context) error { given++; return nil })
	for n := range 100 { // chance would decide differently now and then
		_, acquireErr := e.Acquire(ended)
		must.Get(e.Acquire(t.Context()))(t)
		if err := e.Release(ended); err != nil || !errors.Is(acquireErr, context.Canceled) || taken != n+1 || given != n+1 {
			t.Fatalf("Acquire: %v, Release: %v; taken %d times and given %d times, want %d", acquireErr, err, taken, given, n+1)
		}
	}
}

// A release whose context ends may have taken effect. The next one that finds nothing has succeeded, unless the session is lost.
func TestReleaseAfterALostReply(t *testing.T) {
	for _, lose := range []bool{false, true} {
		lost := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		gives := []error{context.Canceled, session.ErrSessionLost}
		e := session.NewExclusive(session.NewSession(nil, lost), func(context.Context) (session.Grant, error) { return session.Grant{}, nil }, func(context.Context) error {
			cancel()
			err := gives[0]
			gives = gives[1:]
			return err
		})
		must.Get(e.Acquire(t.Context()))(t)
		if err := e.Release(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("the first release returned %v", err)
		}
		if lose {
			close(lost)
		}
		if err := e.Release(t.Context()); errors.Is(err, session.ErrSessionLost) != lose || !lose && err != nil {
			t.Errorf("the second release of a session that is lost (%v) returned %v", lose, err)
		}
	}
}

// Two locks on one session do not wait for each other.
func TestTwoExclusivesOnOneSession(t *testing.T) {
	s := session.NewSession(nil, nil)
	waiting, over := make(chan struct{}), make(chan struct{})
	give := func(context.Context) error { return nil }
	first := session.NewExclusive(s, func(context.Context) (session.Grant, error) { close(waiting); <-over; return session.Grant{}, nil }, give)
	second := session.NewExclusive(s, func(context.Context) (session.Grant, error) { return session.Grant{}, nil }, give)
	acquired := make(chan error)
	go func() { acquired <- errors.Join(errOf(first.Acquire(t.Context())), first.Release(t.Context())) }()
	<-waiting
	must.Get(second.Acquire(t.Context()))(t)
	must.Do(t, second.Release(t.Context()))
	close(over)
	must.Do(t, <-acquired)
}

func errOf[T any](_ T, err error) error { return err }

type closer chan struct{}

func (c closer) Close() { c <- struct{}{} }

// A lost session is closed, whether it is lost before or after the monitor learns of it.
func TestMonitorClosesALostSession(t *testing.T) {
	for _, early := range []bool{true, false} {
		m, s := session.NewMonitor(time.Hour), make(closer, 2)
		if early {
			m.Guard(s)
		}
		m.Observe(state(zk.StateExpired))
		if !early {
			m.Guard(s)
		}
		select {
		case <-s:
		case <-time.After(patience):
			t.Error("a lost session was left open")
		}
	}
}

// fakeConn is a connection whose watches are channels of the test.
type fakeConn struct {
	session.Conn
	watches chan (<-chan zk.Event)
	monitor *session.Monitor
}

func (c *fakeConn) GetW(string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	return nil, &zk.Stat{}, <-c.watches, nil
}

// watching returns a session and watches that it has set, each on one of the channels.
func watching(t *testing.T, channels ...chan zk.Event) (*session.Session, *fakeConn, []*session.Watch) {
	t.Helper()
	conn := &fakeConn{watches: make(chan (<-chan zk.Event), len(channels)), monitor: session.NewMonitor(time.Hour)}
	s := session.NewMonitoredSession(conn, conn.monitor)
	var all []*session.Watch
	for _, c := range channels {
		conn.watches <- c
		_, _, w, err := s.GetW(t.Context(), "/z")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	return s, conn, all
}

// A participant whose watch has already fired does not wait, and is not counted as idle.
func TestAwaitOfAFiredWatchIsNoWait(t *testing.T) {
	events := make(chan zk.Event, 1)
	events <- zk.Event{Path: "/z"}
	close(events)
	s, _, w := watching(t, events)
	event, err := s.AwaitEvent(t.Context(), w[0])
	if err != nil || event.Path != "/z" {
		t.Errorf("event %+v (%v), want that of /z", event, err)
	}
	if _, begun := s.Waiting(); begun != 0 {
		t.Error("it counts as a wait")
	}
}

// awaitWait returns the wait that a session has begun.
func awaitWait(t *testing.T, s *session.Session) *session.Wait {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); runtime.Gosched() {
		if wait, _ := s.Waiting(); wait != nil {
			return wait
		}
	}
	t.Fatal("it does not wait")
	return nil
}

// A wait counts as fired as soon as the client library has passed an event on, however late the participant runs. Fired leaves
// the event to the participant.
func TestFiredTakesNoEventAway(t *testing.T) {
	for i := range 1000 { // whether the participant or Fired receives the event depends on which is first
		channels := []chan zk.Event{make(chan zk.Event, 1), make(chan zk.Event, 1)}
		s, _, w := watching(t, channels...)
		done := make(chan error, 1)
		go func() { done <- s.Await(t.Context(), w[0], w[1]) }()
		wait := awaitWait(t, s)
		if wait.Fired() {
			t.Fatal("it had fired before an event")
		}
		which := i % 2
		go func() {
			channels[which] <- zk.Event{Path: "/z"}
			close(channels[which])
		}()
		for !wait.Fired() {
			runtime.Gosched()
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if !wait.Fired() {
			t.Fatal("it has not fired after the participant has received the event")
		}
		if wait, begun := s.Waiting(); wait != nil || begun != 1 {
			t.Fatalf("after the wait: wait %v, %d begun, want none and 1", wait, begun)
		}
	}
}

func TestAwaitOfMany(t *testing.T) {
	const many = 20
	for which := range many {
		channels := make([]chan zk.Event, many)
		for i := range channels {
			channels[i] = make(chan zk.Event, 1)
		}
		s, _, watches := watching(t, channels...)
		done := make(chan error, 1)
		go func() { done <- s.Await(t.Context(), append(watches, nil)...) }()
		wait := awaitWait(t, s)
		if wait.Fired() {
			t.Fatal("it had fired before an event")
		}
		channels[which] <- zk.Event{Path: "/z"}
		if err := <-done; err != nil || !wait.Fired() || !watches[which].Fired() {
			t.Errorf("after the event of watch %d: %v, fired: %v", which, err, wait.Fired())
		}
	}
}

// A watch counts as fired once the connection has been made again, even if it was set while the connection was lost, and a wait
// for it is over at once. A watch that is set after that is trusted.
func TestWatchesDoNotSurviveOutages(t *testing.T) {
	s, conn, w := watching(t, make(chan zk.Event))
	get := func() *session.Watch {
		conn.watches <- make(chan zk.Event)
		_, _, watch, err := s.GetW(t.Context(), "/z")
		if err != nil {
			t.Fatal(err)
		}
		return watch
	}
	done := make(chan error, 1)
	go func() { done <- s.Await(t.Context(), w[0]) }()
	awaitWait(t, s)
	conn.monitor.Observe(zk.Event{Type: zk.EventSession, State: zk.StateDisconnected})
	queued := get()
	if w[0].Fired() || queued.Fired() || s.Overtakes() != 0 {
		t.Errorf("fired before the connection was made again: %v, %v; %d overtakes", w[0].Fired(), queued.Fired(), s.Overtakes())
	}
	conn.monitor.Observe(zk.Event{Type: zk.EventSession, State: zk.StateHasSession})
	later := get()
	if err := <-done; err != nil || !w[0].Fired() || !queued.Fired() || later.Fired() {
		t.Errorf("%v; fired after the outage: %v, %v, set after it: %v; want only the last not", err, w[0].Fired(), queued.Fired(), later.Fired())
	}
	if s.Overtakes() != 1 {
		t.Errorf("%d overtakes, want the read that was made right after the connection", s.Overtakes())
	}
}

// A request of a session that is being closed returns ErrSessionLost.
func TestClosingSessionIsLost(t *testing.T) {
	_, err := session.NewSession(nil, nil).Retry(t.Context(), func(session.Conn) error { return zk.ErrClosing })
	if !errors.Is(err, session.ErrSessionLost) {
		t.Errorf("error %v, want that the session is lost", err)
	}
}

func TestInvalidatedWatchFires(t *testing.T) {
	s, _, w := watching(t, make(chan zk.Event))
	done := make(chan error, 1)
	go func() { done <- s.Await(t.Context(), w[0]) }()
	awaitWait(t, s)
	w[0].Invalidate()
	w[0].Invalidate() // twice is once
	if err := <-done; err != nil || !w[0].Fired() {
		t.Errorf("the wait ended with %v, fired: %v", err, w[0].Fired())
	}
}

// cutConn is a connection that is cut at its first request. Every later one finds no znode.
type cutConn struct {
	session.Conn
	cut    bool
	second func() // called before the second request is answered
}

func (c *cutConn) answer() error {
	if !c.cut {
		c.cut = true
		return zk.ErrConnectionClosed
	}
	c.second()
	return zk.ErrNoNode
}

func (c *cutConn) Delete(string, int32) error               { return c.answer() }
func (c *cutConn) Multi(...any) ([]zk.MultiResponse, error) { return nil, c.answer() }

// A delete that is repeated and finds no znode has succeeded, unless it was sent again under a new session.
func TestRepeatedDeletes(t *testing.T) {
	for _, lose := range []bool{false, true} {
		for what, give := range map[string]func(*session.Session) error{
			"Remove": func(s *session.Session) error { return s.Remove(t.Context(), "/z") },
			"Give": func(s *session.Session) error {
				return session.FencedNode{Session: s, Path: "/z", Fence: "/f"}.Give(t.Context(), 1)
			},
		} {
			lost := make(chan struct{})
			err := give(session.NewSession(&cutConn{second: func() {
				if lose {
					close(lost)
				}
			}}, lost))
			if errors.Is(err, session.ErrSessionLost) != lose || !lose && err != nil {
				t.Errorf("%s of a session that is lost meanwhile (%v) returned %v", what, lose, err)
			}
		}
	}
}
