package embedded

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// query returns the code and the content of the reply to a read that sets no watch.
func (c *connection) query(r request) (code wire.Code, fill func(*jute.Encoder)) {
	if r.op == wire.OpWhoAmI {
		return wire.OK, c.encodeIdentities
	}
	path := r.body.Nullable()
	switch {
	case r.body.Err() != nil:
		return wire.MarshallingError, nil
	case r.op == wire.OpGetEphemerals:
		paths := c.ephemerals(path)
		return wire.OK, func(out *jute.Encoder) { out.Texts(paths) }
	default:
		return c.getACL(path)
	}
}

func (c *connection) serveQuery(r request) {
	c.server.delay(c.server.config.ReadDelay)
	code, fill := c.query(r)
	c.reply(r.xid, code, fill)
}

// find returns a znode if the client has one of the permissions.
func (c *connection) find(path string, permissions int32) (*znode, wire.Code) {
	switch n := c.server.tree.node(path); {
	case n == nil:
		return nil, wire.NoNode
	case !n.acl.allows(permissions, c.ids):
		return nil, wire.NoAuth
	default:
		return n, wire.OK
	}
}

func (c *connection) getACL(path string) (wire.Code, func(*jute.Encoder)) {
	n, code := c.find(path, zk.PermRead|zk.PermAdmin)
	return code, func(out *jute.Encoder) {
		out.ACLs(n.acl.list(c.ids))
		out.Stat(n.stat())
	}
}

func (c *connection) ephemerals(prefix string) []string {
	own := slices.Sorted(maps.Keys(c.server.tree.ephemerals[c.session.id]))
	if blank := strings.TrimSpace(prefix); blank == "" || blank == rootPath {
		return own
	}
	return slices.DeleteFunc(own, func(path string) bool { return !strings.HasPrefix(path, prefix) })
}

func (c *connection) encodeIdentities(out *jute.Encoder) {
	out.Int(int32(len(c.ids)))
	for _, i := range c.ids {
		out.Text(i.scheme)
		out.Text(i.user())
	}
}
