package embedded_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// A session on a server in memory lives for as long as it pings, and a silent one is expired, all in virtual time.
func TestServerInMemory(t *testing.T) {
	ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
		begun := time.Now()
		states := make(chan zk.State, 100)
		link := ensemble.NewLink(wire.NewLedger(time.Now()))
		conn, err := ensemble.OpenSession(t.Context(), ensemble.SessionConfig{Servers: e.Servers(), Link: link, Observe: func(ev zk.Event) { states <- ev.State }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(conn.Close)
		if _, err := conn.Create("/e", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if there, _, err := conn.Exists("/e"); !there || err != nil {
			t.Errorf("after an hour of pings: %v, %v", there, err)
		}
		if status, err := ensemble.Probe(t.Context(), e.Servers()[0]); err != nil || status.Role != ensemble.Standalone {
			t.Errorf("status %+v, %v", status, err)
		}
		link.Cut()
		if err := link.Expire(t.Context()); err != nil {
			t.Error(err)
		}
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
