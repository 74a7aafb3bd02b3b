package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/session"
)

// persistent is a connection that creates no ephemeral znodes: what a client that has died holds never becomes free
// again.
type persistent struct{ session.Conn }

func (p persistent) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	return p.Conn.Create(path, data, flags&^zk.FlagEphemeral, acl)
}

// farewell is written to a znode just before it is deleted.
const farewell = "released"

// announced is a connection that announces its own deletions, and on which watches fire for announcements only: a client whose predecessor
// dies waits for ever.
type announced struct{ session.Conn }

func (a announced) Delete(path string, version int32) error {
	if _, err := a.Set(path, []byte(farewell), version); err != nil {
		return err
	}
	return a.Conn.Delete(path, -1)
}

// A znode whose end has been announced counts as gone.
func (a announced) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, events, err := a.Conn.GetW(path)
	if err == nil && string(data) == farewell {
		return nil, nil, nil, zk.ErrNoNode
	}
	if err != nil {
		return nil, nil, nil, err
	}
	return data, stat, announcements(events), nil
}

// announcements passes on the event of a watch, unless it is a deletion.
func announcements(events <-chan zk.Event) <-chan zk.Event {
	passed := make(chan zk.Event, 1) // like the client library's: nothing may wait for the event
	go func() {
		if e, ok := <-events; ok && e.Type != zk.EventNodeDeleted {
			passed <- e
		}
	}()
	return passed
}

// undyingHolders returns a lock whose holder makes a request at the end, ignores that its session turns out to be lost, and holds on until
// other clients have been granted the lock twice.
func undyingHolders() variants.Variant {
	grants := newTally()
	return joining(func(env variants.Env) session.Lock {
		return undying{lock.NewPredecessorWatch(env.Session, env.Root), grants}
	}, func(ctx context.Context, env variants.Env) error {
		_, _, _ = env.Session.Exists(ctx, env.Root)
		if env.Session.Alive() == nil {
			return nil
		}
		return grants.await(ctx, 2)
	})
}

// joining returns predecessor-watch with other locks, whose holders do something else after each hold.
func joining(open func(variants.Env) session.Lock, after func(context.Context, variants.Env) error) variants.Variant {
	v := named(lock.Recipe(), "predecessor-watch")
	v.Join = func(_ context.Context, env variants.Env) (variants.Participant, error) {
		hold := env.Hold
		env.Hold = func(ctx context.Context, asked <-chan struct{}) error {
			if err := hold(ctx, asked); err != nil {
				return err
			}
			return after(ctx, env)
		}
		return exclusion.NewParticipant(open(env), env), nil
	}
	return v
}

// undying is a lock whose grants are never lost. It counts them.
type undying struct {
	session.Lock
	grants *tally
}

func (u undying) Acquire(ctx context.Context) (session.Grant, error) {
	grant, err := u.Lock.Acquire(ctx)
	if err == nil {
		u.grants.add()
	}
	return session.Grant{Token: grant.Token}, err
}

// tally counts, and lets others wait for it.
type tally struct {
	mu   sync.Mutex
	next chan struct{} // closed when the count grows
}

func newTally() *tally { return &tally{next: make(chan struct{})} }

func (c *tally) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.next)
	c.next = make(chan struct{})
}

// await returns when the tally has grown so many times.
func (c *tally) await(ctx context.Context, times int) error {
	for range times {
		c.mu.Lock()
		next := c.next
		c.mu.Unlock()
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// staleTokens returns a lock whose fencing token is one more than the last holder has written, which it does as it releases: after a holder
// that did not come to that, the next one is granted the same token.
func staleTokens() variants.Variant {
	return joining(func(env variants.Env) session.Lock {
		return &stale{Lock: lock.NewPredecessorWatch(env.Session, env.Root), session: env.Session.Fork(), path: path.Join(env.Root, "token")}
	}, func(context.Context, variants.Env) error { return nil })
}

type stale struct {
	session.Lock
	session *session.Session
	path    string // of the last token
	token   int64
}

func (s *stale) Acquire(ctx context.Context) (session.Grant, error) {
	grant, err := s.Lock.Acquire(ctx)
	if err != nil {
		return grant, err
	}
	data, _, err := s.session.Get(ctx, s.path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
	case err != nil:
		return grant, errors.Join(err, s.Lock.Release(ctx))
	}
	last, _ := strconv.ParseInt(string(data), 10, 64)
	s.token = last + 1
	return session.Grant{Token: s.token, Lost: grant.Lost}, nil
}

func (s *stale) Release(ctx context.Context) error {
	if err := s.session.Alive(); err != nil {
		return err
	}
	if err := s.session.Ensure(ctx, s.path, nil, 0); err != nil {
		return err
	}
	if _, err := s.session.Set(ctx, s.path, fmt.Append(nil, s.token), -1); err != nil {
		return err
	}
	return s.Lock.Release(ctx)
}
