package simulation_test

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/twophasecommit"
)

// Trusting returns a handle on a session that does not observe when the connection is made again: a client that waits for a change trusts its
// watches, and may wait for ever.
func Trusting(s *session.Session) *session.Session { return session.NewSession(s.Conn(), s.Lost()) }

// lateness is how much later than the client library a client learns of an outage.
const lateness = time.Second

// Late returns a handle on a session that learns late when the connection is lost and made again, until ctx ends: the reads of a tree cache
// overtake its watches, and the copy may lack changes for good.
func Late(ctx context.Context, s *session.Session) (*session.Session, error) {
	events, err := s.Subscribe()
	if err != nil {
		return nil, err
	}
	late := session.NewMonitor(time.Hour)
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
	return session.NewMonitoredSession(s.Conn(), late), nil
}

// Unexpecting is a connection on which a transaction that exists already belongs to another client: a coordinator that joins again gives up on
// what a late request of its former session has opened.
type Unexpecting struct{ session.Conn }

func (u Unexpecting) Multi(ops ...any) ([]zk.MultiResponse, error) {
	results, err := u.Conn.Multi(ops...)
	return results, taken(err)
}

func (u Unexpecting) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	name, err := u.Conn.Create(path, data, flags, acl)
	return name, taken(err)
}

func taken(err error) error {
	if errors.Is(err, zk.ErrNodeExists) {
		return twophasecommit.ErrTaken
	}
	return err
}
