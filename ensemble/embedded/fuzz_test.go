package embedded

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

// inspect returns the inconsistencies in a server's state.
func inspect(s *Server) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, n := range s.tree.nodes {
		for name := range n.children {
			child := strings.TrimSuffix(path, "/") + "/" + name
			if s.tree.nodes[child] == nil {
				return fmt.Errorf("%q has a child %q that is not there", path, name)
			}
		}
		if err := inspectNode(s, path, n); err != nil {
			return err
		}
	}
	for id, paths := range s.tree.ephemerals {
		if s.sessions[id] == nil || len(paths) == 0 {
			return fmt.Errorf("ephemerals %v of session %d, which is over", paths, id)
		}
	}
	if len(s.connections) > 0 || s.watches.data.byConnection.size()+s.watches.child.byConnection.size() > 0 || len(s.watches.data.byPath)+len(s.watches.child.byPath) > 0 {
		return fmt.Errorf("after its connection, %d connections and %+v are left", len(s.connections), s.watches)
	}
	return nil
}

func inspectNode(s *Server, path string, n *znode) error {
	parent, name, _ := split(path)
	if path != rootPath {
		p := s.tree.node(parent)
		if p == nil {
			return fmt.Errorf("%q has no parent", path)
		}
		if _, ok := p.children[name]; !ok {
			return fmt.Errorf("%q does not know its child %q", parent, name)
		}
		if p.owner != 0 {
			return fmt.Errorf("%q is the child of an ephemeral", path)
		}
	}
	_, listed := s.tree.ephemerals[n.owner][path]
	_, transient := s.tree.transient[path]
	switch {
	case !validPath(path):
		return fmt.Errorf("%q is no path", path)
	case listed != (n.owner != 0), transient != n.isTransient():
		return fmt.Errorf("%q is missing in an index, or in one too many", path)
	case max(n.czxid, n.mzxid, n.pzxid) > s.zxid, n.mzxid < n.czxid, n.version < 0:
		return fmt.Errorf("%q has impossible zxids or versions: %+v", path, n.stat())
	}
	if n.listing != nil {
		got := jute.NewDecoder(n.listing).Texts()
		if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(maps.Keys(n.children))) {
			return fmt.Errorf("%q lists %v, has %v", path, got, n.children)
		}
	}
	return nil
}

// seedRequests are valid requests for the seed corpus.
func seedRequests() [][]byte {
	var out [][]byte
	add := func(op wire.Opcode, fill func(*jute.Encoder)) {
		var e jute.Encoder
		fill(&e)
		out = append(out, append([]byte{byte(op), byte(len(e.Bytes()))}, e.Bytes()...))
	}
	create := func(path string, flags int32) func(*jute.Encoder) {
		return func(e *jute.Encoder) {
			e.Text(path)
			e.Buffer([]byte("x"))
			e.ACLs(zk.WorldACL(zk.PermAll))
			e.Int(flags)
		}
	}
	pathAnd := func(path string, v int32) func(*jute.Encoder) {
		return func(e *jute.Encoder) { e.Text(path); e.Int(v) }
	}
	watch := func(path string) func(*jute.Encoder) {
		return func(e *jute.Encoder) { e.Text(path); e.Bool(true) }
	}
	add(wire.OpCreate, create("/a", 0))
	add(wire.OpCreate2, create("/a/b", zk.FlagEphemeral))
	add(wire.OpCreate, create("/a/n-", zk.FlagSequence|zk.FlagEphemeral))
	add(wire.OpCreateContainer, create("/c", zk.FlagContainer))
	add(wire.OpExists, watch("/a"))
	add(wire.OpGetData, watch("/a"))
	add(wire.OpGetChildren, watch("/a"))
	add(wire.OpGetChildren2, watch("/"))
	add(wire.OpSetData, func(e *jute.Encoder) { e.Text("/a"); e.Buffer(nil); e.Int(-1) })
	add(wire.OpDelete, pathAnd("/a", -1))
	add(wire.OpSync, func(e *jute.Encoder) { e.Text("/") })
	add(wire.OpMulti, func(e *jute.Encoder) {
		encodeHeader(e, wire.OpCreate, false, -1)
		create("/m", 0)(e)
		encodeHeader(e, wire.OpCheck, false, -1)
		pathAnd("/m", 0)(e)
		encodeHeader(e, wire.OpDelete, false, -1)
		pathAnd("/none", 0)(e)
		encodeHeader(e, endOfMulti, true, -1)
	})
	add(wire.OpSetWatches, func(e *jute.Encoder) {
		e.Long(0)
		for _, path := range []string{"/a", "/b", "/"} {
			e.Texts([]string{path})
		}
	})
	add(wire.OpAuth, func(e *jute.Encoder) { e.Int(0); e.Text("digest"); e.Buffer([]byte("a:b")) })
	return out
}

