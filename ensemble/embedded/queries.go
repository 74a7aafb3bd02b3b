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
	switch r.op {
	case wire.OpWhoAmI:
		return wire.OK, c.encodeIdentities
	case wire.OpMultiRead:
		return c.readAll(r.body)
	}
	path := r.body.Nullable()
	if r.body.Err() != nil {
		return wire.MarshallingError, nil
	}
	switch r.op {
	case wire.OpGetEphemerals:
		paths := c.ephemerals(path)
		return wire.OK, func(out *jute.Encoder) { out.Texts(paths) }
	case wire.OpCountChildren:
		return c.countChildren(path)
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

// countChildren counts all znodes below a path, at any depth.
func (c *connection) countChildren(path string) (wire.Code, func(*jute.Encoder)) {
	_, code := c.find(path, zk.PermRead)
	return code, func(out *jute.Encoder) {
		n := len(c.server.tree.nodes) - 1
		if path != rootPath {
			n = 0
			for other := range c.server.tree.nodes {
				if strings.HasPrefix(other, path+"/") {
					n++
				}
			}
		}
		out.Int(int32(n))
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

// readAll performs the reads of a multiRead. Unlike in a multi, each has a result of its own.
func (c *connection) readAll(d *jute.Decoder) (wire.Code, func(*jute.Encoder)) {
	var results jute.Encoder
	for op, more := nextPart(d); more; op, more = nextPart(d) {
		path := d.Text()
		d.Bool() // no watch is set
		if op != wire.OpGetChildren && op != wire.OpGetData {
			d.Reject("operation in a multiRead")
		}
		n, code := c.find(path, zk.PermRead)
		if code != wire.OK {
			encodeFailure(&results, code)
			continue
		}
		encodeHeader(&results, op, false, wire.OK)
		encodeRead(&results, op, n)
	}
	encodeHeader(&results, endOfMulti, true, noCode)
	return malformed(d), func(out *jute.Encoder) { out.Raw(results.Bytes()) }
}
