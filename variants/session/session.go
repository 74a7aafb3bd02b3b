// Package session is what an application needs to use a recipe: a ZooKeeper session with operations that take a context, watches that
// survive outages, the moment from which the session counts as lost, and what a client holds or writes by it.
//
// It takes one position: a lost reply and a lost connection are ordinary. Each operation says what is known after them, and no success is
// reported to a client whose session may be gone. [Open] opens a session; the recipes are in the folders beside this one.
//
// Who only uses a recipe needs Open, [Session.Ensure], [Lock], [Grant] and [ErrSessionLost]. The rest is for those who write one.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// ErrSessionLost reports that a session is lost: it has ended, or the client must assume so. Its ephemeral znodes are
// lost with it. The session must then be closed, as a monitor that guards it does (see [Monitor.Guard]). Otherwise a session
// that was only cut off for a while would come back with ephemeral znodes that its client no longer counts on.
var ErrSessionLost = errors.New("the ZooKeeper session was lost")

// retryPause is the time between two attempts at an operation. Without a connection, an attempt fails at once.
const retryPause = 50 * time.Millisecond

// Session is a recipe's handle on a ZooKeeper session. It has operations that take a context, a channel that reports
// the loss of the session, and an executor that runs the recipe's calls one after another.
//
// Operations are repeated while the connection is down. Writes report whether they were repeated, because an earlier
// attempt may have taken effect although its reply was lost. The last attempt may then return an error: a create finds
// the client's own znode, and a delete finds no znode.
//
// A repeated operation stops with ErrSessionLost or the context's error, but only when an attempt has failed. So a
// success does not prove that the session is still alive: see [Session.Alive].
//
// One handle serves one object, such as a queue. Another object on the same session needs a handle of its own (see
// [Session.Fork]), or its operations would wait for the operations of the first; locks and elections make one for themselves.
// Methods may be called concurrently.
type Session struct {
	*sessionState
	executor   chan struct{}
	background bool // Waiting leaves out the waits of this handle
}

type sessionState struct {
	conn      *creator
	monitor   *Monitor // nil if the session's events are not observed
	lost      <-chan struct{}
	sends     SendAwaiter // nil if it is not known when requests are sent
	outages   atomic.Int64
	unknown   atomic.Pointer[func()] // see WhenUnknown; nil for nothing
	overtakes atomic.Int64           // see Overtakes
	waiting   atomic.Pointer[Wait]   // nil while the session does not wait
	waits     atomic.Int64           // the number of waits that have begun
	jitters   atomic.Uint64          // the number of calls of Jitter
}

// NewSession returns a handle on a session whose events are not observed, so that a watch may be lost with a connection. lost
// is closed when the session is lost, as by a [Monitor]. If it is nil, the session never counts as lost.
func NewSession(conn Conn, lost <-chan struct{}) *Session {
	return (&Session{sessionState: &sessionState{conn: &creator{conn, zk.WorldACL(zk.PermAll)}, lost: lost}}).Fork()
}

// NewMonitoredSession returns a handle on a session whose events a monitor observes, and which it should guard: see [Monitor.Guard].
func NewMonitoredSession(conn Conn, monitor *Monitor) *Session {
	s := NewSession(conn, monitor.Lost())
	s.monitor = monitor
	return s
}

// CreateWith sets the list for creates without one. The default is world:anyone:cdrwa. Call it before the first operation.
func (s *Session) CreateWith(acl []zk.ACL) { s.conn.acl = acl }

// ACL returns the list for creates through [Session.Conn], see [Session.CreateWith]. The caller must not change it.
func (s *Session) ACL() []zk.ACL { return s.conn.acl }

// Fork returns a handle on the same session with an executor of its own.
func (s *Session) Fork() *Session {
	return &Session{sessionState: s.sessionState, executor: make(chan struct{}, 1)}
}

