package conformance_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// The create modes with a time to live.
const (
	withTTL           = 5
	sequentialWithTTL = 6
)

func putCreateTTL(path string, flags int32, ttl int64) func(*jute.Encoder) {
	return func(out *jute.Encoder) {
		putCreate(path, []byte{}, flags)(out)
		out.Long(ttl)
	}
}

func ttlCases() []namedCase {
	const longest = 1<<40 - 1
	return []namedCase{
		{"stat", func(s *site) {
			p := s.peer()
			r := p.call(wire.OpCreateTTL, putCreateTTL(s.at("x"), withTTL, 60_000))
			s.want("path", text(r), s.at("x"))
			st := stat(r)
			s.want("owner", st.EphemeralOwner, int64(0))
			s.want("czxid", st.Czxid, r.zxid)
			s.want("bytes after it", r.body.Rest(), 0)
			again, _ := p.exists(s.at("x"), false)
			s.want("stat as read", again, st)
		}},
		{"sequential", func(s *site) {
			p := s.peer()
			p.mustCreate(s.at("x"), persistent)
			s.want("path", text(p.call(wire.OpCreateTTL, putCreateTTL(s.at("n-"), sequentialWithTTL, 60_000))), s.at("n-0000000001"))
		}},
		{"it is not ephemeral", func(s *site) {
			p, other := s.peer(), s.peer()
			p.call(wire.OpCreateTTL, putCreateTTL(s.at("x"), withTTL, longest))
			p.mustCreate(s.at("x/child"), ephemeral)
			s.want("ephemerals", p.ephemerals(""), []string{s.at("x/child")})
			s.want("delete", p.delete(s.at("x"), -1).code, wire.NotEmpty)
			p.bye()
			other.sync("/")
			st, code := other.exists(s.at("x"), false)
			s.want("after the session", code, wire.OK)
			s.want("owner", st.EphemeralOwner, int64(0))
		}},
		{"mistakes", func(s *site) {
			p := s.peer()
			for _, tt := range []struct {
				flags int32
				ttl   int64
				want  wire.Code
			}{
				{withTTL, 1, wire.OK}, {withTTL, longest, wire.OK}, {withTTL, longest + 1, wire.BadArguments}, {withTTL, 0, wire.BadArguments},
				{withTTL, -1, wire.BadArguments}, {sequentialWithTTL, 0, wire.BadArguments}, {persistent, 60_000, wire.BadArguments},
				{ephemeral, 0, wire.BadArguments}, {containerMode, 60_000, wire.BadArguments}, {7, 60_000, wire.BadArguments},
			} {
				r := p.call(wire.OpCreateTTL, putCreateTTL(s.at(fmt.Sprintf("x%d-%d", tt.flags, tt.ttl)), tt.flags, tt.ttl))
				s.want(fmt.Sprintf("mode %d for %d ms", tt.flags, tt.ttl), r.code, tt.want)
			}
			for _, op := range []wire.Opcode{wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer} {
				s.want(fmt.Sprintf("%s without a time", op), p.call(op, putCreate(s.at("y"), nil, withTTL)).code, wire.BadArguments)
			}
		}},
		{"in a multi", func(s *site) {
			p := s.peer()
			results, _ := p.multi(step{wire.OpCreateTTL, putCreateTTL(s.at("x"), withTTL, 60_000)},
				step{wire.OpCreateTTL, putCreateTTL(s.at("y"), persistent, 60_000)}, step{wire.OpCreateTTL, putCreateTTL(s.at("c"), containerMode, 60_000)})
			s.want("codes", codes(results), "OK OK OK")
			if len(results) != 3 {
				return
			}
			s.want("type", results[0].op, wire.OpCreate2)
			s.want("owner", results[0].stat.EphemeralOwner, int64(0))
			s.want("type without the mode", results[1].op, wire.OpCreate)
			s.want("type of a container", results[2].op, wire.OpCreate2)
			st, _ := p.exists(s.at("y"), false)
			s.want("owner without the mode", st.EphemeralOwner, int64(0))
			results, _ = p.multi(step{wire.OpCreateTTL, putCreateTTL(s.at("z"), withTTL, 0)})
			s.want("no time", codes(results), "BadArguments")
		}},
		{"containers have no owner", func(s *site) {
			p := s.peer()
			p.create2(wire.OpCreateContainer, s.at("c"), nil, containerMode)
			p.mustCreate(s.at("c/child"), persistent)
			st, _ := p.exists(s.at("c"), false)
			s.want("owner", st.EphemeralOwner, int64(0))
			s.want("ephemerals", len(p.ephemerals("")), 0)
		}},
	}
}

