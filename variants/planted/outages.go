package planted

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/treecache"
	"github.com/zkbench/zkbench/variants/twophasecommit"
)

// TrustingLock returns a lock whose clients trust their watches after an outage: a client that waits for a change may wait for ever.
func TrustingLock() variants.Variant {
	return onSession(named(lock.Recipe(), "released-mark"), "trusting", "released-mark with watches that are trusted after an outage", Trusting)
}

// Trusting returns a handle on a session that does not observe when the connection is made again.
func Trusting(s *variants.Session) *variants.Session { return variants.NewSession(s.Conn(), s.Lost()) }

// StaleTree returns a tree cache whose clients learn late that their connection was lost: their reads overtake the watches, and the copy
// may lack changes for good.
func StaleTree() variants.Variant {
	v := named(treecache.Recipe(), "resumed-watches")
	join := v.Join
	v.Name, v.Summary = "stale", "resumed-watches with clients that learn late of an outage"
	v.Join = func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		session, err := Late(ctx, env.Session)
		if err != nil {
			cancel()
			return nil, err
		}
		env.Session = session
		p, err := join(ctx, env)
		return forwarded{p, cancel}, err
	}
	return v
}

// forwarded is a participant whose events are forwarded until it leaves.
type forwarded struct {
	variants.Participant
	stop func()
}

// Leave implements [variants.Participant].
func (f forwarded) Leave(ctx context.Context) error {
	defer f.stop()
	return f.Participant.Leave(ctx)
}

// lateness is how much later than the client library a client learns of an outage.
const lateness = time.Second

// Late returns a handle on a session that learns late when the connection is lost and made again, until ctx ends.
func Late(ctx context.Context, s *variants.Session) (*variants.Session, error) {
	events, err := s.Subscribe()
	if err != nil {
		return nil, err
	}
	late := variants.NewMonitor(time.Hour)
	go func() {
		for s.AwaitEvents(ctx, events, nil) == nil {
			for _, e := range events.Take() {
				if e.Type == zk.EventSession {
					time.AfterFunc(lateness, func() { late.Observe(e) })
				} else {
					late.Observe(e)
				}
			}
		}
		late.Lose()
	}()
	return variants.NewMonitoredSession(unclosable{s.Conn()}, late), nil
}

// unclosable is a connection that its monitor does not close.
type unclosable struct{ variants.Conn }

// LockedOutCoordinator returns a two-phase commit whose coordinator does not expect that a request of its former session takes effect late.
func LockedOutCoordinator() variants.Variant {
	return mistaken(named(twophasecommit.Recipe(), "coordinator"), "locked-out", "coordinator that gives up on what its former session has opened", func(c variants.Conn) variants.Conn {
		return Unexpecting{c}
	})
}

// Unexpecting is a connection on which a transaction that exists already belongs to another client.
type Unexpecting struct{ variants.Conn }

// Multi implements [variants.Conn].
func (u Unexpecting) Multi(ops ...any) ([]zk.MultiResponse, error) {
	results, err := u.Conn.Multi(ops...)
	if errors.Is(err, zk.ErrNodeExists) {
		err = twophasecommit.ErrTaken
	}
	return results, err
}

// Create implements [variants.Conn].
func (u Unexpecting) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	name, err := u.Conn.Create(path, data, flags, acl)
	if errors.Is(err, zk.ErrNodeExists) {
		err = twophasecommit.ErrTaken
	}
	return name, err
}

// OutlivedLock returns a lock whose clients do not notice that the client library goes on with a new session: after a lost reply, a client
// may take another one's fencing token for its own, and delete its znode.
func OutlivedLock() variants.Variant {
	return onSession(named(lock.Recipe(), "znode"), "outlived", "znode with clients that do not notice a new session", func(s *variants.Session) *variants.Session {
		return variants.NewSession(Outlived{s.Conn(), s.ID()}, s.Lost())
	})
}

// Outlived is a connection that has the id of its first session for ever.
type Outlived struct {
	variants.Conn
	First int64
}

// SessionID implements [variants.Conn].
func (o Outlived) SessionID() int64 { return o.First }
