// Package namespace is the root znode of a run: how it is created, recognised and removed.
//
// It takes one position: a root belongs to a session. It is created in one transaction with an ephemeral znode of the
// run's session, its owner. A root without an owner is therefore left over, on every machine and at any time, and no
// lock file, process id or clock has to be believed. What does not carry the mark of such a root is never touched unasked.
package namespace

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/go-zookeeper/zk"
)

// prefix begins the name of every root; the name of the run follows.
const prefix = "zkbench-"

// rootName matches the names of roots: the prefix, the time of the run in UTC, and four hexadecimal digits.
const rootName = `^` + prefix + `[0-9]{8}T[0-9]{6}Z-[0-9a-f]{4}$`

// ownerName is the ephemeral znode below a root. Its data is the session timeout, so that a reader knows how long the
// znode outlives a process that was killed.
const ownerName = "owner"

// mark is the data of a root that is created with an owner.
const mark = "zkbench run: removed when it ends, or by zkbench clean"

// Root returns the path of a run's root. base is the znode that it stands in; empty for the ensemble's own root.
func Root(base, run string) string { return base + "/" + prefix + run }

// IsRoot reports whether a znode's name is one that runs give to their roots.
func IsRoot(name string) bool { return regexp.MustCompile(rootName).MatchString(name) }

// Client is a session that works on roots, and how long it waits for an answer. The client library itself notices a
// silent server only after two thirds of the session timeout.
type Client struct {
	Conn     *zk.Conn
	Patience time.Duration
}

// Create creates a root that belongs to the client's session. timeout is that session's.
func (c Client) Create(ctx context.Context, root string, timeout time.Duration) error {
	_, err := ask(ctx, c, func() ([]zk.MultiResponse, error) {
		return c.Conn.Multi(
			&zk.CreateRequest{Path: root, Data: []byte(mark), Acl: zk.WorldACL(zk.PermAll)},
			&zk.CreateRequest{Path: root + "/" + ownerName, Data: []byte(timeout.String()), Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral})
	})
	if err != nil {
		return fmt.Errorf("create %s: %w", root, err)
	}
	return nil
}

// CreateZnode creates one persistent znode of n bytes.
func (c Client) CreateZnode(ctx context.Context, path string, n int) error {
	_, err := ask(ctx, c, func() (string, error) { return c.Conn.Create(path, make([]byte, n), 0, zk.WorldACL(zk.PermAll)) })
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return nil
}
