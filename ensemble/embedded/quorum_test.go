package embedded_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

// three is an ensemble whose first two servers follow. Their lag is longer than any wait that a test makes for another reason.
var three = embedded.Config{Voters: 3, Lag: 300 * time.Millisecond}

// at opens a session on one server, which is not moved to another one.
func at(t *testing.T, e *embedded.Ensemble, server int) *zk.Conn {
	t.Helper()
	conn := must.Get(ensemble.Connect(t.Context(), e.Servers()[server], wire.NewLedger(time.Now()), nil))(t)
	t.Cleanup(conn.Close)
	return conn
}

func roaming(t *testing.T, e *embedded.Ensemble) *zk.Conn {
	t.Helper()
	link := ensemble.NewLink(wire.NewLedger(time.Now()))
	conn := must.Get(ensemble.OpenSession(t.Context(), ensemble.SessionConfig{Servers: e.Servers(), Link: link}))(t)
	t.Cleanup(conn.Close)
	return conn
}

func mustCreate(t *testing.T, c *zk.Conn, path string, flags int32) {
	t.Helper()
	must.Get(c.Create(path, nil, flags, zk.WorldACL(zk.PermAll)))(t)
}

// The visible differences between several servers and one.
func TestSeveralServers(t *testing.T) {
	for _, c := range []struct {
		name  string
		check func(*testing.T, *embedded.Ensemble)
	}{
		{"a read on a follower lags behind a write, until a sync", func(t *testing.T, e *embedded.Ensemble) {
			writer, reader := at(t, e, 2), at(t, e, 0)
			mustCreate(t, writer, "/x", 0)
			if exists(t, reader, "/x") {
				t.Error("the follower did not lag")
			}
			if _, err := reader.Sync("/"); err != nil || !exists(t, reader, "/x") {
				t.Errorf("not seen after a sync (%v)", err)
			}
		}},
		{"a session sees its own writes", func(t *testing.T, e *embedded.Ensemble) {
			c := at(t, e, 0)
			if mustCreate(t, c, "/x", 0); !exists(t, c, "/x") {
				t.Error("not seen")
			}
		}},
		{"a watch on a follower fires when that has applied the change", func(t *testing.T, e *embedded.Ensemble) {
			writer, reader := at(t, e, 2), at(t, e, 0)
			events := watch(t, reader, "/x")
			mustCreate(t, writer, "/x", 0)
			begun := time.Now()
			<-events
			if took := time.Since(begun); took != three.Lag || !exists(t, reader, "/x") {
				t.Errorf("it fired after %s", took)
			}
		}},
		{"a follower applies what is committed although the leader stands still", func(t *testing.T, e *embedded.Ensemble) {
			reader := at(t, e, 0)
			mustCreate(t, at(t, e, 2), "/x", 0)
			e.Leader().Fail(ensemble.Pause)
			if time.Sleep(2 * three.Lag); !exists(t, reader, "/x") {
				t.Error("not seen")
			}
			e.Leader().Recover()
		}},
		{"a session and its ephemeral znode outlive their leader", func(t *testing.T, e *embedded.Ensemble) {
			c := roaming(t, e)
			mustCreate(t, c, "/mine", zk.FlagEphemeral)
			id, first := c.SessionID(), e.Leader()
			first.Fail(ensemble.Kill)
			time.Sleep(5 * time.Second)
			if second := e.Leader(); second == nil || second == first || c.SessionID() != id || !exists(t, c, "/mine") {
				t.Errorf("%p led, then %p; session %#x became %#x", first, second, id, c.SessionID())
			}
		}},
		{"a write that no majority has is lost with its leader", func(t *testing.T, e *embedded.Ensemble) {
			members, c := e.Members(), at(t, e, 2)
			mustCreate(t, c, "/kept", 0)
			members[0].Fail(ensemble.Partition)
			members[1].Fail(ensemble.Partition)
			if _, err := c.Create("/lost", nil, 0, zk.WorldACL(zk.PermAll)); !errors.Is(err, zk.ErrConnectionClosed) {
				t.Errorf("the write without a majority: %v, want that its reply is lost", err)
			}
			members[2].Fail(ensemble.Kill)
			members[0].Recover()
			members[1].Recover()
			time.Sleep(5 * time.Second)
			members[2].Recover()
			time.Sleep(5 * time.Second)
			for server := range members {
				if c := at(t, e, server); exists(t, c, "/lost") || !exists(t, c, "/kept") {
					t.Errorf("server %d does not have what was acknowledged, or has what was not", server)
				}
			}
		}},
		{"no session expires without a majority", func(t *testing.T, e *embedded.Ensemble) {
			c := roaming(t, e)
			mustCreate(t, c, "/mine", zk.FlagEphemeral)
			id := c.SessionID()
			e.Members()[0].Fail(ensemble.Partition)
			e.Members()[2].Fail(ensemble.Partition)
			time.Sleep(5 * time.Minute)
			e.Members()[0].Recover()
			time.Sleep(10 * time.Second)
			if c.SessionID() != id || !exists(t, c, "/mine") {
				t.Error("it has expired")
			}
		}},
		{"a server whose pause has lasted too long follows again, and has what it missed", func(t *testing.T, e *embedded.Ensemble) {
			paused, other := e.Members()[0], at(t, e, 1)
			paused.Fail(ensemble.Pause)
			time.Sleep(time.Minute)
			mustCreate(t, other, "/missed", 0)
			paused.Recover()
			time.Sleep(time.Second)
			if !exists(t, at(t, e, 0), "/missed") {
				t.Error("it does not have what it missed")
			}
		}},
		{"what a server hands on late is written late", func(t *testing.T, e *embedded.Ensemble) {
			late, other := at(t, e, 0), at(t, e, 2)
			e.Members()[0].Late(time.Second)
			begun := time.Now()
			go func() {
				time.Sleep(500 * time.Millisecond)
				if exists(t, other, "/x") {
					t.Error("it was written at once")
				}
			}()
			mustCreate(t, late, "/x", 0)
			if took := time.Since(begun); took < time.Second {
				t.Errorf("it took %s", took)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) { ensembletest.Bubble(t, three, c.check) })
	}
}
