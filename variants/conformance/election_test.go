package conformance_test

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/election"
	"github.com/zkbench/zkbench/variants/revocable"
	"github.com/zkbench/zkbench/variants/session"
)

// offices are the variants under test: an election must pass all that a lock must.
func offices() []lockVariant {
	all := election.Recipe().Variants
	out := openersOf[session.Lock](all)
	for i, variant := range out {
		out[i].open = func(t testing.TB, c *client, dir string) session.Lock {
			c.polls = !all[i].HasLockstep()
			return variant.open(t, c, dir)
		}
	}
	return out
}

func TestElection(t *testing.T) { onEmbedded(t, checkElections) }

func checkElections(t *testing.T, at place) {
	t.Helper()
	checkLocks(t, at, offices())
}

// succession is a leader and a candidate that waits for its end.
type succession struct {
	leader, successor session.Lock
	term              session.Grant
	elected           <-chan session.Grant
}

func arrange(t *testing.T, leader, candidate *client, dir string, open lockOpener) succession {
	t.Helper()
	elected := make(chan session.Grant, 1)
	s := succession{leader: open(t, leader, dir), successor: open(t, candidate, dir), elected: elected}
	s.term = mustAcquire(t, s.leader)
	ctx := testContext(t)
	var wait sync.WaitGroup
	t.Cleanup(wait.Wait)
	wait.Go(func() {
		term, err := s.successor.Acquire(ctx)
		if err != nil {
			t.Error(err)
		}
		elected <- term
	})
	awaitWaiting(t, candidate)
	return s
}

// awaitSuccessor returns when the candidate leads, and checks its epoch against the promise.
func (s succession) awaitSuccessor(t *testing.T) {
	t.Helper()
	if next := <-s.elected; next.Token <= s.term.Token {
		t.Errorf("epoch %d after epoch %d", next.Token, s.term.Token)
	}
}

// oblivious opens a session that is not closed when it is lost, and whose user does not learn of the loss: the client
// library goes on with a new one.
func oblivious(t *testing.T, v venue, cable *cable) *client {
	t.Helper()
	c := newClient(t, v.shortest)
	conn, events, err := zk.Connect([]string{v.Servers()[0].Addr}, v.shortest, zk.WithLogger(quiet{}),
		zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) {
			conn, err := v.Servers()[0].Dial(t.Context())
			if err != nil {
				return nil, err
			}
			return cable.wrap(distance{c.ledger.Wrap(conn)})
		}))
	if err != nil {
		t.Fatal(err)
	}
	c.conn = conn
	t.Cleanup(c.Close)
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	c.handle = session.NewSession(conn, c.monitor.Lost())
	return c
}

// supersede lets an oblivious leader's session expire, waits for its successor, and gives the old leader a new session.
func supersede(t *testing.T, v venue, dir string, open lockOpener) (old *client, s succession) {
	t.Helper()
	cable := &cable{}
	old = oblivious(t, v, cable)
	s = arrange(t, old, clients(t, v, 1)[0], dir, open)
	expired := old.conn.SessionID()
	cable.unplug()
	s.awaitSuccessor(t)
	cable.replug()
	eventually(t, "the client library did not go on with a new session", func() bool {
		return old.conn.State() == zk.StateHasSession && old.conn.SessionID() != expired
	})
	return old, s
}

// A holder that does not know that its session has expired cannot end what its successor holds.
func lateRelease(t *testing.T, v venue, dir string, open lockOpener) {
	_, s := supersede(t, v, dir, open)
	err := s.leader.Release(testContext(t))
	forced := errors.Is(err, revocable.ErrForced) // a successor without patience may come before the expiry
	if !forced && !errors.Is(err, session.ErrSessionLost) {
		t.Errorf("a late release returned %v, want ErrSessionLost", err)
	}
	if n := contenders(t, clients(t, v, 1)[0], dir); n != 1 {
		t.Errorf("%d znodes stand for the successor", n)
	}
	mustRelease(t, s.successor)
}
