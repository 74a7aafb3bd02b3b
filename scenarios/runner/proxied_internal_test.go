package runner

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/scenarios/observe"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/lock"
)

// The observer behind a proxy reports the same counts, to the last frame and byte, as the clients of a lock in their own process.
func TestProxyCountsWhatClientsCount(t *testing.T) {
	server := ensembletest.Embedded(t, embedded.Config{}).Addr()
	for _, v := range lock.Recipe().Variants {
		for _, n := range []int{10, 50} {
			t.Run(fmt.Sprintf("%s/%d", v.Name, n), func(t *testing.T) {
				epoch := time.Now()
				observer := observe.New(epoch, results.Environment{ZooKeeper: "3.9.3"})
				p, err := proxy.Start(t.Context(), proxy.Config{Servers: []string{server}, Epoch: epoch, Observer: observer})
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				want := lineUpAndRelease(t, server, p.Addresses()[0], v, n)
				awaitUnused(t, p)
				r := observer.Report()
				writes, failed := want.Writes()
				if r.Requests != want.TotalRequests() || r.Writes != writes || r.FailedWrites != failed || r.Notifications != want.TotalNotifications() ||
					r.BytesIn != want.BytesIn || r.BytesOut != want.BytesOut {
					t.Errorf("the observer reports %+v, the clients counted %+v", r, want)
				}
			})
		}
	}
}

// lineUpAndRelease lets each client acquire and release a lock twice, through an address, and returns the clients' counts.
func lineUpAndRelease(t *testing.T, server, address string, v variants.Variant, n int) (total wire.Counts) {
	t.Helper()
	root := fmt.Sprintf("/%s-%d", v.Name, n)
	conn, err := ensemble.Connect(t.Context(), ensemble.Server{Addr: server}, wire.NewLedger(time.Now()), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Create(root, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	p, err := pool.Connect(t.Context(), pool.Config{Servers: []ensemble.Server{{Name: "proxied", Addr: address}}, Clients: n, Root: root}, v)
	if err != nil {
		t.Fatal(err)
	}
	p.Hold = holdNot
	s := newStream(crewOf(p), lock.Recipe(), recorder.New(recorder.Config{Operation: lock.Recipe().Operation}), nil)
	s.start()
	group, ctx := errgroup.WithContext(t.Context())
	for _, c := range p.Clients {
		group.Go(func() error {
			if err := c.Participant.Step(ctx); err != nil {
				return err
			}
			return c.Participant.Step(ctx)
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	s.finish(false)
	p.CloseAll(context.WithoutCancel(t.Context()))
	for _, c := range p.Clients {
		total.Add(c.Counts())
	}
	return total
}

func awaitUnused(t *testing.T, p *proxy.Proxy) {
	t.Helper()
	ensembletest.Await(t, func() string {
		if s := p.Stats(); s.Open > 0 {
			return fmt.Sprintf("%d connections are open", s.Open)
		}
		return ""
	})
}
