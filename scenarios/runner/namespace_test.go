package runner_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/namespace"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants/catalog"
)

// several is an embedded server under one or two addresses, the first of which falls silent.
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

// stallable dials a server. Once it stalls, the server seems to be paused: connections are accepted and stay open, and no request is
// answered.
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

// If the server of a run's own session goes silent at the end, the root is removed through another server. If all go silent, the run
// names what is left, unless the servers end with the run.
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

// cleanUp is a run whose server goes silent at the end.
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
	r := runnerOf(t, e, catalog.Recipes(), func(*results.Document) { saved++; e.first.stalled.Store(true) })
	r.Run, r.Temporary = "20260102T030405Z-ab12", c.temporary
	err := r.RunScenario(t.Context(), s)
	var left *pool.LeftError
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

// If the reply to the creation of the root is lost, the run fails, and the root, which was created, is removed.
func TestRootWithoutAReplyIsRemoved(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, server *embedded.Ensemble) {
		trap := server.Inject(embedded.Fault{Op: wire.OpMulti, Do: embedded.DropAfter})
		s := lockstepOf(3)
		s.Variants = []string{"znode"}
		r := runnerOf(t, server, catalog.Recipes(), func(*results.Document) { t.Error("something was measured") })
		err := r.RunScenario(t.Context(), s)
		<-trap.Fired()
		if !errors.Is(err, namespace.ErrSilent) || errors.As(err, new(*pool.LeftError)) {
			t.Errorf("%v, want to hear that the server did not answer, and of no leftovers", err)
		}
		nothingLeft(t, server)
	})
}

// A run that no longer owns its root ends, and says why: the znodes that it uses could be removed at any time.
func TestRunEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, server *embedded.Ensemble) {
		s := lockstepOf(3)
		s.Variants, s.Repeats = []string{"znode"}, 1000
		r := runnerOf(t, server, catalog.Recipes(), nil)
		r.Save = func(*results.Document) error {
			c, err := namespace.Connect(t.Context(), server.Servers())
			if err != nil {
				return err
			}
			defer c.Conn.Close()
			_, stat, err := c.Conn.Get(namespace.Root("", r.Run) + "/owner")
			if err == nil {
				server.Expire(stat.EphemeralOwner)
			}
			return err
		}
		err := r.RunScenario(context.WithoutCancel(t.Context()), s)
		// The run may first notice that its connection is down, or that its session is lost.
		if err == nil || !errors.Is(err, namespace.ErrSilent) && !strings.Contains(err.Error(), "the session that owns the run's znodes was lost") {
			t.Errorf("%v, want to hear that the owner is gone", err)
		}
		nothingLeft(t, server)
	})
}

// lodger is an ensemble that lends one znode.
type lodger struct {
	ensemble.Ensemble
	chroot string
}

func (l lodger) Chroot() string { return l.chroot }

// A run creates all its znodes below the chroot, and removes them.
func TestChroot(t *testing.T) { bubble(t, testChroot) }

func testChroot(t *testing.T, e *embedded.Ensemble) {
	conn, err := ensemble.Connect(t.Context(), e.Servers()[0], wire.NewLedger(time.Now()), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Create("/bench", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	root := children(t, conn, "/")
	var docs []*results.Document
	err = measure(t.Context(), t, lodger{e, "/bench"}, lockstepOf(2), catalog.Recipes(), func(d *results.Document) {
		docs = append(docs, d)
		if got := children(t, conn, "/"); !slices.Equal(got, root) {
			t.Errorf("beside the chroot stand %v, and before the run %v", got, root)
		}
		if got := children(t, conn, "/bench"); len(got) != 1 || !strings.HasPrefix(got[0], "zkbench-") {
			t.Errorf("below the chroot stand %v, want the run's root alone", got)
		}
	})
	if err != nil || len(docs) == 0 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	if got := children(t, conn, "/bench"); len(got) > 0 {
		t.Errorf("the run left %v", got)
	}
	if got := docs[0].Environment.Chroot; got != "/bench" {
		t.Errorf("the document says chroot %q", got)
	}
}

func children(t *testing.T, conn *zk.Conn, path string) []string {
	t.Helper()
	names, _, err := conn.Children(path)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(slices.Values(names))
}
