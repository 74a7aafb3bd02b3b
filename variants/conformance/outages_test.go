package conformance_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/twophasecommit"
)

// A client that stands still for longer than its session lives, and goes on in a new session of the client library, does not take another
// client's fencing token for its own: with that, it would delete the znode of a holder that lives.
func TestFencingTokenOfAnother(t *testing.T) {
	for _, tt := range []struct {
		name  string
		see   func(*client, session.Conn) *session.Session
		wrong bool
	}{
		{"unguarded", func(c *client, conn session.Conn) *session.Session {
			return session.NewSession(conn, c.monitor.Lost())
		}, false},
		{"planted", func(c *client, conn session.Conn) *session.Session {
			return session.NewSession(outlived{Conn: conn, first: c.conn.SessionID()}, c.monitor.Lost())
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
				if got := takesAnothersToken(t, e, tt.see); got != tt.wrong {
					t.Errorf("a client holds the lock beside another one, whose session lives: %v, want %v", got, tt.wrong)
				}
			})
		})
	}
}

// takesAnothersToken lets a client lose the reply to its create, and stand still while it finds out whether the create
// took effect. It reports whether a third client comes to hold the lock while the second one does.
func takesAnothersToken(t *testing.T, e *embedded.Ensemble, see func(*client, session.Conn) *session.Session) bool {
	cs := clients(t, e, 2)
	stopping := unguarded(t, e.Servers()[0], ensemble.SessionTimeout, nil)
	_, err := cs[0].conn.Create("/d", nil, 0, zk.WorldACL(zk.PermAll))
	must(t, err)
	second, third := newZnodeLock(t, cs[0].session()), newZnodeLock(t, cs[1].session())
	once := sync.OnceFunc(func() {
		e.Expire(stopping.conn.SessionID())
		mustAcquire(t, second)
		time.Sleep(5 * time.Second) // the client library has a new session by then
	})
	first := newZnodeLock(t, see(stopping, hooked{stopping.conn, func(op, path string) {
		if op == "exists" && path == "/d/fence" {
			once()
		}
	}}))
	e.Inject(embedded.Fault{Session: stopping.conn.SessionID(), Op: wire.OpMulti, Do: embedded.DropAfter})
	_, err = first.Acquire(t.Context())
	if err == nil {
		t.Error("the client acquired the lock that another client holds")
	}
	_, err = third.Acquire(testContext(t))
	return err == nil
}

func newZnodeLock(t *testing.T, s *session.Session) session.Lock {
	t.Helper()
	l, err := lock.NewZnode(t.Context(), s, "/d")
	must(t, err)
	return l
}

// A site that joins when a transaction is decided does not take the outcome for its query. It can go on with the next one.
func TestSiteThatJoinsLate(t *testing.T) {
	ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
		cs := clients(t, e, 2)
		_, err := cs[0].conn.Create("/g", nil, 0, zk.WorldACL(zk.PermAll))
		must(t, err)
		coordinator, err := twophasecommit.NewCoordinatorEphemeral(t.Context(), cs[0].session(), twophasecommit.Group{Dir: "/g", Sites: 2})
		must(t, err)
		_, err = coordinator.Prepare(t.Context(), []byte("first"))
		must(t, err)
		if d, err := coordinator.Decide(t.Context(), twophasecommit.Commit); d != twophasecommit.Abort || err != nil {
			t.Fatalf("decided %q, %v without the other site", d, err)
		}
		site, err := twophasecommit.NewCoordinatorEphemeral(t.Context(), cs[1].session(), twophasecommit.Group{Dir: "/g", Sites: 2, Site: 1})
		must(t, err)
		if tx, err := site.Prepare(t.Context(), nil); !errors.Is(err, twophasecommit.ErrDecided) {
			t.Errorf("prepared %+v, %v; want that it is decided", tx, err)
		}
		outcomes, next, err := site.Resume(t.Context())
		if err != nil || next != 1 || len(outcomes) != 1 || outcomes[0].Decision != twophasecommit.Abort {
			t.Errorf("resumed with %v, next %d, %v", outcomes, next, err)
		}
		_, err = coordinator.Prepare(t.Context(), []byte("second"))
		must(t, err)
		if tx, err := site.Prepare(t.Context(), nil); err != nil || string(tx.Query) != "second" {
			t.Errorf("prepared %+v, %v", tx, err)
		}
	})
}

// outlived is a connection that always has the id of its first session: after a lost reply, a client in a new session
// of the client library may take another one's fencing token for its own, and delete its znode.
type outlived struct {
	session.Conn
	first int64
}

func (o outlived) SessionID() int64 { return o.first }
