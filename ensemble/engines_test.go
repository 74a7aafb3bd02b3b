package ensemble_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/container"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/process"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

type started interface {
	ensemble.HeapMeter
	ensemble.Breaker
	Release() error
}

// realEngine holds the functions by which an engine of real servers starts, finds and removes the ensemble of one name.
type realEngine[E started] struct {
	name string
	up   func(ctx context.Context, opts ensemble.Options) (E, error)
	find func(ctx context.Context) error
	down func(ctx context.Context) (servers int, err error)
	left func(ctx context.Context) string // describes the ensemble's remains on the machine; empty without any
	// txnLog checks where the transaction logs are: in memory, or where they are by default.
	txnLog func(path string, inMemory bool) bool
}

// check checks that an engine of real servers starts, keeps up and removes ensembles as every such engine must.
func (e realEngine[E]) check(t *testing.T) {
	t.Run("kept", e.checkKept)
	t.Run("protected, with transaction logs in memory", e.checkProtected)
	t.Run("debris", e.checkDebris)
	t.Run("breaker", e.checkBreaker)
}

func TestLiveContainers(t *testing.T) {
	ensembletest.Require(t, container.Available(t.Context()))
	name := ensembletest.Name() + "-containers"
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Cleanup(func() {
		must.Get(container.Down(context.WithoutCancel(t.Context()), ensemble.Options{Name: name}))(t)
	})
	realEngine[*container.Ensemble]{
		name: name, up: container.Up,
		find: func(ctx context.Context) error { _, err := container.Find(ctx, name); return err },
		down: func(ctx context.Context) (int, error) {
			removed, err := container.Down(ctx, ensemble.Options{Name: name})
			if removed.Networks != 2 || removed.Volumes < ensemble.Size {
				t.Errorf("down removed %s", removed)
			}
			return removed.Containers, err
		},
		left: func(ctx context.Context) string {
			names, err := container.Names(ctx)
			if err != nil {
				return err.Error()
			}
			if slices.Contains(names, name) {
				return name
			}
			files, _ := filepath.Glob(filepath.Join(cache, "*"))
			return strings.Join(files, " ")
		},
		txnLog: func(path string, inMemory bool) bool {
			return strings.Contains(path, "datalog") && inMemory == (path == "/datalog/version-2 (tmpfs on tmpfs)")
		},
	}.check(t)
}

func TestLiveProcesses(t *testing.T) {
	ensembletest.Require(t, process.Available(""))
	name := ensembletest.Name() + "-processes"
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Cleanup(func() {
		must.Get(process.Down(context.WithoutCancel(t.Context()), ensemble.Options{Name: name}))(t)
	})
	state := filepath.Join(cache, "zkbench", "process", name)
	logsInMemory := func() string {
		folders, _ := filepath.Glob("/dev/shm/zkbench-*-" + name + "-*")
		return strings.Join(folders, " ")
	}
	realEngine[*process.Ensemble]{
		name: name, up: process.Up,
		find: func(context.Context) error { _, err := process.Find(name); return err },
		down: func(ctx context.Context) (int, error) { return process.Down(ctx, ensemble.Options{Name: name}) },
		left: func(context.Context) string {
			if _, err := os.Stat(state); errors.Is(err, os.ErrNotExist) {
				return logsInMemory()
			}
			return state
		},
		txnLog: func(path string, inMemory bool) bool {
			if inMemory {
				return strings.HasPrefix(path, "/dev/shm/zkbench-") && strings.Contains(path, "(tmpfs on ")
			}
			return strings.Contains(path, state) && logsInMemory() == "" // also of a run that has crashed
		},
	}.check(t)
}

// The faults of embedded servers have the same effects as those of real ones.
func TestFaultsOfEmbeddedServers(t *testing.T) {
	checkFaults(t, ensembletest.Embedded(t, embedded.Config{Voters: 3, Tick: 200 * time.Millisecond}))
}

func (e realEngine[E]) start(t *testing.T, opts ensemble.Options) E {
	t.Helper()
	opts.Name = e.name
	one := must.Get(e.up(t.Context(), opts))(t)
	t.Cleanup(func() {
		if t.Failed() { // it may hold the lock that the removal needs
			_ = one.Close(context.WithoutCancel(t.Context()))
		}
	})
	return one
}

func (e realEngine[E]) takeDown(t *testing.T) {
	t.Helper()
	if servers, err := e.down(t.Context()); err != nil || servers != ensemble.Size {
		t.Errorf("down ended %d servers, %v", servers, err)
	}
	if err := e.find(t.Context()); !errors.Is(err, ensemble.ErrNotUp) {
		t.Errorf("after down: %v, want ErrNotUp", err)
	}
	e.nothingLeft(t)
}

func (e realEngine[E]) nothingLeft(t *testing.T) {
	t.Helper()
	if left := e.left(t.Context()); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

func (e realEngine[E]) refused(t *testing.T, opts ensemble.Options, why string) {
	t.Helper()
	opts.Name = e.name
	if _, err := e.up(t.Context(), opts); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("with the options %+v: %v, want it to say %q", opts, err, why)
	}
}

