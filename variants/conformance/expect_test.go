package conformance_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants/session"
)

// must ends the test if a step fails on which the test relies.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s returned %v, want %v", what, err, want)
	}
}

// errorOf returns the error of a call whose result does not matter.
func errorOf[T any](_ T, err error) error { return err }

// eventually polls until come returns true, and fails with the text otherwise.
func eventually(t testing.TB, otherwise string, come func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !come(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(otherwise)
		}
	}
}

// await receives from a channel, which may be closed instead, and fails with the text otherwise.
func await[T any](t testing.TB, otherwise string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal(otherwise)
		panic("unreachable")
	}
}

// background calls in a goroutine. How the call ends comes through the channel.
func background(call func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	return done
}

// untilWaiting begins an operation in the background, and returns when its session waits. object has been opened.
func untilWaiting[T any](ctx context.Context, t testing.TB, object any, begin func(context.Context) <-chan T) <-chan T {
	t.Helper()
	session := sessionOf(t, object)
	_, before := session.Waiting()
	done := begin(ctx)
	for deadline := time.Now().Add(patience); ; {
		if _, begun := session.Waiting(); begun > before {
			return done
		}
		select {
		case end := <-done:
			t.Fatalf("what should wait went on, and ended with %v", end)
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal("it neither waits nor goes on")
		}
	}
}

// sessionOf returns the session of what a client has opened, or of a participant.
func sessionOf(t testing.TB, object any) *session.Session {
	t.Helper()
	s, ok := handles.Load(object)
	if !ok {
		t.Fatalf("the session of %T is not known: open it with opened", object)
	}
	return s.(*session.Session)
}

// awaitWaits returns when an object's session has begun so many waits, or when done is closed.
func awaitWaits(t testing.TB, object any, waits int64, done <-chan struct{}) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		if _, begun := sessionOf(t, object).Waiting(); begun >= waits {
			return
		}
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("it has not waited %d times", waits)
		}
	}
}

// awaitWaiting returns when all these sessions wait for nothing but a notification, or have polled twice.
func awaitWaiting(t testing.TB, cs ...*client) {
	t.Helper()
	for _, c := range cs {
		eventually(t, "a waiter did not come to rest", c.waits)
	}
}

// mustWithdraw cancels a call that waits, and returns the context that has ended.
func mustWithdraw(t testing.TB, what string, c *client, call func(context.Context) error) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(testContext(t))
	done := background(func() error { return call(ctx) })
	awaitWaiting(t, c)
	cancel()
	wantError(t, "a cancelled "+what, await(t, what+" did not end with its context", done), context.Canceled)
	return ctx
}

// mustStillWait fails if the operation in the background has ended.
func mustStillWait[T any](t testing.TB, what string, done <-chan T) {
	t.Helper()
	select {
	case end := <-done:
		t.Fatalf("%s did not wait, and ended with %v", what, end)
	default:
	}
}

func closeAll[C interface{ Close(context.Context) error }](t testing.TB, all ...C) {
	t.Helper()
	for _, c := range all {
		if err := c.Close(testContext(t)); err != nil {
			t.Error(err)
		}
	}
}

// mustClose closes all that clients have in a directory, the first client's last, after which nothing may be left.
func mustClose[C interface{ Close(context.Context) error }](t testing.TB, v venue, dir string, all ...C) {
	t.Helper()
	for _, c := range slices.Backward(all) {
		closeAll(t, c)
	}
	mustBeEmpty(t, v, dir)
}

// unmarked returns the znodes in dir without those that say "released": these belong to no live turn, and end with
// their client's session.
func unmarked(t testing.TB, c *client, dir string) []string {
	t.Helper()
	return slices.DeleteFunc(children(t, c, dir), func(name string) bool {
		data, _, err := c.conn.Get(dir + "/" + name)
		if !errors.Is(err, zk.ErrNoNode) {
			must(t, err)
		}
		return err != nil || string(data) == "released"
	})
}

// mustBeEmpty looks for znodes that do not belong to a client.
func mustBeEmpty(t testing.TB, e ensemble.Ensemble, dir string) {
	t.Helper()
	if left := unmarked(t, clients(t, e, 1)[0], dir); len(left) > 0 {
		t.Errorf("znodes are left: %v", left)
	}
}