// Background returns a handle on the same session for work that runs beside the client's operations, such as waiting
// for a request to release a lock while the client holds it. [Session.Waiting] leaves out the waits of this handle.
func (s *Session) Background() *Session {
	b := s.Fork()
	b.background = true
	return b
}

// Through returns a handle on the same session whose operations use another connection, such as one that counts them.
func (s *Session) Through(conn Conn) *Session {
	return (&Session{sessionState: &sessionState{conn: &creator{conn, s.ACL()}, monitor: s.monitor, lost: s.lost, sends: s.sends}}).Fork()
}

// ID returns the session's id, which the server assigns. After an expiry the client library opens a new session with a
// new id.
func (s *Session) ID() int64 { return s.conn.SessionID() }

// Conn returns the client library's connection, for operations that Session lacks. Its creates need a list: see [Session.ACL].
func (s *Session) Conn() Conn { return s.conn.Conn }

// Lost returns the channel that is closed when the session is lost.
func (s *Session) Lost() <-chan struct{} { return s.lost }

// Alive returns ErrSessionLost if the session is lost. A recipe calls it before it reports success, because the client
// library opens a new session after a loss. The new session owns no ephemeral znode, and its server may lag behind the
// state that the lost session has seen.
func (s *Session) Alive() error {
	if IsClosed(s.lost) {
		return ErrSessionLost
	}
	return nil
}

// Waiting returns the session's current wait for a watch, or nil if it does not wait, and the number of waits that have
// begun so far. In a lockstep run, the runner uses both to find out which clients are at rest.
func (s *Session) Waiting() (wait *Wait, begun int64) { return s.waiting.Load(), s.waits.Load() }

// Outages returns the number of attempts so far whose outcome is unknown because the connection was lost.
func (s *Session) Outages() int64 { return s.outages.Load() }

// WhenUnknown sets the function that is called after each attempt with an unknown outcome, before it is repeated, except
// for attempts in the background. It may be called by several goroutines at once, and must not block.
func (s *Session) WhenUnknown(f func()) { s.unknown.Store(&f) }

// Overtakes returns the number of requests so far that may have overtaken the watches when the connection was made again:
// they were under way then, or were sent within a [RewatchPause]. After the reply to such a request, the server may not
// notify the session of earlier changes.
func (s *Session) Overtakes() int64 { return s.overtakes.Load() }

// Once makes one attempt at an operation. If the outcome is unknown, it returns the client library's error, which
// [OutcomeUnknown] recognizes. Once does not check whether the session is lost.
func (s *Session) Once(ctx context.Context, op func(Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.attempt(op)
}

// attempt counts attempts with an unknown outcome and attempts that may have overtaken watches. It translates the errors of a
// session that has expired or is being closed.
func (s *Session) attempt(op func(Conn) error) error {
	again, recent := s.monitor.connection()
	err := op(s.conn)
	switch {
	case OutcomeUnknown(err):
		s.outages.Add(1)
		if f := s.unknown.Load(); f != nil && !s.background {
			(*f)()
		}
	case recent || IsClosed(again):
		s.overtakes.Add(1)
	}
	if errors.Is(err, zk.ErrSessionExpired) || errors.Is(err, zk.ErrClosing) {
		return ErrSessionLost
	}
	return err
}

// Retry repeats an operation while its outcome is unknown, and reports whether it made more than one attempt. The
// operation may take effect more than once. The first attempt is made even if the session is lost or ctx has ended.
func (s *Session) Retry(ctx context.Context, op func(Conn) error) (repeated bool, err error) {
	for ; ; repeated = true {
		err := s.attempt(op)
		if !OutcomeUnknown(err) {
			return repeated, err
		}
		select {
		case <-ctx.Done():
			return repeated, fmt.Errorf("%w while the connection was down (%w)", ctx.Err(), err)
		case <-s.lost:
			return repeated, ErrSessionLost
		case <-time.After(retryPause):
		}
	}
}

// Sleep returns after d, or earlier with ErrSessionLost or the context's error.
func (s *Session) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return cmp.Or(ctx.Err(), s.Alive()) // both may have come while this goroutine did not run
	case <-s.lost:
		return ErrSessionLost
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Jitter returns a random time below d, which must be positive. It depends on the session's id, so that clients get different
// ones, and a run in virtual time can be repeated.
func (s *Session) Jitter(d time.Duration) time.Duration {
	random := rand.New(rand.NewPCG(uint64(s.ID()), s.jitters.Add(1))) //nolint:gosec // no secret
	return time.Duration(random.Int64N(int64(d)))
}

// Exists reports whether a znode exists.
func (s *Session) Exists(ctx context.Context, path string) (exists bool, stat *zk.Stat, err error) {
	return read(ctx, s, path, Conn.Exists)
}

// ExistsW is Exists with a watch. If the znode does not exist, the watch fires when it is created.
func (s *Session) ExistsW(ctx context.Context, path string) (exists bool, stat *zk.Stat, watch *Watch, err error) {
	return readW(ctx, s, path, Conn.ExistsW)
}

// Get returns the data of a znode.
func (s *Session) Get(ctx context.Context, path string) (data []byte, stat *zk.Stat, err error) {
	return read(ctx, s, path, Conn.Get)
}

// Find is Get for a znode that may be gone, and returns false if it is.
func (s *Session) Find(ctx context.Context, path string) (data []byte, found bool, err error) {
	data, _, err = s.Get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, false, nil
	}
	return data, err == nil, Attempted("read "+path, err)
}