// FuzzConnection sends fuzzed bytes to a server: raw, after a handshake, or as the bodies of requests with a valid header.
// The server must not panic or hang, its data must be consistent, and nothing of the connection may remain.
func FuzzConnection(f *testing.F) {
	all := []byte{framed}
	for _, r := range seedRequests() {
		f.Add(append([]byte{framed}, r...))
		all = append(all, r...)
	}
	f.Add(all)
	f.Add([]byte{raw, 0, 0, 0, 0})
	f.Add(append([]byte{raw}, "srvrmntrwchsconsruok"...))
	f.Add([]byte{greeted, 0, 0, 0, 8, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xf5})
	f.Add([]byte{greeted, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) == 0 {
			return
		}
		s := newQuorum(Config{}).servers[0]
		client, server := net.Pipe()
		s.open(server)
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			_, _ = io.Copy(io.Discard, client)
		}()
		_, _ = client.Write(conversation(input[0]%3, input[1:])) // fails after the server has closed the connection
		client.Close()
		<-drained
		s.running.Wait()
		must.Do(t, inspect(s))
	})
}

// The meaning of an input, by its first byte.
const (
	raw     = iota // bytes
	greeted        // bytes after a handshake
	framed         // opcode, length and body of one request after the other, after a handshake
)

func conversation(mode byte, input []byte) []byte {
	if mode == raw {
		return input
	}
	hello := jute.NewFrame(64)
	hello.Int(0)
	hello.Long(0)
	hello.Int(30_000)
	hello.Long(0)
	hello.Buffer(make([]byte, passwordSize))
	out := hello.Frame()
	if mode == greeted {
		return append(out, input...)
	}
	for xid := int32(1); len(input) >= 2; xid++ {
		op, n := input[0], min(int(input[1]), len(input)-2)
		frame := jute.NewFrame(n + 8)
		frame.Int(xid)
		frame.Int(int32(op))
		frame.Raw(input[2 : 2+n])
		out = append(out, frame.Frame()...)
		input = input[2+n:]
	}
	return out
}

// inspect detects each kind of inconsistency.
func TestInspectFindsDamage(t *testing.T) {
	for name, damage := range map[string]func(s *Server){
		"orphan":         func(s *Server) { s.tree.nodes["/a/b"] = &znode{} },
		"missing child":  func(s *Server) { s.tree.nodes["/"].children.add("ghost") },
		"lost ephemeral": func(s *Server) { s.tree.nodes["/zookeeper/quota"].owner = 7 },
		"dead owner":     func(s *Server) { s.tree.ephemerals[7] = set[string]{"/x": true} },
		"future":         func(s *Server) { s.tree.nodes["/"].mzxid = 1 << 40 },
		"stale listing":  func(s *Server) { s.tree.nodes["/"].listing = binary.BigEndian.AppendUint32(nil, 0) },
		"watch":          func(s *Server) { s.watches.data.add("/", &connection{}) },
	} {
		s := newQuorum(Config{}).servers[0]
		must.Do(t, inspect(s))
		damage(s)
		if inspect(s) == nil {
			t.Errorf("%s went unnoticed", name)
		}
	}
}
