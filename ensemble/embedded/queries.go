package embedded

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// serveQuery answers a read that sets no watch.
func (c *connection) serveQuery(r request) {
	c.server.delay(c.server.config.ReadDelay)
	if r.op == wire.OpWhoAmI {
		c.reply(r.xid, wire.OK, c.encodeIdentities)
		return
	}
	path := r.body.Nullable()
	switch {
	case r.body.Err() != nil:
		c.reply(r.xid, wire.MarshallingError, nil)
	case r.op == wire.OpGetEphemerals:
		c.reply(r.xid, wire.OK, func(out *jute.Encoder) { out.Texts(c.ephemerals(path)) })
	default:
		n, code := c.find(path, zk.PermRead|zk.PermAdmin)
		c.reply(r.xid, code, func(out *jute.Encoder) {
			out.ACLs(n.acl.list(c.ids))
			out.Stat(n.stat())
		})
	}
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
