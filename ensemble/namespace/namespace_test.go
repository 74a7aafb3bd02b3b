package namespace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/namespace"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

var live ensembletest.Shared

func TestMain(m *testing.M) { os.Exit(live.Main(m)) }

// checks run on every ensemble.
var checks = []struct {
	name  string
	check func(t *testing.T, e ensemble.Ensemble)
}{
	{"states", statesAreReported},
	{"a large tree", largeTreeGoesInBatches},
	{"two at once", twoMayRemoveAtOnce},
	{"growth", growingTreeIsRemoved},
	{"chroot", rootsBelowABase},
	{"access control", createsWithTheList},
}

func TestNamespace(t *testing.T) {
	t.Parallel()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { c.check(t, ensembletest.Embedded(t, embedded.Config{})) })
	}
}

func TestLiveNamespace(t *testing.T) {
	e := live.Get(t)
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { c.check(t, e) })
	}
}

func connect(t *testing.T, e ensemble.Ensemble) (namespace.Client, *wire.Ledger) {
	t.Helper()
	ledger := wire.NewLedger(time.Now())
	conn := must.Get(ensemble.Connect(t.Context(), e.Servers()[0], ledger, nil))(t)
	t.Cleanup(conn.Close)
	return namespace.Client{Conn: conn, Patience: ensemble.SessionTimeout, ACL: zk.WorldACL(zk.PermAll)}, ledger
}

func mustCreate(t *testing.T, c namespace.Client, flags int32, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := c.Conn.Create(path, nil, flags, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatalf("create %s: %v", path, err)
		}
	}
}

func mustRemove(t *testing.T, c namespace.Client, paths ...string) {
	t.Helper()
	for _, path := range paths {
		must.Get(c.Remove(t.Context(), path))(t)
	}
}

func root(n int) string { return fmt.Sprintf("/zkbench-20260102T030405Z-%04x", n) }

// A root is left over if and only if the session that created it has ended. A znode without the mark never is.
func statesAreReported(t *testing.T, e ensemble.Ensemble) {
	c, _ := connect(t, e)
	gone, _ := connect(t, e)
	for n, owner := range []namespace.Client{c, gone} {
		must.Do(t, owner.Create(t.Context(), root(n), 12*time.Second))
	}
	mustCreate(t, c, 0, root(1)+"/m1", root(1)+"/m1/x")
	must.Do(t, gone.Create(t.Context(), root(3), 12*time.Second))
	mustCreate(t, c, 0, root(3)+"/m1")
	mustCreate(t, c, zk.FlagEphemeral, root(3)+"/m1/lock")
	foreign := []string{root(2), root(2) + "/m1", "/zkbench", "/zkbench-mine", "/zkbench-20260102T030405Z-ab1", "/zkbench-20260102T030405Z-AB12", "/x-zkbench-20260102T030405Z-ab12"}
	mustCreate(t, c, 0, foreign...)
	ensembletest.End(t, gone.Conn, c.Conn, root(1)+"/owner")
	found, err := c.Find(t.Context(), "")
	want := []namespace.Found{
		{Path: root(0), InUse: true, Timeout: 12 * time.Second},
		{Path: root(1), Znodes: 3},
		{Path: root(3), InUse: true, Znodes: 3, Timeout: ensemble.SessionTimeout},
	}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("found\n%+v (%v), want\n%+v", found, err, want)
	}
	mustRemove(t, c, append(foreign, root(0), root(1), root(3))...)
	if found, err := c.Find(t.Context(), ""); err != nil || len(found) > 0 {
		t.Errorf("after the removal: %+v (%v)", found, err)
	}
}

// A handful of transactions removes thousands of znodes, wide and deep.
func largeTreeGoesInBatches(t *testing.T, e ensemble.Ensemble) {
	const wide, deep = 2000, 60
	c, ledger := connect(t, e)
	must.Do(t, c.Create(t.Context(), root(0), time.Second))
	mustCreate(t, c, 0, root(0)+"/m1")
	for i := range wide / 100 {
		var creates []any
		for j := range 100 {
			creates = append(creates, &zk.CreateRequest{Path: fmt.Sprintf("%s/m1/n%04d", root(0), 100*i+j), Acl: zk.WorldACL(zk.PermAll)})
		}
		must.Get(c.Conn.Multi(creates...))(t)
	}
	path := root(0)
	for range deep {
		path += "/a-name-that-is-long-so-that-paths-become-long"
		mustCreate(t, c, 0, path)
	}
	before := ledger.Counts()
	removed, err := c.Remove(t.Context(), root(0))
	if want := 3 + wide + deep; err != nil || removed != want {
		t.Errorf("removed %d znodes (%v), want %d", removed, err, want)
	}
	after := ledger.Counts()
	multis, singles := after.Requests[wire.OpMulti]-before.Requests[wire.OpMulti], after.Requests[wire.OpDelete]-before.Requests[wire.OpDelete]
	if multis > 8 || singles > 0 {
		t.Errorf("%d multis and %d deletes, want no more than 8 and none", multis, singles)
	}
	if again, err := c.Remove(t.Context(), root(0)); again != 0 || err != nil {
		t.Errorf("a second removal deleted %d znodes (%v)", again, err)
	}
}

