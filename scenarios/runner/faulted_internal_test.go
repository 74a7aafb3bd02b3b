package runner

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/namespace"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/lock"
)

// FaultedLoad is a load of clients that take one lock in turn, while their connections and sessions fail.
type FaultedLoad struct {
	Clients int
	Seed    uint64   // of whom and what each fault hits, and when
	Faults  []string // the kinds
}

// faulted is a load that runs.
type faulted struct {
	FaultedLoad
	t        *testing.T
	ensemble ensemble.Ensemble
	epoch    time.Time
	dir      string
	random   *rand.Rand
	traps    []*ensemble.Trap

	mu    sync.Mutex
	live  []*client
	links []*ensemble.Link // of the live clients
	lives []*ensemble.Link // all, ended ones included
}

// Run runs the load, and returns its oracle and counts.
func (l FaultedLoad) Run(t *testing.T, e ensemble.Ensemble) (results.Oracle, wire.Counts) {
	t.Helper()
	f := &faulted{
		FaultedLoad: l, t: t, ensemble: e, epoch: time.Now(), random: rand.New(rand.NewPCG(l.Seed, 0)),
		live: make([]*client, l.Clients), links: make([]*ensemble.Link, l.Clients),
	}
	f.makeDir()
	for i := range l.Clients {
		f.begin(i)
	}
	before := f.snapshot()
	f.load()
	after := f.snapshot()
	for _, c := range f.live {
		c.monitor.Dismiss()
		c.own.Close()
	}
	counts := after.client
	counts.Sub(before.client)
	return crossCheck(true, before, after), counts
}

// load runs the clients until all faults have happened.
func (f *faulted) load() {
	ctx, stop := context.WithCancel(f.t.Context())
	var load sync.WaitGroup
	for i := range f.Clients {
		load.Go(func() { f.loop(ctx, i) })
	}
	for _, fault := range f.Faults {
		f.cause(fault)
		_ = sleep(ctx, time.Duration(f.random.IntN(50))*time.Millisecond)
	}
	for _, trap := range f.traps {
		trap.Disarm()
	}
	stop()
	load.Wait()
}

func (f *faulted) makeDir() {
	conn, err := ensemble.Connect(f.t.Context(), f.ensemble.Servers()[0], wire.NewLedger(f.epoch), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	f.dir, err = conn.Create("/faulted-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(f.removeDirectory)
}

// removeDirectory leaves the servers to other tests as they were.
func (f *faulted) removeDirectory() {
	ctx := context.WithoutCancel(f.t.Context())
	c, err := namespace.Connect(ctx, f.ensemble.Servers())
	if err != nil {
		f.t.Error(err)
		return
	}
	defer c.Conn.Close()
	if _, err := c.Remove(ctx, f.dir); err != nil {
		f.t.Error(err)
	}
}

// begin opens a client's next session.
func (f *faulted) begin(i int) {
	const timeout = 4 * time.Second
	c := &client{id: i, life: newLife(0, f.epoch, i, nil)}
	link := c.link
	f.mu.Lock()
	f.lives = append(f.lives, link)
	f.mu.Unlock()
	var servers []ensemble.Server
	for j := range f.ensemble.Servers() {
		servers = append(servers, f.ensemble.Servers()[(i+j)%len(f.ensemble.Servers())])
	}
	conn, err := ensemble.OpenSession(f.t.Context(), ensemble.SessionConfig{
		Servers: servers, Timeout: timeout, Link: link, Observe: c.monitor.Observe,
	})
	if err != nil {
		f.t.Error(err)
		return
	}
	c.own = newGoSession(conn)
	c.monitor.Guard(c.own)
	c.session = variants.NewSession(conn, c.monitor.Lost())
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[i], f.links[i] = c, link
}

// loop takes the lock again and again, in as many sessions as it needs.
func (f *faulted) loop(ctx context.Context, i int) {
	for ctx.Err() == nil && !f.t.Failed() {
		l := lock.NewChildrenWatch(f.live[i].session, f.dir) // a herd, so that much is under way when a connection ends
		var err error
		for err == nil {
			if _, err = l.Acquire(ctx); err == nil {
				err = l.Release(context.WithoutCancel(ctx))
			}
		}
		if errors.Is(err, variants.ErrSessionLost) {
			f.live[i].own.Close()
			f.begin(i)
		} else if ctx.Err() == nil {
			f.t.Errorf("client %d: %v", i, err)
		}
	}
	if f.live[i].over() { // so that every client has a session in the end
		f.begin(i)
	}
}

// cause makes one fault happen to a random client.
func (f *faulted) cause(fault string) {
	ops := []wire.Opcode{wire.OpCreate, wire.OpGetChildren2, wire.OpGetData, wire.OpDelete}
	f.mu.Lock()
	i := f.random.IntN(len(f.links))
	c, link := f.live[i], f.links[i]
	f.mu.Unlock()
	op := ops[f.random.IntN(len(ops))]
	switch fault {
	case "cut":
		link.Cut()
	case "before", "after":
		f.traps = append(f.traps, ensemble.CutFirst([]*ensemble.Link{link}, op, fault == "after"))
	case "sever":
		link.Sever()
		<-c.monitor.Lost()
	case "expire":
		if err := link.Expire(f.t.Context()); err != nil && !errors.Is(err, ensemble.ErrNoSession) {
			f.t.Error(err)
		}
	}
}

// snapshot takes a snapshot with the counts of all lives.
func (f *faulted) snapshot() snapshot {
	f.t.Helper()
	for _, l := range f.lives {
		if err := l.Settle(f.t.Context()); err != nil {
			f.t.Fatal(err)
		}
	}
	m := &measurement{ensemble: f.ensemble, pool: &clientPool{epoch: f.epoch, clients: f.live}}
	r, err := m.snapshotAtRest(f.t.Context())
	if err = errors.Join(err, r.err); err != nil {
		f.t.Fatal(err)
	}
	r.client = wire.Counts{}
	for _, l := range f.lives {
		r.client.Add(l.Ledger().Counts())
		if n := l.Ledger().Unmatched(); n > 0 {
			f.t.Errorf("%d frames are unmatched", n)
		}
	}
	return r
}
