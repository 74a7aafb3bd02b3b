package lock

import (
	"cmp"
	"context"
	"fmt"
	"reflect"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// ZKLock is the lock of the client library that zkbench uses: zk.Lock of go-zookeeper 1.0.4. It uses the algorithm of
// [PredecessorWatch], so that what differs is the code around it.
//
//  1. Create <dir>/_c_<guid>-lock-, ephemeral and sequential. If the reply is lost, list <dir> and look for the GUID.
//  2. List <dir>, without a watch. If its own znode is the lowest, the client holds the lock.
//  3. Read the next lower znode with a watch. If it is gone, go to 2.
//  4. Wait for the watch, then go to 2.
//  5. To release, delete the client's own znode.
//
// It cannot withdraw: a client that gives up still waits for its turn in the background, and releases the lock then. It has no fencing
// token either; zkbench reads the sequence number out of it. A request that is never sent, because the connection is lost, makes it
// fail. If this happens in step 2 or 3, it forgets its znode, which then blocks the lock until the session ends. It also fails in
// step 2 if <dir> has a child without a number at its end. zkbench neither hides nor mends that.
//
// Cost of one acquire and release: 3 requests alone (create, getChildren, delete), 5 after a wait (and getData and getChildren), 2 of
// them writes. One release notifies one client.
//
// Source: as written, but a release is repeated while its reply is lost: lock.go in go-zookeeper 1.0.4.
type ZKLock struct {
	*session.Exclusive
	session *session.Session
	conn    *zk.Conn
	dir     string
	mine    *zk.Lock // while it is held
}

// NewZKLock returns the lock of one client below an existing znode dir. It fails if the session's connection is not the client
// library's own.
func NewZKLock(s *session.Session, dir string) (*ZKLock, error) {
	conn, ok := s.Conn().(*zk.Conn)
	if !ok {
		return nil, fmt.Errorf("zk.Lock needs a connection of the client library, not a %T", s.Conn())
	}
	l := &ZKLock{session: s, conn: conn, dir: dir}
	l.Exclusive = session.NewExclusive(s, l.acquire, l.release)
	return l, nil
}

func (l *ZKLock) acquire(ctx context.Context) (session.Grant, error) {
	mine := zk.NewLock(l.conn, l.dir, l.session.ACL())
	if err := l.session.Once(ctx, func(session.Conn) error { return mine.Lock() }); err != nil {
		return session.Grant{}, cmp.Or(l.session.Alive(), fmt.Errorf("zk.Lock: %w", err)) // a session that is given up looks closed to it
	}
	l.mine = mine
	return session.Grant{Token: reflect.ValueOf(mine).Elem().FieldByName("seq").Int()}, nil
}

// If the znode is gone, release takes it that an earlier attempt has deleted it.
func (l *ZKLock) release(ctx context.Context) error {
	repeated, err := l.session.Retry(ctx, func(session.Conn) error { return l.mine.Unlock() })
	return l.session.Ended("zk.Lock", repeated, err)
}

func zkLockVariant() variants.Variant {
	return variants.Variant{
		Name:    "zk-lock",
		Kind:    variants.Library,
		Summary: "zk.Lock of the Go client library: sequential znodes, each waiter watches the one just below its own",
		BadAt:   "lost connections: an attempt that fails forgets its znode, which blocks the lock until the session ends",
		Free:    predecessorWatchVariant().Free,
		Join:    joinIn(func(_ context.Context, s *session.Session, dir string) (*ZKLock, error) { return NewZKLock(s, dir) }),
	}
}
