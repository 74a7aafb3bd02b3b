package runner

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// stepper is a participant that only has a step.
type stepper func(context.Context) error

func (s stepper) Step(ctx context.Context) error { return s(ctx) }
func (stepper) Leave(context.Context) error      { return nil }

// A client starts when its session has seen all writes of the clients before it. Otherwise the number of its requests
// would depend on how far its server lags behind.
func TestLockstepStartsClientsUpToDate(t *testing.T) {
	e := ensembletest.Embedded(t, embedded.Config{})
	create := variants.Variant{Join: func(_ context.Context, env variants.Env) (variants.Participant, error) {
		return stepper(func(ctx context.Context) error { return env.Session.Ensure(ctx, env.Root, nil, 0) }), nil
	}}
	p, err := pool.Connect(t.Context(), pool.Config{Servers: e.Servers(), Clients: 2, Root: "/made"}, create)
	if err != nil {
		t.Fatal(err)
	}
	defer p.CloseAll(t.Context())
	second, seen := p.Clients[1], int64(0)
	second.Participant = stepper(func(context.Context) error { seen = second.Ledger.LastZxid(); return nil })

	l := &lockstep{measurement: &measurement{patience: time.Minute}, pool: p, working: map[*pool.Client]bool{}}
	group, ctx := errgroup.WithContext(t.Context())
	if err := l.lineUp(ctx, group); err != nil {
		t.Fatal(err)
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if made := p.Clients[0].Ledger.LastZxid(); seen < made {
		t.Errorf("the second client began at transaction %#x, but the first had made %#x", seen, made)
	}
}

// slow is a session of a client library that takes its time to pass on notifications, as on a busy machine.
type slow struct {
	session.Conn
	pool.OwnSession
}

const slowness = 100 * pool.SettlePoll

// ExistsW implements [session.Conn].
func (s slow) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	exists, stat, events, err := s.Conn.ExistsW(path)
	passed := make(chan zk.Event, 1)
	go func() {
		event := <-events
		time.Sleep(slowness)
		passed <- event
	}()
	return exists, stat, passed, err
}

// Fence returns when the library has passed on the notifications that came before the reply.
func (s slow) Fence() error {
	err := s.OwnSession.Fence()
	time.Sleep(2 * slowness)
	return err
}

// A client that has been notified is not at rest, however late its library passes the notification on. The same holds if the client
// has another watch, such as one in the background.
func TestNotifiedClientIsNotAtRest(t *testing.T) {
	ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
		p, err := pool.Connect(t.Context(), pool.Config{Servers: e.Servers(), Clients: 2, Root: "/"}, variants.Variant{
			Join: func(context.Context, variants.Env) (variants.Participant, error) { return stepper(nil), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer p.CloseAll(t.Context())
		l := &lockstep{measurement: &measurement{patience: time.Minute}, pool: p, working: map[*pool.Client]bool{}}
		first, second := p.Clients[0], p.Clients[1]
		library := slow{Conn: second.Session.Conn(), OwnSession: second.Own}
		second.Session, second.Own = second.Session.Through(library), library
		first.Participant = stepper(func(ctx context.Context) error {
			if err := first.Session.Ensure(ctx, "/held", nil, 0); err != nil {
				return err
			}
			if err := l.hold(ctx, first, first.Life, nil); err != nil {
				return err
			}
			return first.Session.Discard(ctx, "/held")
		})
		second.Participant = stepper(func(ctx context.Context) error {
			if _, _, _, err := second.Session.Background().ChildrenW(ctx, "/zookeeper"); err != nil {
				return err
			}
			_, _, watch, err := second.Session.ExistsW(ctx, "/held")
			if err != nil {
				return err
			}
			return second.Session.Await(ctx, watch)
		})
		for _, c := range p.Clients {
			c.Ledger.KeepWrites()
		}
		group, ctx := errgroup.WithContext(t.Context())
		if err := errors.Join(l.lineUp(ctx, group), l.serve(ctx, l.first)); err != nil {
			t.Fatal(err)
		}
		if waiting := l.progress(); len(waiting) > 0 {
			t.Errorf("client %d counts as waiting, although it has been notified", waiting[0].client.ID)
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
	})
}
