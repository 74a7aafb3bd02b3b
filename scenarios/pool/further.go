package pool

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// furtherSession is a session that a participant has opened in one life beside its first one.
type furtherSession struct {
	conn     goSession
	link     *ensemble.Link
	monitor  *session.Monitor
	survives func() bool // stops the end of the client's life from ending the session
	ending   sync.Once
}

// dial returns the function with which the participant of a client's life opens further sessions; see [variants.DialFunc].
func (c *Client) dial(l *Life, at Config) variants.DialFunc {
	return func(ctx context.Context) (*session.Session, func(), error) {
		s, err := l.openFurther(ctx, at.nearest(c.server, l.Link.Server()), at.Timeout)
		if err != nil {
			return nil, nil, err
		}
		hangUp := func() { l.hangUp(ctx, s) }
		return newSession(unwatched{s.conn.Conn}, s.monitor, c.server), hangUp, nil
	}
}

// openFurther opens a further session. It gives up when the first one is lost.
func (l *Life) openFurther(ctx context.Context, servers []ensemble.Server, timeout time.Duration) (*furtherSession, error) {
	opening, cancel := session.UntilLost(ctx, l.Monitor.Lost(), func() error { return session.ErrSessionLost })
	defer cancel()
	s := &furtherSession{link: l.Link.Further(), monitor: session.NewMonitor(ensemble.SessionTimeout)}
	conn, err := ensemble.OpenSession(opening,
		ensemble.SessionConfig{Servers: servers, Timeout: timeout, Link: s.link, Observe: s.monitor.Observe})
	if err != nil {
		s.settle(ctx)
		return nil, err
	}
	s.conn = newGoSession(conn)
	s.monitor.SetTimeout(s.link.Ledger().SessionTimeout())
	s.monitor.Guard(s.conn)
	s.survives = context.AfterFunc(l.dead, s.monitor.Lose) //nolint:contextcheck // l.dead is the life's
	l.further.Store(s, nil)
	return s, nil
}

// nearest returns the servers to which a client of a server may connect. The one to which it is connected comes first: when
// the reply to a write of a further session arrives, the write is then visible at the first session's server.
func (at Config) nearest(home ensemble.Server, connected ensemble.Server) []ensemble.Server {
	all := slices.Clone(at.serversOf(home))
	if i := slices.Index(all, connected); i > 0 {
		all[0], all[i] = all[i], all[0]
	}
	return all
}

// settle is for a session that is closed or could not be opened. It returns when the counts of the session are final.
func (s *furtherSession) settle(ctx context.Context) {
	s.monitor.Dismiss()
	_ = s.link.Settle(context.WithoutCancel(ctx)) // an error leaves counts in doubt, as the ledger says
	s.link.Detach()
}

// hangUp closes a further session, and returns when its counts are final. It does not wait for the close of a lost session, whose
// answer may not come.
func (l *Life) hangUp(ctx context.Context, s *furtherSession) {
	s.ending.Do(func() {
		s.survives()
		select {
		case <-closing(s.conn):
		case <-s.monitor.Lost():
		}
		s.settle(ctx)
	})
	l.further.Delete(s)
}

func (l *Life) hangUpAll(ctx context.Context) {
	for s := range l.further.Range {
		l.hangUp(ctx, s.(*furtherSession))
	}
}

var errUnwatched = errors.New("a further session of a participant sets no watches: wait on the first one")

type unwatched struct{ *zk.Conn }

func (unwatched) ExistsW(string) (bool, *zk.Stat, <-chan zk.Event, error) {
	return false, nil, nil, errUnwatched
}

func (unwatched) GetW(string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	return nil, nil, nil, errUnwatched
}

func (unwatched) ChildrenW(string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	return nil, nil, nil, errUnwatched
}