// Two clients can remove the same root at the same time.
func twoMayRemoveAtOnce(t *testing.T, e ensemble.Ensemble) {
	c, _ := connect(t, e)
	other, _ := connect(t, e)
	must.Do(t, c.Create(t.Context(), root(0), time.Second))
	for i := range 700 {
		mustCreate(t, c, 0, fmt.Sprintf("%s/n%d", root(0), i))
	}
	var removing sync.WaitGroup
	var removed atomic.Int64
	for _, one := range []namespace.Client{c, other} {
		removing.Go(func() {
			n, err := one.Remove(t.Context(), root(0))
			if err != nil {
				t.Error(err)
			}
			removed.Add(int64(n))
		})
	}
	removing.Wait()
	if removed.Load() != 702 {
		t.Errorf("together they deleted %d znodes, want 702", removed.Load())
	}
}

// Late requests, such as from a stalled server, do not prevent the removal of a root.
func growingTreeIsRemoved(t *testing.T, e ensemble.Ensemble) {
	c, _ := connect(t, e)
	late, _ := connect(t, e)
	must.Do(t, c.Create(t.Context(), root(0), time.Second))
	mustCreate(t, c, 0, root(0)+"/m1")
	ctx, cancel := context.WithCancel(t.Context())
	var creating sync.WaitGroup
	creating.Go(func() {
		for i := 0; ctx.Err() == nil && i < 200; i++ {
			if _, err := late.Conn.Create(fmt.Sprintf("%s/m1/late%d", root(0), i), nil, 0, zk.WorldACL(zk.PermAll)); errors.Is(err, zk.ErrNoNode) {
				return
			}
		}
	})
	_, err := c.Remove(t.Context(), root(0))
	cancel()
	creating.Wait()
	if err != nil { // the tree grew in every round; now it does not grow any more
		t.Logf("at first: %v", err)
		mustRemove(t, c, root(0))
	}
	if f, err := c.Examine(t.Context(), root(0)); err != nil || f.Znodes != 0 {
		t.Errorf("left: %+v (%v)", f, err)
	}
}

// Roots may be below a znode, such as a chroot.
func rootsBelowABase(t *testing.T, e ensemble.Ensemble) {
	c, _ := connect(t, e)
	if _, err := c.Find(t.Context(), "/no-such-base"); err == nil || !strings.Contains(err.Error(), "/no-such-base") {
		t.Errorf("a base that is not there: %v", err)
	}
	mustCreate(t, c, 0, "/base")
	path := namespace.Root("/base", "20260102T030405Z-ab12")
	must.Do(t, c.Create(t.Context(), path, time.Second))
	if found, err := c.Find(t.Context(), "/base"); err != nil || len(found) != 1 || found[0].Path != path {
		t.Errorf("found %+v (%v), want %s", found, err, path)
	}
	if found, err := c.Find(t.Context(), ""); err != nil || len(found) != 0 {
		t.Errorf("outside of the base: %+v (%v)", found, err)
	}
	mustRemove(t, c, "/base")
}

// All znodes are created with the client's list. A server refuses one for authenticated users from a session that is not.
func createsWithTheList(t *testing.T, e ensemble.Ensemble) {
	c, _ := connect(t, e)
	must.Do(t, c.CreateTree(t.Context(), []string{"/everyone"}, 0))
	c.ACL = zk.AuthACL(zk.PermAll)
	for what, err := range map[string]error{
		"a root": c.Create(t.Context(), root(0), time.Second),
		"a tree": c.CreateTree(t.Context(), []string{"/tree"}, 0),
	} {
		if !errors.Is(err, zk.ErrInvalidACL) {
			t.Errorf("create %s: %v, want %v", what, err, zk.ErrInvalidACL)
		}
	}
	mustRemove(t, c, "/everyone", root(0), "/tree")
}

// Connect returns a session from a server that answers, without waiting for a silent one.
func TestConnectPassesSilentServers(t *testing.T) {
	t.Parallel()
	silent, server := ensembletest.Embedded(t, embedded.Config{}), ensembletest.Embedded(t, embedded.Config{})
	silent.Fail(ensemble.Pause)
	servers := []ensemble.Server{
		{Name: "silent", Addr: silent.Addr()}, {Name: "down", Addr: "127.0.0.1:1"}, {Name: "well", Addr: server.Addr()},
	}
	c := must.Get(namespace.Connect(t.Context(), servers))(t)
	c.Conn.Close()
	if _, err := namespace.Connect(t.Context(), servers[:2]); !errors.Is(err, namespace.ErrSilent) {
		t.Errorf("without any that answers: %v, want %v", err, namespace.ErrSilent)
	}
}

// An operation on a silent server ends with ErrSilent, so that the caller can try another server.
func TestSilenceEndsAnOperation(t *testing.T) {
	t.Parallel()
	server := ensembletest.Embedded(t, embedded.Config{})
	c := must.Get(namespace.Connect(t.Context(), server.Servers()))(t)
	defer c.Conn.Close()
	c.Patience = 50 * time.Millisecond
	server.Fail(ensemble.Pause)
	if _, err := c.Remove(t.Context(), root(0)); !errors.Is(err, namespace.ErrSilent) {
		t.Errorf("%v, want %v", err, namespace.ErrSilent)
	}
}
