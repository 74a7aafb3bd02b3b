package conformance_test

import (
	"context"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants/session"
)

// line is clients that want one lock, each with its own end of it.
type line struct {
	t     *testing.T
	cs    []*client
	locks []session.Lock
}

// newLine opens the lock for each client, with the opener for its number, or with the only one.
func newLine(t *testing.T, dir string, cs []*client, opens ...lockOpener) *line {
	t.Helper()
	l := &line{t: t, cs: cs}
	for i, c := range cs {
		l.locks = append(l.locks, opens[i%len(opens)](t, c, dir))
	}
	return l
}

// hold acquires the lock, which must be free.
func (l *line) hold(i int) session.Grant {
	l.t.Helper()
	return mustAcquire(l.t, l.locks[i])
}

// want begins to wait for the lock, which must be taken.
func (l *line) want(ctx context.Context, i int) <-chan outcome {
	l.t.Helper()
	granted := acquires(ctx, l.locks[i])
	awaitWaiting(l.t, l.cs[i])
	return granted
}

// mustStillWait fails unless a client waits after it has seen all that has happened so far.
func (l *line) mustStillWait(i int, granted <-chan outcome) {
	l.t.Helper()
	must(l.t, ensemble.Fence(l.cs[i].conn))
	awaitWaiting(l.t, l.cs[i])
	mustStillWait(l.t, "a client behind another", granted)
}

func (l *line) release(clients ...int) {
	l.t.Helper()
	for _, i := range clients {
		mustRelease(l.t, l.locks[i])
	}
}

// outcome is how an Acquire has ended.
type outcome struct {
	session.Grant
	err error
}

// acquires calls Acquire in the background.
func acquires(ctx context.Context, l session.Lock) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		grant, err := l.Acquire(ctx)
		done <- outcome{grant, err}
	}()
	return done
}

// mustBeGranted waits until an Acquire in the background has succeeded.
func mustBeGranted(t testing.TB, granted <-chan outcome) session.Grant {
	t.Helper()
	end := await(t, "a waiter was never granted the lock", granted)
	must(t, end.err)
	return end.Grant
}

func mustAcquire(t testing.TB, l session.Lock) session.Grant {
	t.Helper()
	grant, err := l.Acquire(testContext(t))
	must(t, err)
	return grant
}

func mustRelease(t testing.TB, l session.Lock) {
	t.Helper()
	must(t, l.Release(testContext(t)))
}

// mustGrow fails unless a fencing token is larger than that of the grant before.
func mustGrow(t testing.TB, before, after session.Grant) {
	t.Helper()
	if after.Token <= before.Token {
		t.Errorf("fencing token %d after %d", after.Token, before.Token)
	}
}

// contenders counts the znodes in dir that belong to a client that holds or waits. A leader's acknowledgement of its
// term counts if there is no leader.
func contenders(t testing.TB, c *client, dir string) int {
	t.Helper()
	n, acknowledged := 0, 0
	for _, name := range unmarked(t, c, dir) {
		switch name {
		case "fence":
		case "acknowledged":
			acknowledged++
		default:
			n++
		}
	}
	return max(n, acknowledged)
}

// mustContend fails unless so many clients hold or wait, as a client sees it.
func mustContend(t testing.TB, c *client, dir string, want int) {
	t.Helper()
	if n := contenders(t, c, dir); n != want {
		t.Errorf("%d clients have a znode, want %d", n, want)
	}
}
