package runner_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/namespace"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/runner"
	"github.com/zkbench/zkbench/variants/catalog"
)

// several is an embedded server under two addresses, or one, and the first one falls silent.
type several struct {
	*embedded.Ensemble
	others bool // there is a second one
	first  *stallable
}

func (s several) Servers() []ensemble.Server {
	second := s.Ensemble.Servers()[0]
	servers := []ensemble.Server{{ID: 1, Name: "first", Addr: "192.0.2.2:2181", Dialer: s.first}}
	if s.others {
		second.ID = 2
		servers = append(servers, second)
	}
	return servers
}

func (s several) Owned() bool { return false }

// stallable is the way to a server that behaves like one whose process is paused, once it is: connections are accepted and stay open,
// and no request is answered.
type stallable struct {
	*embedded.Server
	stalled atomic.Bool
}

func (s *stallable) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := s.Server.DialContext(ctx, network, address)
	return stallableConn{conn, s}, err
}

type stallableConn struct {
	net.Conn
	of *stallable
}

func (c stallableConn) Write(p []byte) (int, error) {
	if c.of.stalled.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// Where the server that a run has its root on goes silent at the end, another one removes it; where all do, the run says
// what is left, unless the servers end with it.
func TestCleanUpPassesASilentServer(t *testing.T) {
	for _, tt := range []cleanUp{
		{"another one answers", false, true, false},
		{"none answers", false, false, true},
		{"none answers, and none is to stay", true, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, tt.check)
		})
	}
}

// cleanUp is what happens when the server of a run's root goes silent.
type cleanUp struct {
	name      string
	temporary bool
	others    bool // a second server answers
	left      bool
}

func (c cleanUp) check(t *testing.T, server *embedded.Ensemble) {
	e := several{server, c.others, &stallable{Server: server.Server}}
	saved := 0
	s := lockstepOf(3)
	s.Variants = []string{"znode"}
	r := runner.Runner{
		Ensemble: e, Recipes: catalog.Recipes(), Run: "20260102T030405Z-ab12", Temporary: c.temporary,
		Save:     func(*results.Document) error { saved++; e.first.stalled.Store(true); return nil },
		Progress: func(int, int, string) {},
	}
	err := r.RunScenario(t.Context(), s)
	var left *runner.LeftError
	if errors.As(err, &left) != c.left || !c.left && err != nil || saved != 1 {
		t.Errorf("%d saved, %v, want to hear that znodes are left: %t", saved, err, c.left)
	}
	if c.left && !strings.Contains(err.Error(), "/zkbench-20260102T030405Z-ab12") {
		t.Errorf("%v, want the root in it", err)
	}
	if names := ensembletest.Znodes(t, server.Servers()[0]); (len(names) == 0) != c.others {
		t.Errorf("znodes left: %v", names)
	}
}

// Where the reply to the creation of the root is lost, the run fails, and the root that was created all the same is removed.
func TestRootWithoutAReplyIsRemoved(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, server *embedded.Ensemble) {
		trap := server.Inject(embedded.Fault{Op: wire.OpMulti, Do: embedded.DropAfter})
		s := lockstepOf(3)
		s.Variants = []string{"znode"}
		r := runner.Runner{
			Ensemble: server, Recipes: catalog.Recipes(), Run: "20260102T030405Z-ab12",
			Save:     func(*results.Document) error { t.Error("something was measured"); return nil },
			Progress: func(int, int, string) {},
		}
		err := r.RunScenario(t.Context(), s)
		<-trap.Fired()
		if !errors.Is(err, namespace.ErrSilent) || errors.As(err, new(*runner.LeftError)) {
			t.Errorf("%v, want to hear that the server did not answer, and of no leftovers", err)
		}
		nothingLeft(t, server)
	})
}

// A run whose root is no longer its own ends, and says why: what it would go on to measure could be removed at any time.
func TestRunEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, server *embedded.Ensemble) {
		s := lockstepOf(3)
		s.Variants, s.Repeats = []string{"znode"}, 1000
		r := runner.Runner{
			Ensemble: server, Recipes: catalog.Recipes(), Run: "20260102T030405Z-ab12",
			Save: func(*results.Document) error {
				c, err := namespace.Connect(t.Context(), server.Servers())
				if err != nil {
					return err
				}
				defer c.Conn.Close()
				_, stat, err := c.Conn.Get("/zkbench-20260102T030405Z-ab12/owner")
				if err == nil {
					server.Expire(stat.EphemeralOwner)
				}
				return err
			},
			Progress: func(int, int, string) {},
		}
		err := r.RunScenario(context.WithoutCancel(t.Context()), s)
		// Which it notices first depends on where it is: that its connection is down, or that its session is lost.
		if err == nil || !errors.Is(err, namespace.ErrSilent) && !strings.Contains(err.Error(), "the session that owns the run's znodes was lost") {
			t.Errorf("%v, want to hear that the owner is gone", err)
		}
		nothingLeft(t, server)
	})
}
