package embedded

import (
	"cmp"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/list"
)

func (c *connection) answer(r request) bool {
	switch r.op {
	case wire.OpPing:
		c.reply(wire.XidPing, wire.OK, nil)
	case wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2:
		c.serveRead(r)
	case wire.OpSync:
		c.serveSync(r)
	case wire.OpGetACL, wire.OpGetEphemerals, wire.OpWhoAmI:
		c.serveQuery(r)
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL, wire.OpDelete, wire.OpSetData, wire.OpSetACL:
		c.serveWrite(r)
	case wire.OpMulti:
		c.serveMulti(r)
	case wire.OpReconfig:
		c.serveReconfig(r)
	case wire.OpSetWatches, wire.OpSetWatches2:
		c.setWatches(r)
	case wire.OpCheckWatches:
		c.answerAboutWatches(r, c.server.watches.has)
	case wire.OpRemoveWatches:
		c.answerAboutWatches(r, c.server.watches.remove)
	case wire.OpAuth:
		return c.authenticate(r)
	case wire.OpClose:
		c.serveClose(r)
	default:
		return c.refuse(r)
	}
	return true
}

// refuse answers a request that this server does not implement. Like ZooKeeper, it ends the connection if the request does
// not exist. Requests that exist in ZooKeeper leave the connection open.
func (c *connection) refuse(r request) bool {
	switch r.op {
	case opDeleteContainer, wire.OpMultiRead, wire.OpCountChildren, wire.OpAddWatch:
		c.reply(r.xid, wire.Unimplemented, nil)
		return true
	default:
		c.frame(r.xid, wire.UnknownZxid, wire.Unimplemented, nil)
		return false
	}
}

// opDeleteContainer is the request with which a server deletes a container. Clients have no name for it.
const opDeleteContainer wire.Opcode = 20

func malformed(d *jute.Decoder) wire.Code {
	if d.Err() != nil {
		return wire.MarshallingError
	}
	return wire.OK
}

func (c *connection) serveRead(r request) {
	s := c.server
	path, watch := r.body.Text(), r.body.Bool()
	code := malformed(r.body)
	if r.op == wire.OpExists && strings.IndexByte(path, 0) >= 0 {
		code = wire.BadArguments
	}
	if code != wire.OK {
		c.reply(r.xid, code, nil)
		return
	}
	s.delay(s.config.ReadDelay)
	n, code := c.find(path, zk.PermRead)
	if watch && code != wire.NoAuth {
		s.watches.set(r.op, path, n != nil, c)
	}
	c.reply(r.xid, code, func(out *jute.Encoder) {
		switch r.op {
		case wire.OpGetData:
			out.Buffer(n.data)
		case wire.OpGetChildren, wire.OpGetChildren2:
			out.Raw(n.list())
		}
		if r.op != wire.OpGetChildren {
			out.Stat(n.stat())
		}
	})
}

func (c *connection) serveWrite(r request) {
	s := c.server
	o := readOperation(r.body, r.op, c.ids)
	if r.body.Err() != nil {
		c.reply(r.xid, wire.MarshallingError, nil)
		return
	}
	s.delay(s.config.WriteDelay)
	c.write(func(t *change) func() {
		result, code := t.apply(o)
		return func() { c.reply(r.xid, code, result.encode) }
	})
}

// serveMulti serves a multi. Even if it fails, the header of its reply has no error, unless it is malformed.
func (c *connection) serveMulti(r request) {
	c.server.delay(c.server.config.WriteDelay)
	operations := readOperations(r.body, c.ids)
	code := malformed(r.body)
	c.write(func(t *change) func() {
		results, codes := t.applyAll(operations)
		return func() { c.reply(r.xid, code, func(out *jute.Encoder) { encodeMulti(out, results, codes) }) }
	})
}

// serveReconfig refuses to change the ensemble. No client may write its configuration: on real servers, only a super user may.
func (c *connection) serveReconfig(r request) {
	joining := r.body.Nullable()
	r.body.Nullable() // the servers that leave
	r.body.Nullable() // all servers
	r.body.Long()     // the version of the configuration
	code := wire.NoAuth
	switch {
	case r.body.Err() != nil:
		code = wire.MarshallingError
	case len(c.server.servers) == 1: // which has no configuration
		code = wire.Unimplemented
	case joining != "" && !strings.Contains(joining, "="): // as in server.4=host:2888:3888;2181
		code = wire.BadArguments
	}
	c.write(func(*change) func() { return func() { c.reply(r.xid, code, nil) } })
}

