package ensemble_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/namespace"
	"github.com/zkbench/zkbench/results/must"
)

// checkFaults checks each fault that an engine can cause. The ensemble must have a quorum. After each fault, it checks how the other
// servers react, and that the restored server follows again, with its data.
func checkFaults(t *testing.T, e ensemble.Breaker) {
	t.Helper()
	for _, c := range []struct {
		fault ensemble.ServerFault
		check func(*testing.T, ensemble.Breaker)
	}{{ensemble.Kill, checkKill}, {ensemble.Pause, checkPause}, {ensemble.Partition, checkPartition}} {
		if slices.Contains(e.ServerFaults(), c.fault) {
			t.Run(string(c.fault), func(t *testing.T) { c.check(t, e) })
			continue
		}
		if err := e.Break(t.Context(), e.Servers()[0], c.fault); err == nil {
			t.Errorf("the engine cannot %s a server, and was asked to without an error", c.fault)
		}
	}
}

// checkKill kills the leader. Another server must lead, and the killed one must come back as a follower with the writes it missed.
func checkKill(t *testing.T, e ensemble.Breaker) {
	victim := withRole(t, e.Servers(), ensemble.Leader)
	causeFault(t, e, victim, ensemble.Kill)
	others := without(e.Servers(), victim)
	awaitQuorum(t, others)
	path := fmt.Sprintf("/missed-%d", victim.ID)
	c := must.Get(namespace.Connect(t.Context(), others[:1]))(t)
	defer c.Conn.Close()
	must.Do(t, c.CreateTree(t.Context(), []string{path}, 0))
	restored(t, e, victim)
	if got := roleOf(t, victim); got != ensemble.Follower {
		t.Errorf("the restored server is %s, want %s", got, ensemble.Follower)
	}
	if names := ensembletest.Znodes(t, victim); !slices.Contains(names, path[1:]) {
		t.Errorf("the restored server has %v, want %s", names, path)
	}
	must.Get(c.Remove(t.Context(), path))(t)
}

// checkPause pauses the leader. Another server must lead, while the port of the paused one still accepts connections.
func checkPause(t *testing.T, e ensemble.Breaker) {
	victim := withRole(t, e.Servers(), ensemble.Leader)
	causeFault(t, e, victim, ensemble.Pause)
	reachable(t, victim)
	awaitQuorum(t, without(e.Servers(), victim))
	restored(t, e, victim)
}

// checkPartition cuts off a follower. It must stop serving, while its port still accepts connections, and the others must have a quorum.
func checkPartition(t *testing.T, e ensemble.Breaker) {
	victim := withRole(t, e.Servers(), ensemble.Follower)
	causeFault(t, e, victim, ensemble.Partition)
	awaitSilence(t, victim)
	reachable(t, victim)
	awaitQuorum(t, without(e.Servers(), victim))
	restored(t, e, victim)
	for _, first := range []int{0, 1} {
		checkOutage(t, e, e.Servers()[first], e.Servers()[1-first])
	}
}

// checkOutage cuts off two servers, which ends the quorum, and restores them one after the other. The network may give the first one
// the address that the other had.
func checkOutage(t *testing.T, e ensemble.Breaker, victims ...ensemble.Server) {
	for _, s := range victims {
		must.Do(t, e.Break(t.Context(), s, ensemble.Partition))
		t.Cleanup(func() { mend(t, e, s) })
	}
	for _, s := range e.Servers() {
		awaitSilence(t, s)
	}
	mend(t, e, victims[0])
	restored(t, e, victims[1])
}

func awaitSilence(t *testing.T, s ensemble.Server) {
	t.Helper()
	ensembletest.Await(t, func() string {
		if _, err := ensemble.Srvr(t.Context(), s); !errors.Is(err, ensemble.ErrNotServing) {
			return fmt.Sprintf("%s: %v, want it to serve no requests", s.Name, err)
		}
		return ""
	})
}

func mend(t *testing.T, e ensemble.Breaker, s ensemble.Server) {
	t.Helper()
	must.Do(t, e.Restore(context.WithoutCancel(t.Context()), s))
}

func causeFault(t *testing.T, e ensemble.Breaker, s ensemble.Server, f ensemble.ServerFault) {
	t.Helper()
	must.Do(t, e.Break(t.Context(), s, f))
	t.Cleanup(func() { mend(t, e, s) }) // it has no effect after restored
	if faults, err := e.Faults(t.Context()); err != nil || len(faults) != 1 || faults[s.Name] != f {
		t.Errorf("faults = %v, %v; want %s of %s", faults, err, f, s.Name)
	}
	if err := e.Break(t.Context(), s, e.ServerFaults()[0]); err == nil {
		t.Error("a second fault of one server was no error")
	}
}

func restored(t *testing.T, e ensemble.Breaker, s ensemble.Server) {
	t.Helper()
	for range 2 { // the second time without effect
		must.Do(t, e.Restore(t.Context(), s))
	}
	if faults, err := e.Faults(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("faults = %v, %v; want none", faults, err)
	}
	awaitQuorum(t, e.Servers())
}

func without(servers []ensemble.Server, s ensemble.Server) []ensemble.Server {
	return slices.DeleteFunc(slices.Clone(servers), func(other ensemble.Server) bool { return other == s })
}

func withRole(t *testing.T, servers []ensemble.Server, role ensemble.Role) ensemble.Server {
	t.Helper()
	for _, s := range servers {
		if roleOf(t, s) == role {
			return s
		}
	}
	t.Fatalf("no server is %s", role)
	return ensemble.Server{}
}

func roleOf(t *testing.T, s ensemble.Server) ensemble.Role {
	t.Helper()
	return must.Get(ensemble.Srvr(t.Context(), s))(t).Role
}

func awaitQuorum(t *testing.T, servers []ensemble.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*ensemble.SessionTimeout)
	defer cancel()
	must.Do(t, ensemble.AwaitQuorum(ctx, servers, nil))
}

func reachable(t *testing.T, s ensemble.Server) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Errorf("clients do not reach %s: %v", s.Name, err)
		return
	}
	conn.Close()
}