// GetW is Get with a watch. If the znode does not exist, GetW returns zk.ErrNoNode and sets no watch.
func (s *Session) GetW(ctx context.Context, path string) (data []byte, stat *zk.Stat, watch *Watch, err error) {
	return readW(ctx, s, path, Conn.GetW)
}

// Children returns the names of a znode's children, in no particular order.
func (s *Session) Children(ctx context.Context, path string) (names []string, stat *zk.Stat, err error) {
	return read(ctx, s, path, Conn.Children)
}

// ChildrenW is Children with a watch, which fires when a child is created or deleted.
func (s *Session) ChildrenW(ctx context.Context, path string) (names []string, stat *zk.Stat, watch *Watch, err error) {
	return readW(ctx, s, path, Conn.ChildrenW)
}

func read[T any](
	ctx context.Context, s *Session, path string, op func(Conn, string) (T, *zk.Stat, error),
) (value T, stat *zk.Stat, err error) {
	_, err = s.Retry(ctx, func(c Conn) (err error) {
		value, stat, err = op(c, path)
		return err
	})
	return value, stat, err
}

// readW makes a read that sets a watch. The watch counts as fired if the connection is made again after the attempt has
// begun. If the read may have overtaken earlier watches, see [Session.Overtakes], their notifications may fire it.
func readW[T any](
	ctx context.Context, s *Session, path string, op func(Conn, string) (T, *zk.Stat, <-chan zk.Event, error),
) (value T, stat *zk.Stat, watch *Watch, err error) {
	_, err = s.Retry(ctx, func(c Conn) (err error) {
		again, recent := s.monitor.connection()
		var events <-chan zk.Event
		value, stat, events, err = op(c, path)
		if err == nil && events != nil {
			watch = &Watch{events: events, again: again, overtook: recent || IsClosed(again), stale: make(chan struct{})}
		}
		return err
	})
	return value, stat, watch, err
}

// Sync returns when the session's server has applied all transactions that the leader had committed when it received
// the sync. Exception: the leader answers its own sessions at once. After a reconnect the session may be on another
// server, which may lag behind. A read that must see these transactions needs [Session.Synced].
func (s *Session) Sync(ctx context.Context, path string) error {
	return s.Synced(ctx, path, func(Conn) error { return nil })
}

