package observe

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/jute"
	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/must"
)

// conversation is the bytes of one connection.
type conversation struct {
	out, in []byte
	xid     int32
}

// observed passes conversations one after another: all that the client sends, then all that the server sends, in pieces of the sizes that
// step returns. It returns the observer, an hour later.
func observed(step func() int, conversations ...conversation) *Observer {
	now := time.Duration(0)
	o := newObserver(func() time.Duration { return now }, results.Environment{ZooKeeper: "3.9.3"})
	for _, c := range conversations {
		conn := wire.NewTapped(time.Now(), o).Tapped()
		inPieces(c.out, step, conn.Sent)
		inPieces(c.in, step, conn.Received)
	}
	now = time.Hour
	return o
}

func inPieces(p []byte, step func() int, to func([]byte)) {
	for len(p) > 0 {
		n := min(step(), len(p))
		to(p[:n])
		p = p[n:]
	}
}

func inOnePiece() int { return 1 << 30 }

// stepsOf returns a function that returns the sizes of pieces: the bytes of sizes, again and again.
func stepsOf(sizes []byte) func() int {
	i := 0
	return func() int {
		if i++; len(sizes) == 0 {
			return 3
		}
		return 1 + int(sizes[i%len(sizes)])
	}
}

// reported renders everything that is printed and written of an observation, and returns the report as JSON.
func reported(t *testing.T, o *Observer) string {
	t.Helper()
	for name, n := range map[string]int{
		"paths": len(o.window.paths.by) - mostPaths, "kinds": len(o.window.kinds.by) - mostKinds, "parents": len(o.znodes.numbers) - mostParents,
		"families": len(o.window.families.by) - mostFamilies, "causes": len(o.causes.by) - mostCauses, "made": len(o.znodes.made.by) - mostChildren,
	} {
		if n > 0 {
			t.Errorf("%d %s more than are kept", n, name)
		}
	}
	for _, s := range o.sessions {
		if len(s.waits) > mostWaits || len(s.woken) > mostPaths {
			t.Errorf("a session keeps %d waits and %d paths", len(s.waits), len(s.woken))
		}
	}
	r := o.Report()
	for _, columns := range []int{1, 80} {
		r.Text(proxy.Stats{}, columns)
		r.block(columns, 24)
	}
	_, _ = o.Document("run", "app", time.Now(), results.Environment{Engine: results.External, Servers: []string{"a:1"}})
	return string(must.Get(json.MarshalIndent(r, "", " "))(t))
}

// FuzzObservedBytes passes fuzzed bytes of a client and a server. They cause no panic, what is kept is bounded, and their report is the same
// in any pieces. The pieces of both directions may alternate.
func FuzzObservedBytes(f *testing.F) {
	for _, c := range played([]byte("every operation once, of some sessions, with some of their replies: 0123456789\x00\x01\x02\x03")) {
		f.Add(c.out, c.in, []byte{6, 0, 200})
	}
	f.Add([]byte{0x06, 0x40, 0, 0}, []byte{0xff, 0xff, 0xff, 0xff}, []byte{})
	f.Fuzz(func(t *testing.T, out, in, sizes []byte) {
		c := conversation{out: out, in: in}
		whole, pieces := reported(t, observed(inOnePiece, c)), reported(t, observed(stepsOf(sizes), c))
		if whole != pieces {
			t.Errorf("whole:\n%s\nin pieces:\n%s", whole, pieces)
		}
		o, step := newObserver(func() time.Duration { return 0 }, results.Environment{}), stepsOf(sizes)
		conn := wire.NewTapped(time.Now(), o).Tapped()
		inPieces(out, step, func(p []byte) {
			conn.Sent(p)
			n := min(step(), len(in))
			conn.Received(in[:n])
			in = in[n:]
		})
		conn.End()
		reported(t, o)
	})
}

// FuzzObservedTraffic plays valid traffic, which the input chooses. Every request is counted, in whatever pieces it arrives.
func FuzzObservedTraffic(f *testing.F) {
	f.Add([]byte("three sessions that create, watch and delete"), []byte{0})
	f.Add([]byte("\x00\x00\x00\x01\x11\x11\x02\x22\x22\x03\x33\x33\x04\x44\x44\x05\x55\x55\x06\x66\x66\x07\x77\x77\x08\x88\x88\x09\x99\x99"), []byte{255, 3})
	f.Fuzz(func(t *testing.T, plan, sizes []byte) {
		conversations := played(plan)
		o := observed(inOnePiece, conversations...)
		whole, pieces := reported(t, o), reported(t, observed(stepsOf(sizes), conversations...))
		if whole != pieces {
			t.Errorf("whole:\n%s\nin pieces:\n%s", whole, pieces)
		}
		var want int64
		for _, c := range conversations {
			want += int64(c.xid)
		}
		if got := o.Report().Requests; got != want {
			t.Errorf("%d requests are counted, want %d", got, want)
		}
	})
}