// write proposes a transaction for the session of the connection. apply makes its changes and returns the function that answers the
// request. If the session has ended or moved to another server, the connection ends instead, as on ZooKeeper.
func (c *connection) write(apply func(*change) (answer func())) {
	s, e := c.server, c.session
	c.ask(func() {
		e.owner = cmp.Or(e.owner, s)
		refused := e.owner != s || s.sessions[e.id] != e
		if s.config.Ordered != nil && !refused {
			s.config.Ordered(e.id)
		}
		s.propose(e.id, func(at *Server, t *change) func() {
			if refused {
				return c.answerAt(at, func() { s.drop(c) })
			}
			return c.answerAt(at, apply(t))
		}, nil)
	})
}

// serveSync answers when the server has applied everything that was proposed before the leader received the request.
func (c *connection) serveSync(r request) {
	s := c.server
	path := r.body.Text()
	answer := c.answerAt(s, func() { c.reply(r.xid, malformed(r.body), func(out *jute.Encoder) { out.Text(path) }) })
	c.ask(func() {
		s.settle(func() {
			s.enqueue(answer)
			s.proceed()
		})
	})
}

func (c *connection) serveClose(r request) {
	s, e := c.server, c.session
	c.closing = c.answerAt(s, func() {
		c.reply(r.xid, wire.OK, nil)
		s.detach(c)
	})
	c.ask(func() {
		if s.sessions[e.id] == e {
			s.end(e)
		}
	})
}

// setWatches sets the watches of a client's last connection again. It notifies the client at once of events since then.
func (c *connection) setWatches(r request) {
	d, persistent := r.body, 0
	since, data, exist, child := d.Long(), d.Texts(), d.Texts(), d.Texts()
	if r.op == wire.OpSetWatches2 {
		persistent = len(d.Texts()) + len(d.Texts())
	}
	code := malformed(d)
	switch {
	case code != wire.OK:
	case persistent > 0:
		code = wire.Unimplemented
	default:
		c.rewatch(since, data, exist, child)
	}
	c.reply(r.xid, code, nil)
}

// rewatch sets watches of each kind on the paths that have not changed since a zxid.
func (c *connection) rewatch(since int64, data, exist, child []string) {
	s := c.server
	again := func(paths []string, watches watchTable, changed wire.EventType, last func(*znode) int64) {
		for _, path := range paths {
			switch n := s.tree.node(path); {
			case n == nil:
				c.notify(event{typ: wire.NodeDeleted, path: path}, wire.UnknownZxid)
			case last(n) > since:
				c.notify(event{typ: changed, path: path}, wire.UnknownZxid)
			default:
				watches.add(path, c)
			}
		}
	}
	again(data, s.watches.data, wire.NodeDataChanged, func(n *znode) int64 { return n.mzxid })
	for _, path := range exist {
		if s.tree.node(path) != nil {
			c.notify(event{typ: wire.NodeCreated, path: path}, wire.UnknownZxid)
		} else {
			s.watches.data.add(path, c)
		}
	}
	again(child, s.watches.child, wire.NodeChildrenChanged, func(n *znode) int64 { return n.pzxid })
}

// answerAboutWatches calls do for the connection's watches of a kind on a path. It answers NoWatcher if do returns false.
func (c *connection) answerAboutWatches(r request, do func(wire.WatchKind, string, *connection) bool) {
	path, kind := r.body.Text(), wire.WatchKind(r.body.Int())
	code := malformed(r.body)
	switch {
	case code != wire.OK:
	case kind < wire.ChildWatch || kind > wire.AnyWatch:
		code = wire.MarshallingError
	case !do(kind, path, c):
		code = wire.NoWatcher
	}
	c.reply(r.xid, code, nil)
}

// authenticate adds an identity to those of the connection. Any password is accepted: who uses another one is another user.
func (c *connection) authenticate(r request) bool {
	r.body.Int() // reserved
	scheme, credentials := r.body.Text(), r.body.Buffer()
	if r.body.Err() != nil {
		return false
	}
	code := wire.OK
	switch {
	case scheme == ipScheme: // which the connection has from the start
	case scheme != digestScheme || credentials == nil:
		code = wire.AuthFailed
	default:
		c.ids = list.AppendNew(c.ids, digestOf(credentials))
	}
	c.frame(r.xid, 0, code, nil)
	return code == wire.OK
}
