package runner_test

import (
	"context"
	"errors"
	"strings"
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

// several is an embedded server under several addresses.
type several struct {
	*embedded.Ensemble
	addrs []string
}

func (s several) Servers() []ensemble.Server {
	var servers []ensemble.Server
	for i, addr := range s.addrs {
		servers = append(servers, ensemble.Server{ID: i + 1, Name: addr, Addr: addr})
	}
	return servers
}

func (s several) Owned() bool { return false }

// Where the server that a run has its root on goes silent at the end, another one removes it; where all do, the run says
// what is left, unless the servers end with it.
func TestCleanUpPassesASilentServer(t *testing.T) {
	for _, tt := range []struct {
		name      string
		temporary bool
		others    bool // whether a second server answers
		left      bool
	}{
		{"another one answers", false, true, false},
		{"none answers", false, false, true},
		{"none answers, and none is to stay", true, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := ensembletest.Embedded(t, embedded.Config{})
			first, stall := ensembletest.Stallable(t, server.Addr())
			e := several{server, []string{first}}
			if tt.others {
				e.addrs = append(e.addrs, server.Addr())
			}
			saved := 0
			s := lockstepOf(3)
			s.Variants = []string{"znode"}
			r := runner.Runner{
				Ensemble: e, Recipes: catalog.Recipes(), Run: "20260102T030405Z-ab12", Temporary: tt.temporary,
				Save:     func(*results.Document) error { saved++; stall(); return nil },
				Progress: func(int, int, string) {},
			}
			err := r.RunScenario(t.Context(), s)
			var left *runner.LeftError
			if errors.As(err, &left) != tt.left || !tt.left && err != nil || saved != 1 {
				t.Errorf("%d saved, %v, want to hear that znodes are left: %t", saved, err, tt.left)
			}
			if tt.left && !strings.Contains(err.Error(), "/zkbench-20260102T030405Z-ab12") {
				t.Errorf("%v, want the root in it", err)
			}
			if names := ensembletest.Znodes(t, server.Addr()); (len(names) == 0) != tt.others {
				t.Errorf("znodes left: %v", names)
			}
		})
	}
}

// Where the reply to the creation of the root is lost, the run fails, and the root that was created all the same is removed.
func TestRootWithoutAReplyIsRemoved(t *testing.T) {
	t.Parallel()
	server := ensembletest.Embedded(t, embedded.Config{})
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
	if names := ensembletest.Znodes(t, server.Addr()); len(names) > 0 {
		t.Errorf("znodes left: %v", names)
	}
}

// A run whose root is no longer its own ends, and says why: what it would go on to measure could be removed at any time.
func TestRunEndsWithItsOwner(t *testing.T) {
	t.Parallel()
	server := ensembletest.Embedded(t, embedded.Config{})
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
	if names := ensembletest.Znodes(t, server.Addr()); len(names) > 0 {
		t.Errorf("znodes left: %v", names)
	}
}