// frameOf returns a frame with the record that fill writes.
func frameOf(fill func(*jute.Encoder)) []byte {
	e := jute.NewFrame(128)
	fill(e)
	return e.Frame()
}

// played returns the conversations of three sessions, which take steps of three bytes each: the session and the operation, the path, and
// the result.
func played(plan []byte) []conversation {
	sessions := make([]conversation, 3)
	for i := range sessions {
		c := &sessions[i]
		c.out = frameOf(func(e *jute.Encoder) { e.Raw(make([]byte, 44)) })
		c.in = frameOf(func(e *jute.Encoder) { e.Int(0); e.Int(4000); e.Long(int64(i) + 1); e.Buffer(make([]byte, 16)) })
	}
	for zxid := int64(1); len(plan) >= 3; zxid++ {
		sessions[plan[0]%3].step(zxid, plan[0]/3, plan[1], plan[2])
		plan = plan[3:]
	}
	return sessions
}

func (c *conversation) step(zxid int64, kind, place, result byte) {
	path := []string{"/d", "/d/n-000000000" + string('0'+place%10), "/e/_c_0123456789abcdef-lock-0000000003", "/"}[place%4]
	codes := []wire.Code{wire.OK, wire.NoNode, wire.NodeExists, wire.BadVersion}
	code, watch := codes[result%4], result&16 != 0
	switch ops := []wire.Opcode{
		wire.OpCreate, wire.OpDelete, wire.OpExists, wire.OpGetData, wire.OpSetData, wire.OpGetChildren2, wire.OpSync, wire.OpAddWatch,
		wire.OpRemoveWatches, wire.OpMulti, wire.OpPing, 0,
	}; ops[int(kind)%len(ops)] {
	case 0:
		c.in = append(c.in, frameOf(func(e *jute.Encoder) {
			e.Int(-1)
			e.Long(zxid)
			e.Int(0)
			e.Int(int32(result%4) + 1)
			e.Int(3)
			e.Text(path)
		})...)
	case wire.OpPing:
		c.out = append(c.out, frameOf(func(e *jute.Encoder) { e.Int(-2); e.Int(int32(wire.OpPing)) })...)
		c.in = append(c.in, frameOf(func(e *jute.Encoder) { e.Int(-2); e.Long(zxid); e.Int(0) })...)
	case wire.OpCreate:
		c.request(wire.OpCreate, zxid, code, func(e *jute.Encoder) {
			e.Text("/d/n-")
			e.Buffer(make([]byte, int(result)*8))
			e.ACLs(nil)
			e.Int(2)
		}, func(e *jute.Encoder) { e.Text(path) })
	case wire.OpMulti:
		c.multi(zxid, int(result), path)
	default:
		c.request(ops[int(kind)%len(ops)], zxid, code, func(e *jute.Encoder) {
			e.Text(path)
			e.Bool(watch)
			e.Raw(make([]byte, 3)) // of a version, a type or a mode
		}, func(e *jute.Encoder) { e.Raw(make([]byte, int(result)*8)) })
	}
}

// multi is a multi of some checks, the last of which fails.
func (c *conversation) multi(zxid int64, checks int, path string) {
	c.request(wire.OpMulti, zxid, wire.OK, func(e *jute.Encoder) {
		for range checks {
			e.Int(int32(wire.OpCheck))
			e.Bool(false)
			e.Int(-1)
			e.Text(path)
			e.Int(-1)
		}
		e.Int(-1)
		e.Bool(true)
		e.Int(-1)
	}, func(e *jute.Encoder) {
		for i := range checks {
			code := wire.OK
			if i == checks-1 {
				code = wire.BadVersion
			}
			e.Int(-1)
			e.Bool(false)
			e.Int(int32(code))
			e.Int(int32(code))
		}
		e.Int(-1)
		e.Bool(true)
		e.Int(-1)
	})
}

func (c *conversation) request(op wire.Opcode, zxid int64, code wire.Code, body, payload func(*jute.Encoder)) {
	c.xid++
	c.out = append(c.out, frameOf(func(e *jute.Encoder) { e.Int(c.xid); e.Int(int32(op)); body(e) })...)
	c.in = append(c.in, frameOf(func(e *jute.Encoder) {
		e.Int(c.xid)
		e.Long(zxid)
		e.Int(int32(code))
		if code == wire.OK {
			payload(e)
		}
	})...)
}