// ephemerals returns the ephemeral znodes of the session whose paths begin like this, sorted.
func (p *peer) ephemerals(prefix string) []string {
	p.t.Helper()
	paths := p.call(wire.OpGetEphemerals, func(out *jute.Encoder) { out.Text(prefix) }).body.Texts()
	slices.Sort(paths)
	return paths
}

func queryCases() []namedCase {
	return []namedCase{
		{"getEphemerals", func(s *site) {
			p, other := s.peer(), s.peer()
			p.mustCreate(s.at("d"), persistent)
			all := []string{p.mustCreate(s.at("a"), ephemeral), p.mustCreate(s.at("ab"), ephemeral), p.mustCreate(s.at("d/a"), ephemeral)}
			other.sync("/")
			other.mustCreate(s.at("b"), ephemeral)
			for _, prefix := range []string{"", " ", "/", " / "} {
				s.want(fmt.Sprintf("%q", prefix), p.ephemerals(prefix), all)
			}
			r := p.call(wire.OpGetEphemerals, func(out *jute.Encoder) { out.Buffer(nil) })
			s.want("null", len(r.body.Texts()), 3)
			s.want("a prefix", p.ephemerals(s.at("a")), all[:2])
			s.want("another one", p.ephemerals(s.at("d/")), all[2:])
			s.want("none", len(p.ephemerals(s.at("b"))), 0)
		}},
	}
}

func commandCases() []namedCase {
	ask := func(s *site, word string) string {
		s.Helper()
		answer, err := ensemble.Command(s.Context(), ensemble.Server{Addr: s.addrs[0]}, word)
		s.want("error of "+word, err, nil)
		return answer
	}
	has := func(s *site, answer string, parts ...string) {
		s.Helper()
		for _, part := range parts {
			if !strings.Contains(answer, part) {
				s.Errorf("no %q in\n%s", part, answer)
			}
		}
	}
	return []namedCase{
		{"isro", func(s *site) { s.want("answer", ask(s, "isro"), "rw") }},
		{"envi", func(s *site) {
			has(s, ask(s, "envi"), "Environment:\nzookeeper.version=3.", ", built ", "\nos.name=", "\nos.arch=")
		}},
		{"srvr", func(s *site) {
			has(s, ask(s, "srvr"), "Zookeeper version: 3.", "\nLatency min/avg/max: ", "\nReceived: ", "\nSent: ", "\nConnections: ",
				"\nOutstanding: ", "\nZxid: 0x", "\nMode: ", "\nNode count: ")
		}},
		{"stat", func(s *site) {
			s.open(s.addrs[0], handshake{})
			has(s, ask(s, "stat"), "Zookeeper version: 3.", "\nClients:\n /", "](queued=", ",recved=", ",sent=", ")\n\nLatency min/avg/max: ",
				"\nMode: ", "\nNode count: ")
		}},
		{"dump", func(s *site) {
			p := s.open(s.addrs[0], handshake{})
			p.mustCreate(s.at("e"), ephemeral)
			has(s, ask(s, "dump"), "SessionTracker dump:\n", "\nephemeral nodes dump:\nSessions with Ephemerals (",
				fmt.Sprintf("\n0x%x:\n\t%s\n", p.hello.id, s.at("e")), "\nConnections dump:\n")
		}},
	}
}
