package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/wire"
)

// sent returns how many notifications all servers have sent by their own counters.
func (s *site) sent() int64 {
	s.Helper()
	var total int64
	for _, addr := range s.addrs {
		counters, err := ensemble.Monitor(s.Context(), ensemble.Server{Addr: addr})
		if err != nil {
			s.Fatal(err)
		}
		n, err := ensemble.NotificationsIn(counters)
		if err != nil {
			s.Fatal(err)
		}
		total += n
	}
	return total
}

func wireCases() []namedCase {
	return []namedCase{
		{"unknown requests are answered, and are the last", func(s *site) {
			for _, op := range []wire.Opcode{wire.OpCheck, 18000, 77, -77, 0} {
				p := s.peer()
				p.send(op, func(out *jute.Encoder) { out.Text(s.root) })
				replies := p.closed()
				if len(replies) != 1 || replies[0].code != wire.Unimplemented || replies[0].xid != p.xid {
					s.Errorf("request %d: replies %+v, want Unimplemented and the end", op, replies)
					continue
				}
				s.want("zxid", replies[0].zxid, int64(-1))
				s.want("bytes after the header", replies[0].body.Rest(), 0)
				s.reopen(p, s.addrs[0]).bye() // a later case may count transactions
			}
		}},
		{"frames that are none end the connection", func(s *site) {
			for name, frame := range map[string][]byte{
				"negative length":          {0xff, 0xff, 0xff, 0xff},
				"more than jute.maxbuffer": {0x00, 0x10, 0x00, 0x00},
				"gigabytes":                {0x7f, 0xff, 0xff, 0xff},
				"empty":                    {0, 0, 0, 0},
				"half a header":            {0, 0, 0, 4, 0, 0, 0, 1},
			} {
				p := s.peer()
				p.write(frame)
				s.want(name, len(p.closed()), 0)
				s.want("its session", s.reopen(p, s.addrs[0]).hello.id, p.hello.id)
			}
		}},
		{"a frame of exactly jute.maxbuffer is none too many", func(s *site) {
			p := s.peer()
			r := p.call(wire.OpExists, func(out *jute.Encoder) {
				putPathWatch(s.root, false)(out)
				out.Raw(make([]byte, 0xfffff-8-4-len(s.root)-1)) // the rest of the frame, which is ignored
			})
			s.want("code", r.code, wire.OK)
		}},
		{"a request that is not implemented leaves the connection open", func(s *site) {
			p := s.peer()
			r := p.call(6, func(out *jute.Encoder) { out.Text(s.at("none")) }) // getACL
			if r.code != wire.NoNode && r.code != wire.Unimplemented {
				s.Errorf("getACL of nothing: %s", r.code)
			}
			p.mustCreate(s.at("x"), persistent)
		}},
		{"the same before the handshake", func(s *site) {
			for name, frame := range map[string][]byte{
				"negative length":  {0xff, 0xff, 0xff, 0xff},
				"gigabytes":        {0x7f, 0xff, 0xff, 0xff},
				"empty":            {0, 0, 0, 0},
				"half a handshake": {0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0},
				"text":             []byte("GET / HTTP/1.1\r\n\r\n"),
			} {
				p := dial(s.T, s.addr())
				p.write(frame)
				s.want(name, len(p.closed()), 0)
			}
		}},
		{"a read that is cut off is answered", func(s *site) {
			p := s.peer()
			for _, op := range []wire.Opcode{wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2, wire.OpSetWatches} {
				s.want(fmt.Sprintf("%d without a record", op), p.call(op, nil).code, wire.MarshallingError)
				r := p.call(op, func(out *jute.Encoder) { out.Int(1 << 20) })
				s.want(fmt.Sprintf("%d with a path longer than its frame", op), r.code, wire.MarshallingError)
			}
			p.mustCreate(s.at("x"), persistent) // the connection is still open
		}},
		{"more than there should be is ignored", func(s *site) {
			p := s.peer()
			r := p.call(wire.OpExists, func(out *jute.Encoder) {
				putPathWatch(s.root, false)(out)
				out.Raw([]byte("and more"))
			})
			s.want("code", r.code, wire.OK)
		}},
		{"byte by byte", func(s *site) {
			p := s.peer()
			p.xid++
			for i, b := range encode(p.xid, wire.OpCreate, putCreate(s.at("x"), nil, persistent)) {
				p.write([]byte{b})
				if i%16 == 0 {
					time.Sleep(time.Millisecond) // into packets of their own
				}
			}
			s.want("code", p.await().code, wire.OK)
		}},
		{"many at once", func(s *site) {
			const n = 200
			p := s.peer()
			var all []byte
			for range n {
				p.xid++
				all = append(all, encode(p.xid, wire.OpCreate, putCreate(s.at("n-"), nil, sequential))...)
			}
			p.write(all)
			for i := range n {
				r := p.await()
				s.want("xid", r.xid, p.xid-n+1+int32(i))
				s.want("path", text(r), s.at(fmt.Sprintf("n-%010d", i)))
			}
		}},
		{"a client that goes away in the middle of a frame", func(s *site) {
			p := s.peer()
			p.write([]byte{0, 0, 0, 100, 1, 2, 3})
			p.conn.Close()
			s.want("its session", s.reopen(p, s.addrs[0]).hello.id, p.hello.id)
		}},
		{"a client that does not read", func(s *site) {
			p, other := s.peer(), s.peer()
			p.create2(wire.OpCreate2, s.at("x"), make([]byte, 500_000), persistent)
			for range 100 { // 50 MB of replies, more than the buffers on the way hold
				p.send(wire.OpGetData, putPathWatch(s.at("x"), false))
			}
			other.mustCreate(s.at("y"), persistent) // other clients do not wait
			for range 100 {
				s.want("code", p.await().code, wire.OK)
			}
		}},
		{"ruok", func(s *site) {
			answer, err := ensemble.Command(s.Context(), ensemble.Server{Addr: s.addr()}, "ruok")
			s.want("error", err, nil)
			s.want("answer", answer, "imok")
		}},
		{"srvr", func(s *site) {
			before, err := ensemble.Srvr(s.Context(), ensemble.Server{Addr: s.addrs[0]})
			s.want("error", err, nil)
			p := s.open(s.addrs[0], handshake{})
			_, st, _ := p.create2(wire.OpCreate2, s.at("x"), nil, persistent)
			after, err := ensemble.Srvr(s.Context(), ensemble.Server{Addr: s.addrs[0]})
			s.want("error", err, nil)
			s.want("znodes after a create", after.Znodes, before.Znodes+1)
			s.want("zxid", after.Zxid, st.Czxid)
			s.want("sessions", after.Sessions, before.Sessions+1)
		}},
		{"mntr", func(s *site) {
			p := s.open(s.addrs[0], handshake{})
			p.exists(s.at("x"), true)
			p.children(s.root, true)
			p.mustCreate(s.at("e"), ephemeral)
			counters, err := ensemble.Monitor(s.Context(), ensemble.Server{Addr: s.addrs[0]})
			s.want("error", err, nil)
			s.want("watches", counters["zk_watch_count"], int64(1))
			s.want("ephemerals", counters["zk_ephemerals_count"], int64(1))
			for _, kind := range []string{"created", "deleted", "changed", "children"} {
				if _, ok := counters["zk_sum_node_"+kind+"_watch_count"]; !ok {
					s.Errorf("no counter of watches that fired as %s", kind)
				}
			}
		}},
		{"cons", func(s *site) {
			p := s.open(s.addrs[0], handshake{})
			answer, err := ensemble.Command(s.Context(), ensemble.Server{Addr: s.addrs[0]}, "cons")
			s.want("error", err, nil)
			lines := slices.Collect(strings.Lines(answer))
			i := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, fmt.Sprintf("sid=0x%x,", p.hello.id)) })
			if i < 0 || !strings.HasPrefix(lines[i], " /") || !strings.Contains(lines[i], ",to=10000") {
				s.Errorf("cons does not list session %x:\n%s", p.hello.id, answer)
			}
		}},
		{"wchs", func(s *site) {
			p := s.open(s.addrs[0], handshake{})
			p.exists(s.at("x"), true)
			p.exists(s.at("y"), true)
			p.children(s.root, true) // not counted: it is no data watch
			answer, err := ensemble.Command(s.Context(), ensemble.Server{Addr: s.addrs[0]}, "wchs")
			s.want("error", err, nil)
			if !strings.Contains(answer, " connections watching 2 paths\nTotal watches:2\n") {
				s.Errorf("wchs says\n%s", answer)
			}
		}},
		{"conf", func(s *site) {
			answer, err := ensemble.Command(s.Context(), ensemble.Server{Addr: s.addr()}, "conf")
			s.want("error", err, nil)
			for _, setting := range []string{"tickTime=2000\n", "minSessionTimeout=4000\n", "maxSessionTimeout=40000\n", "maxClientCnxns=0\n"} {
				if !strings.Contains(answer, setting) {
					s.Errorf("conf does not say %s:\n%s", setting, answer)
				}
			}
		}},
		{"a command that is not allowed", func(s *site) {
			_, err := ensemble.Command(s.Context(), ensemble.Server{Addr: s.addr()}, "gtmk")
			if err == nil || !strings.Contains(err.Error(), "whitelist") {
				s.Errorf("error = %v, want that it is not in the whitelist", err)
			}
		}},
		{"a word that is no command", func(s *site) {
			p := dial(s.T, s.addr())
			p.write([]byte("what"))
			s.want("replies", len(p.closed()), 0)
		}},
	}
}

// Malformed writes are not in the table: a real leader proposes them under the zxid of the write before, which may damage it.
func TestEmbeddedMalformedWrites(t *testing.T) {
	s := embeddedSite(t, embedded.Config{})
	p := s.peer()
	for _, op := range []wire.Opcode{wire.OpCreate, wire.OpCreate2, wire.OpDelete, wire.OpSetData, wire.OpMulti} {
		s.want(fmt.Sprintf("%d without a record", op), p.call(op, nil).code, wire.MarshallingError)
		r := p.call(op, func(out *jute.Encoder) { out.Int(1 << 20) })
		s.want(fmt.Sprintf("%d with a record longer than its frame", op), r.code, wire.MarshallingError)
	}
	p.mustCreate(s.at("x"), persistent) // the connection is still open
}
