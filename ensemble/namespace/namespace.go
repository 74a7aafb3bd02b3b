// Package namespace creates, recognises and removes the root znodes of runs.
//
// It takes one position: a root belongs to a session. It is created in one transaction with an ephemeral znode of the run's
// session, its owner. A root without an owner is therefore left over, as seen from any machine and at any time, without
// lock files, process ids or clocks. A znode without the mark of such a root is never removed.
package namespace

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/go-zookeeper/zk"
)

const prefix = "zkbench-"

// rootName matches the names of roots: the prefix, the time of the run in UTC, and four hexadecimal digits.
const rootName = `^` + prefix + `[0-9]{8}T[0-9]{6}Z-[0-9a-f]{4}$`

// ownerName is the ephemeral znode below a root. Its data is the session timeout: how long it outlives a killed process.
const ownerName = "owner"

const mark = "zkbench run: removed when it ends, or by zkbench clean"

// Root returns the path of a run's root below base, which is empty for the root of the ensemble.
func Root(base, run string) string { return base + "/" + prefix + run }

// IsRoot reports whether a znode has the name of a run's root.
func IsRoot(name string) bool { return regexp.MustCompile(rootName).MatchString(name) }

// Client is a session with a bound on the wait for an answer. The library itself waits for two thirds of the session timeout.
type Client struct {
	Conn     *zk.Conn
	Patience time.Duration
	ACL      []zk.ACL // of the znodes that it creates
}

// Create creates a root that belongs to the client's session. timeout is the timeout of that session.
func (c Client) Create(ctx context.Context, root string, timeout time.Duration) error {
	err := c.multi(ctx,
		&zk.CreateRequest{Path: root, Data: []byte(mark), Acl: c.ACL},
		&zk.CreateRequest{Path: root + "/" + ownerName, Data: []byte(timeout.String()), Acl: c.ACL, Flags: zk.FlagEphemeral})
	if err != nil {
		return fmt.Errorf("create %s: %w", root, err)
	}
	return nil
}
