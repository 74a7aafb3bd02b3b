package embedded_test

import (
	"context"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
)

// go-zookeeper's own lock works on the embedded server.
func TestGoZookeeperLock(t *testing.T) {
	t.Parallel()
	const clients, rounds = 8, 10
	s := ensembletest.Embedded(t, embedded.Config{})
	var inside, breaches, entered atomic.Int64
	var wait sync.WaitGroup
	for range clients {
		c := connect(t, s)
		wait.Go(func() {
			lock := zk.NewLock(c.Conn, "/lock", zk.WorldACL(zk.PermAll))
			for range rounds {
				if err := lock.Lock(); err != nil {
					t.Error(err)
					return
				}
				entered.Add(1)
				if inside.Add(1) != 1 {
					breaches.Add(1)
				}
				inside.Add(-1)
				if err := lock.Unlock(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	if breaches.Load() > 0 || entered.Load() != clients*rounds {
		t.Errorf("%d times two clients held the lock; it was held %d times, want %d", breaches.Load(), entered.Load(), clients*rounds)
	}
	left, _, err := connect(t, s).Children("/lock")
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

// The sessions, transactions, watches, lock, queues and double barrier of kazoo, the Python client, work on the embedded
// server.
func TestKazoo(t *testing.T) {
	t.Parallel()
	python := pythonWithKazoo(t)
	s := ensembletest.Embedded(t, embedded.Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 6*patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, python, "testdata/kazoo_session.py", s.Addr()).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "done\n") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// pythonWithKazoo returns a Python that has kazoo: the first on the PATH may be another one than the system's.
func pythonWithKazoo(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import kazoo").Run() == nil {
			return python
		}
	}
	t.Skip("no Python here has kazoo (apt-get install python3-kazoo)")
	return ""
}
