package variants_test

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

	"github.com/zkbench/zkbench/variants"
)

const patience = 10 * time.Second

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func state(s zk.State) zk.Event { return zk.Event{Type: zk.EventSession, State: s} }

// The monitor reports a session as lost when the server says so, or when it has been silent for too long; a connection
// that comes back in time is not a lost session.
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
			m := variants.NewMonitor(tt.timeout)
			for _, e := range tt.events {
				m.Observe(e)
			}
			if got := closed(m.Lost()); got != tt.want {
				t.Errorf("lost = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestMonitorGivesUpOnASilentServer(t *testing.T) {
	m := variants.NewMonitor(time.Hour)
	m.SetTimeout(3 * time.Millisecond)
	m.Observe(state(zk.StateDisconnected))
	select {
	case <-m.Lost():
	case <-time.After(patience):
		t.Error("a session without a connection was not taken to be lost")
	}
}

// The end of a session that its owner closes is no loss, and starts no timer that would keep the session in memory.
func TestMonitorIsDismissed(t *testing.T) {
	for _, before := range [][]zk.Event{nil, {state(zk.StateDisconnected)}} {
		synctest.Test(t, func(t *testing.T) {
			m, session := variants.NewMonitor(time.Hour), make(closer, 1)
			m.Guard(session)
			for _, e := range before {
				m.Observe(e)
			}
			m.Dismiss()
			m.Observe(state(zk.StateDisconnected))
			time.Sleep(2 * time.Hour) // of the test's own clock
			if closed(m.Lost()) || len(session) > 0 {
				t.Errorf("after %v and dismissal: lost = %v, closed %d times; want neither", before, closed(m.Lost()), len(session))
			}
		})
	}
}

// What the server answered is known, whatever it was; everything else may have happened or not.
func TestOutcomeUnknown(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{zk.ErrNodeExists, false},
		{fmt.Errorf("create: %w", zk.ErrNoNode), false},
		{zk.ErrSessionExpired, false},
		{zk.ErrInvalidPath, false},
		{errors.New("unknown error: -125"), false}, // over quota, of which the client has not heard
		{zk.ErrConnectionClosed, true},
		{io.EOF, true},
		{zk.ErrNoServer, true},
		{&net.OpError{Op: "write", Err: errors.New("broken pipe")}, true},
	} {
		if got := variants.OutcomeUnknown(tt.err); got != tt.want {
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
			err := variants.Retry(t.Context(), nil, func() error {
				attempts++
				return tt.outcomes[attempts-1]
			})
			if !errors.Is(err, tt.want) || attempts != tt.attempts {
				t.Errorf("%v after %d attempts, want %v after %d", err, attempts, tt.want, tt.attempts)
			}
		})
	}
}

func TestRetryEnds(t *testing.T) {
	down := func() error { return zk.ErrConnectionClosed }
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := variants.Retry(ctx, nil, down); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v, want context.Canceled", err)
	}
	lost := make(chan struct{})
	close(lost)
	if err := variants.Retry(t.Context(), lost, down); !errors.Is(err, variants.ErrSessionLost) {
		t.Errorf("with a lost session: %v, want ErrSessionLost", err)
	}
}

