package ensemble_test

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

// closingMeetsRequests closes sessions while their requests are under way and the server ends their connections. A goroutine that is left
// over ends the bubble with a panic, which it returns as an error.
func closingMeetsRequests(t *testing.T, open func(*testing.T, *embedded.Ensemble) *zk.Conn) (err error) {
	defer func() {
		if leaked := recover(); leaked != nil {
			err = fmt.Errorf("%v", leaked)
		}
	}()
	ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
		var closed sync.WaitGroup
		for range 10 {
			conn := open(t, e)
			for range 8 {
				closed.Go(func() {
					for range 20 {
						_, _, _ = conn.Exists("/")
					}
				})
			}
			closed.Go(func() { e.Expire(conn.SessionID()) })
			closed.Go(conn.Close)
		}
		closed.Wait()
	})
	return nil
}

// Closing a session while its requests are under way leaks nothing. Without the ledger's connection, which keeps failed writes from the
// client library, it does.
func TestCloseMeetsRequests(t *testing.T) {
	counted := func(t *testing.T, e *embedded.Ensemble) *zk.Conn {
		conn := must.Get(ensemble.Connect(t.Context(), e.Servers()[0], wire.NewLedger(time.Now()), nil))(t)
		return conn
	}
	plain := func(t *testing.T, e *embedded.Ensemble) *zk.Conn {
		conn, events, err := zk.Connect([]string{e.Addr()}, ensemble.SessionTimeout, zk.WithLogInfo(false), zk.WithLogger(mute{}),
			zk.WithDialer(func(string, string, time.Duration) (net.Conn, error) { return e.Servers()[0].Dial(t.Context()) }))
		if err != nil {
			t.Fatal(err)
		}
		for e := range events {
			if e.State == zk.StateHasSession {
				break
			}
		}
		return conn
	}
	for range 20 {
		must.Do(t, closingMeetsRequests(t, counted))
	}
	for range 100 {
		if err := closingMeetsRequests(t, plain); err != nil {
			if !strings.Contains(err.Error(), "blocked goroutines remain") {
				t.Error(err)
			}
			return
		}
	}
	t.Error("the client library has not leaked anything: is there still a need to keep failed writes from it?")
}

// mute is a logger that logs nothing.
type mute struct{}

func (mute) Printf(string, ...any) {}
