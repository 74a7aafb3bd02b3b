package session

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"

	"github.com/go-zookeeper/zk"
)

// Conn is the ZooKeeper operations that recipes use, with the signatures that *zk.Conn gives them. It is larger than an
// interface should be because the protocol is.
//
// An operation takes no context. It blocks until the server has answered or the connection is lost, which the client
// library notices within two thirds of the session timeout. Recipes work through a [Session], which adds the context.
type Conn interface {
	SessionID() int64
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	Delete(path string, version int32) error
	Exists(path string) (bool, *zk.Stat, error)
	ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error)
	Get(path string) ([]byte, *zk.Stat, error)
	GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error)
	Set(path string, data []byte, version int32) (*zk.Stat, error)
	Children(path string) ([]string, *zk.Stat, error)
	ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error)
	Sync(path string) (string, error)
	Multi(ops ...any) ([]zk.MultiResponse, error)
}

var _ Conn = (*zk.Conn)(nil)

// OutcomeUnknown reports whether an operation that failed with err may have taken effect: the connection was lost
// before the reply came. All other errors are outcomes, such as the server's answers. The end of a context is not an
// error of the connection, although it implements net.Error.
func OutcomeUnknown(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var network net.Error
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.As(err, &network)
}

// creator is a connection that fills in an access control list where a create has none (nil).
type creator struct {
	Conn
	acl []zk.ACL
}

func (c *creator) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	if acl == nil {
		acl = c.acl
	}
	return c.Conn.Create(path, data, flags, acl)
}

// Multi fills in copies: the caller may send its requests again, or share them.
func (c *creator) Multi(ops ...any) ([]zk.MultiResponse, error) {
	copied := false
	for i, op := range ops {
		if r, ok := op.(*zk.CreateRequest); ok && r.Acl == nil {
			if !copied {
				ops, copied = slices.Clone(ops), true
			}
			ops[i] = &zk.CreateRequest{Path: r.Path, Data: r.Data, Acl: c.acl, Flags: r.Flags}
		}
	}
	return c.Conn.Multi(ops...)
}