// Synced makes a sync and then a read. If either must be repeated, both are.
func (s *Session) Synced(ctx context.Context, path string, read func(Conn) error) error {
	_, err := s.Retry(ctx, func(c Conn) error {
		if _, err := c.Sync(path); err != nil {
			return err
		}
		return read(c)
	})
	return err
}

// Create creates a znode at exactly this path. It is not for sequential znodes. If it was repeated, zk.ErrNodeExists
// may mean that an earlier attempt has created the znode.
func (s *Session) Create(ctx context.Context, path string, data []byte, flags int32) (repeated bool, err error) {
	return s.Retry(ctx, func(c Conn) error {
		_, err := c.Create(path, data, flags, nil)
		return err
	})
}

// Ensure creates a znode, whose parent must exist, unless it exists. It does not change the data of an existing znode.
func (s *Session) Ensure(ctx context.Context, path string, data []byte, flags int32) error {
	_, err := s.Create(ctx, path, data, flags)
	return Unless(zk.ErrNodeExists, "create "+path, err)
}

// Set writes the data of a znode if its version matches; -1 matches any version. If it was repeated, the znode's
// version may have grown by more than one, and zk.ErrBadVersion may mean that an earlier attempt has written the data.
func (s *Session) Set(ctx context.Context, path string, data []byte, version int32) (repeated bool, err error) {
	return s.Retry(ctx, func(c Conn) error {
		_, err := c.Set(path, data, version)
		return err
	})
}

// Delete deletes a znode if its version matches; -1 matches any version. If it was repeated, zk.ErrNoNode may mean that
// an earlier attempt has deleted the znode. [Session.Discard] and [Session.Remove] interpret that error.
func (s *Session) Delete(ctx context.Context, path string, version int32) (repeated bool, err error) {
	return s.Retry(ctx, func(c Conn) error { return c.Delete(path, version) })
}

// Discard deletes a znode of any version. A znode that does not exist is not an error.
func (s *Session) Discard(ctx context.Context, path string) error {
	_, err := s.Delete(ctx, path, -1)
	return Unless(zk.ErrNoNode, "delete "+path, err)
}

// Remove deletes an ephemeral znode of this session, see [Session.Ended].
func (s *Session) Remove(ctx context.Context, path string) error {
	repeated, err := s.Delete(ctx, path, -1)
	return s.Ended("delete "+path, repeated, err)
}

// Ended returns the error of a write by which the session ends something of its own, such as an ephemeral znode. If the first
// attempt finds it gone, the session that owned it must have ended, and Ended returns ErrSessionLost. If a later attempt does, an
// earlier one has ended it, and Ended returns nil, unless the session was lost meanwhile: the client library may have made the
// later attempt in a new one. attempted is for other errors, see [Attempted].
func (s *Session) Ended(attempted string, repeated bool, err error) error {
	switch gone := errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrBadVersion); {
	case gone && repeated:
		return s.Alive()
	case gone:
		return ErrSessionLost
	default:
		return Attempted(attempted, err)
	}
}

// Multi makes all operations in one transaction, or none of them. If it was repeated, an error may mean that an earlier
// attempt has taken effect. The results come from the last attempt.
func (s *Session) Multi(ctx context.Context, ops ...any) (results []zk.MultiResponse, repeated bool, err error) {
	repeated, err = s.Retry(ctx, func(c Conn) (err error) {
		results, err = c.Multi(ops...)
		return err
	})
	return results, repeated, err
}

// Unless returns nil if err is the expected error, and otherwise err with what was attempted, as Attempted adds it.
func Unless(expected error, attempted string, err error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return Attempted(attempted, err)
}

// Attempted adds what was attempted, such as "delete /a", to an error. It returns nil and ErrSessionLost unchanged.
func Attempted(attempted string, err error) error {
	if err == nil || errors.Is(err, ErrSessionLost) {
		return err
	}
	return fmt.Errorf("%s: %w", attempted, err)
}