// The caller of a stuck operation gets control back; what the operation did after all is undone, and the next one
// waits until it has been.
func TestLaneUndoesWhatNobodyWaitsFor(t *testing.T) {
	lane := variants.NewLane()
	stuck, undone := make(chan struct{}), make(chan int, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	lane <- struct{}{} // occupied
	if _, err := variants.Run(ctx, lane, func(context.Context) (int, error) { return 0, nil }, func(int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for an occupied lane: %v, want context.Canceled", err)
	}
	<-lane
	ctx, cancel = context.WithCancel(t.Context())
	go cancel()
	_, err := variants.Run(ctx, lane, func(context.Context) (int, error) { <-stuck; return 7, nil }, func(v int) { undone <- v })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a stuck operation: %v, want context.Canceled", err)
	}
	close(stuck)
	got, err := variants.Run(t.Context(), lane, func(context.Context) (int, error) {
		select {
		case v := <-undone:
			return v, nil
		default:
			return 0, errors.New("the next operation began before the last one was undone")
		}
	}, func(int) {})
	if err != nil || got != 7 {
		t.Errorf("got %d, %v; want the 7 that was undone", got, err)
	}
}

func TestMergeOrdersByTime(t *testing.T) {
	epoch := time.Now()
	a, b := variants.NewLog(epoch, 0), variants.NewLog(epoch, 1)
	const each = 1000 // more than one block
	for range each {
		a.Record(1, 0)
		b.Record(2, 0)
	}
	h := variants.Merge([]*variants.Log{b, a})
	if len(h) != 2*each {
		t.Fatalf("%d events, want %d", len(h), 2*each)
	}
	for i := 1; i < len(h); i++ {
		if h[i].At < h[i-1].At {
			t.Fatalf("event %d at %s comes after %s", i, h[i].At, h[i-1].At)
		}
	}
	if spans := h.Between("x", 1, 2); len(spans) != 0 {
		t.Errorf("%d spans between events of different clients", len(spans))
	}
	if spans := h.Across("x", 1, 2); len(spans) == 0 || spans[0].Client != 1 {
		t.Errorf("spans %v across clients, want some that end with client 1", spans)
	}
}

// What is held is given up once, is refused to its holder, and is not granted to a lost session.
func TestExclusive(t *testing.T) {
	already, broken := errors.New("already"), errors.New("broken")
	lost := make(chan struct{})
	given := 0
	var giveErr error
	e := variants.NewExclusive(lost, already, func(context.Context) (int, error) { return 7, nil },
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
	acquire(already)
	release(broken, broken, 1)
	acquire(already) // it is held still
	release(variants.ErrSessionLost, variants.ErrSessionLost, 2)
	release(nil, nil, 2)
	close(lost)
	acquire(variants.ErrSessionLost)
	release(nil, nil, 3) // given up by the failed Acquire
}

func BenchmarkRecord(b *testing.B) {
	l := variants.NewLog(time.Now(), 0)
	b.ReportAllocs()
	for b.Loop() {
		l.Record(1, 42)
	}
}

// closer counts how often it is closed.
type closer chan struct{}

func (c closer) Close() { c <- struct{}{} }

// A lost session is closed, whether it is lost before or after the monitor learns of it.
func TestMonitorClosesALostSession(t *testing.T) {
	for _, early := range []bool{true, false} {
		m, session := variants.NewMonitor(time.Hour), make(closer, 2)
		if early {
			m.Guard(session)
		}
		m.Observe(state(zk.StateExpired))
		if !early {
			m.Guard(session)
		}
		select {
		case <-session:
		case <-time.After(patience):
			t.Error("a lost session was left open")
		}
	}
}

// A participant that finds a watch fired does not wait, and is not counted as idle.
func TestAwaitOfAFiredWatchIsNoWait(t *testing.T) {
	watch := make(chan zk.Event, 1)
	watch <- zk.Event{Path: "/z"}
	ctx := variants.WithWaiting(t.Context(), func(*variants.Wait) { t.Error("it was said to wait") })
	event, err := variants.AwaitEvent(ctx, nil, watch)
	if err != nil || event.Path != "/z" {
		t.Errorf("event %+v (%v), want that of /z", event, err)
	}
}

// From the moment at which the client library has passed an event on, a wait counts as fired, however late the participant
// runs; and to ask takes no event away from it.
func TestWaitHasFiredBeforeItsParticipantRuns(t *testing.T) {
	for _, tt := range []struct {
		name  string
		which int // of two watches
	}{{"the first watch", 0}, {"the second watch", 1}} {
		t.Run(tt.name, func(t *testing.T) {
			watches := []chan zk.Event{make(chan zk.Event, 1), make(chan zk.Event, 1)}
			begun, ends, mayEnd := make(chan *variants.Wait, 1), make(chan struct{}), make(chan struct{})
			ctx := variants.WithWaiting(t.Context(), func(w *variants.Wait) {
				if w != nil {
					begun <- w
					return
				}
				close(ends)
				<-mayEnd // it has received the event, and the runner does not know
			})
			done := make(chan error, 1)
			go func() { done <- variants.AwaitAny(ctx, nil, watches[0], watches[1]) }()
			wait := <-begun
			if wait.Fired() {
				t.Error("it had fired before an event")
			}
			watches[tt.which] <- zk.Event{Path: "/z"}
			close(watches[tt.which])
			for range 2 { // once before and once after the participant has received the event, or both after it
				if !wait.Fired() {
					t.Error("it has not fired after an event")
				}
			}
			<-ends
			if !wait.Fired() {
				t.Error("it has not fired after the participant has received the event")
			}
			close(mayEnd)
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// An event that Fired has received reaches the participant all the same.
func TestFiredTakesNoEventAway(t *testing.T) {
	for range 1000 { // whether it does depends on who is first
		watch, begun := make(chan zk.Event, 1), make(chan *variants.Wait, 1)
		ctx := variants.WithWaiting(t.Context(), func(w *variants.Wait) {
			if w != nil {
				begun <- w
			}
		})
		got := make(chan zk.Event, 1)
		go func() {
			event, err := variants.AwaitEvent(ctx, nil, watch)
			if err != nil {
				t.Error(err)
			}
			got <- event
		}()
		wait := <-begun
		go func() {
			watch <- zk.Event{Path: "/z"}
			close(watch)
		}()
		for !wait.Fired() {
			runtime.Gosched()
		}
		if event := <-got; event.Path != "/z" {
			t.Fatalf("event %+v, want that of /z", event)
		}
	}
}