// checkKept checks that an ensemble that is kept up can be described and attached to, and that closing an attached one leaves it up.
func (e realEngine[E]) checkKept(t *testing.T) {
	one := e.start(t, ensemble.Options{Lifetime: ensemble.Kept})
	d, err := one.Describe(t.Context())
	if err != nil || !strings.HasPrefix(d.Version, "3.") || d.Image == "" || d.Config["maxClientCnxns"] != "0" || !e.txnLog(d.TxnLog, false) {
		t.Errorf("description = %+v, %v", d, err)
	}
	var logs bytes.Buffer
	if err := one.Logs(t.Context(), &logs, 3); err != nil || !strings.Contains(logs.String(), "zoo3 | ") {
		t.Errorf("logs: %v\n%s", err, logs.String())
	}
	for range 2 { // the second must not return the first's histogram
		if used, err := one.HeapUsed(t.Context()); err != nil || used < 1<<20 || used > 512<<20 {
			t.Errorf("%d bytes in use (%v), want those of three servers", used, err)
		}
	}
	e.refused(t, ensemble.Options{}, ensemble.ErrBusy.Error())
	must.Do(t, one.Release())
	e.refused(t, ensemble.Options{TLS: true}, "already up without TLS")
	attached := e.start(t, ensemble.Options{})
	if attached.Servers()[0] != one.Servers()[0] {
		t.Errorf("attached to %v instead of %v", attached.Servers(), one.Servers())
	}
	must.Do(t, attached.Close(t.Context()))
	if err := e.find(t.Context()); err != nil {
		t.Errorf("closing an ensemble that was found took it down: %v", err)
	}
	e.takeDown(t)
}

// checkProtected checks an ensemble with TLS, a digest and transaction logs in memory, also when a server has crashed.
func (e realEngine[E]) checkProtected(t *testing.T) {
	one := e.start(t, ensemble.Options{Lifetime: ensemble.Kept, TxnLog: ensemble.InMemory, TLS: true, Digest: true})
	if d, err := one.Describe(t.Context()); err != nil || !e.txnLog(d.TxnLog, true) {
		t.Errorf("transaction log = %q, %v", d.TxnLog, err)
	}
	must.Do(t, one.Release())
	e.refused(t, ensemble.Options{TxnLog: ensemble.OnDisk}, "keeps its transaction logs in memory")
	attached := e.start(t, ensemble.Options{TxnLog: ensemble.InMemory, TLS: true, Digest: true})
	broken := attached.Servers()[0]
	must.Do(t, attached.Break(t.Context(), broken, ensemble.Kill))
	must.Do(t, attached.Restore(t.Context(), broken))
	must.Do(t, ensemble.AwaitReady(t.Context(), attached))
	for _, s := range attached.Servers() {
		checkProtectedServer(t, s)
	}
	must.Do(t, attached.Close(t.Context()))
	e.takeDown(t)
}

// checkProtectedServer checks that a server serves clients with TLS and the user of the ensemble, and no others.
func checkProtectedServer(t *testing.T, s ensemble.Server) {
	t.Helper()
	conn := must.Get(ensemble.Connect(t.Context(), s, wire.NewLedger(time.Now()), nil))(t)
	defer conn.Close()
	path := "/of-" + s.Name
	must.Get(conn.Create(path, nil, zk.FlagPersistent, s.ACL()))(t)
	acl, _, err := conn.GetACL(path) // the certificate is an identity of the client, too
	if isOfUser := func(a zk.ACL) bool { return a.Scheme == ensemble.Digest }; err != nil || !slices.ContainsFunc(acl, isOfUser) {
		t.Errorf("the znode of %s has the ACL %v, %v", s.Name, acl, err)
	}
	plain := ensemble.Server{Addr: s.Addr}
	if _, err := ensemble.Command(t.Context(), plain, "srvr\n"); err == nil { // with five bytes, the server notices that this is not TLS
		t.Errorf("%s answers without TLS", s.Name)
	}
	s.Auth = nil
	stranger := must.Get(ensemble.Connect(t.Context(), s, wire.NewLedger(time.Now()), nil))(t)
	defer stranger.Close()
	if _, err := stranger.Create(path+"/child", nil, zk.FlagPersistent, s.ACL()); err == nil {
		t.Errorf("%s serves sessions without a user", s.Name)
	}
}

// checkDebris checks that the next up replaces the servers and logs of a crashed run, whose lock the kernel has released.
func (e realEngine[E]) checkDebris(t *testing.T) {
	crashed := e.start(t, ensemble.Options{TxnLog: ensemble.InMemory})
	must.Do(t, crashed.Release())
	next := e.start(t, ensemble.Options{})
	if next.Servers()[0] == crashed.Servers()[0] {
		t.Error("the next run measured on debris")
	}
	if d, err := next.Describe(t.Context()); err != nil || !e.txnLog(d.TxnLog, false) {
		t.Errorf("transaction log = %q, %v; want it with the other files again", d.TxnLog, err)
	}
	must.Do(t, next.Close(t.Context()))
	e.nothingLeft(t)
}

// checkBreaker checks the faults of servers, and that servers with any fault can be removed.
func (e realEngine[E]) checkBreaker(t *testing.T) {
	one := e.start(t, ensemble.Options{})
	checkFaults(t, one)
	for i, fault := range one.ServerFaults() {
		must.Do(t, one.Break(t.Context(), one.Servers()[i], fault))
	}
	must.Do(t, one.Close(t.Context()))
	e.nothingLeft(t)
}
