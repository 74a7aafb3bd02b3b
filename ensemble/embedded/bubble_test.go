package embedded_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

// A session on a server in memory lives for as long as it pings, and a silent one is expired, all in virtual time.
func TestServerInMemory(t *testing.T) {
	ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
		begun := time.Now()
		states := make(chan zk.State, 100)
		link := ensemble.NewLink(wire.NewLedger(time.Now()))
		conn := must.Get(ensemble.OpenSession(t.Context(), ensemble.SessionConfig{
			Servers: e.Servers(), Link: link, Observe: func(ev zk.Event) { states <- ev.State },
		}))(t)
		t.Cleanup(conn.Close)
		must.Get(conn.Create("/e", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)))(t)
		time.Sleep(time.Hour)
		if there, _, err := conn.Exists("/e"); !there || err != nil {
			t.Errorf("after an hour of pings: %v, %v", there, err)
		}
		if status, err := ensemble.Srvr(t.Context(), e.Servers()[0]); err != nil || status.Role != ensemble.Standalone {
			t.Errorf("status %+v, %v", status, err)
		}
		link.Cut()
		must.Do(t, link.Expire(t.Context()))
		for s := range states {
			if s == zk.StateExpired {
				break
			}
		}
		if took := time.Since(begun); took < time.Hour || took > time.Hour+time.Minute {
			t.Errorf("it took %s of virtual time", took)
		}
	})
}

// In virtual time each delay is exact, and opening a session takes the delay of a write.
func TestDelaysInMemory(t *testing.T) {
	const read, write = 300 * time.Microsecond, 700 * time.Microsecond
	ensembletest.Bubble(t, embedded.Config{ReadDelay: read, WriteDelay: write}, func(t *testing.T, e *embedded.Ensemble) {
		begun := time.Now()
		took := func(what string, want time.Duration) {
			if got := time.Since(begun); got != want {
				t.Errorf("%s took %s, want %s", what, got, want)
			}
			begun = time.Now()
		}
		conn := must.Get(ensemble.Connect(t.Context(), e.Servers()[0], wire.NewLedger(time.Now()), nil))(t)
		defer conn.Close()
		took("a session", write)
		for range 3 {
			if _, _, err := conn.Exists("/"); err != nil {
				t.Error(err)
			}
			took("a read", read)
		}
		must.Get(conn.Set("/", nil, -1))(t)
		took("a write", write)
	})
}
