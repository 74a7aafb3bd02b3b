package wire_test

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/must"
)

func frame(parts ...[]byte) []byte {
	body := []byte{}
	for _, p := range parts {
		body = append(body, p...)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func int32s(values ...int32) []byte {
	var out []byte
	for _, v := range values {
		out = binary.BigEndian.AppendUint32(out, uint32(v))
	}
	return out
}

func int64s(v int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(v)) }

func str(s string) []byte { return append(int32s(int32(len(s))), s...) }

// The frames of a short session, as go-zookeeper and ZooKeeper 3.9 exchange them.
func connectRequest() []byte  { return frame(make([]byte, 44)) }
func connectResponse() []byte { return frame(int32s(0, 4000), make([]byte, 28)) }

func request(xid int32, op wire.Opcode, path string, tail ...byte) []byte {
	return frame(int32s(xid, int32(op)), str(path), tail)
}

func reply(xid int32, zxid int64, code int32, payload ...byte) []byte {
	return frame(int32s(xid), int64s(zxid), int32s(code), payload)
}

func notification(zxid int64, typ wire.EventType, path string) []byte {
	return frame(int32s(-1), int64s(zxid), int32s(0), int32s(int32(typ), 3), str(path))
}

// pipe is a net.Conn whose two directions are byte slices, cut into pieces of at most step bytes.
type pipe struct {
	net.Conn
	incoming []byte
	step     func() int
}

// The deadlines and the end of a pipe have no effect: it never blocks.
func (p *pipe) SetDeadline(time.Time) error     { return nil }
func (p *pipe) SetReadDeadline(time.Time) error { return nil }
func (p *pipe) Close() error                    { return nil }
func (p *pipe) CloseWrite() error               { return nil }

func (p *pipe) Write(b []byte) (int, error) { return len(b), nil }

func (p *pipe) Read(b []byte) (int, error) {
	if len(p.incoming) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.incoming[:min(p.step(), len(p.incoming))])
	p.incoming = p.incoming[n:]
	return n, nil
}

// exchange sends and receives everything through a counted connection, in pieces whose sizes step chooses.
func exchange(t *testing.T, l *wire.Ledger, out, in []byte, step func() int) {
	t.Helper()
	conn := l.Wrap(&pipe{incoming: in, step: step})
	for len(out) > 0 {
		n := min(step(), len(out))
		must.Get(conn.Write(out[:n]))(t)
		out = out[n:]
	}
	must.Get(io.Copy(io.Discard, conn))(t)
}

func join(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func session() (out, in []byte) {
	multiError := append(int32s(-1), 0, 0xff, 0xff, 0xff, 0x92)
	out = join(connectRequest(),
		request(1, wire.OpCreate, "/a"),
		request(2, wire.OpExists, "/a", 1),
		request(3, wire.OpGetData, "/b", 1),
		frame(int32s(-2, 11)),
		request(4, wire.OpMulti, "/a"),
		request(5, wire.OpSync, wire.FencePath),
		request(6, wire.OpGetChildren2, "/", 1),
		frame(int32s(7, 101), make([]byte, 20)), // watches re-sent
		request(8, wire.OpSync, "/a"),
		request(10, wire.OpAddWatch, "/a", int32s(1)...),
		frame(int32s(9, -11)),
	)
	in = join(connectResponse(),
		reply(1, 10, 0, str("/a")...),
		reply(2, 10, -101),
		notification(11, wire.NodeCreated, "/a"),
		reply(-2, 11, 0),
		reply(3, 11, -101),
		reply(4, 12, 0, multiError...),
		reply(5, 12, 0),
		reply(6, 12, 0, make([]byte, 5000)...),
		notification(13, wire.NodeChildrenChanged, "/"),
		reply(7, 13, 0),
		reply(8, 13, 0),
		reply(10, 13, 0),
		reply(9, 13, 0),
	)
	return out, in
}

// The ledger counts the same however the network fragments the stream.
func TestLedgerCountsAnyFragmentation(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		step := func() int { return 1 + random.IntN(1+random.IntN(700)) }
		if seed == 0 {
			step = func() int { return 1 << 20 } // in one piece
		}
		l := wire.NewLedger(time.Now())
		out, in := session()
		exchange(t, l, out, in, step)
		checkSession(t, l, seed)
	}
}

// A further session counts in its client's ledger, including its opening and its closing. Whether a session is idle, and how
// far it has seen, is recorded separately.
func TestFurtherSession(t *testing.T) {
	first := wire.NewLedger(time.Now())
	exchange(t, first, join(connectRequest(), request(1, wire.OpGetData, "/w", 1)), join(opened(7), reply(1, 5, 0)), func() int { return 1000 })
	before := first.Counts()
	first.KeepWrites()
	further := first.Further()
	ends := join(connectRequest(), request(1, wire.OpCreate, "/x"), frame(int32s(2, -11)))
	exchange(t, further, ends, join(opened(8), reply(1, 6, 0), reply(2, 7, 0)), func() int { return 1000 })
	c := first.Counts()
	c.Sub(before)
	writes, _ := c.Writes()
	for _, want := range []struct {
		name      string
		got, want int64
	}{
		{"requests", c.TotalRequests(), 3},
		{"writes", writes, 3},
		{"createSession", c.Requests[wire.OpCreateSession], 1},
		{"closeSession", c.Requests[wire.OpCloseSession], 1},
		{"bytes", c.BytesOut, int64(len(ends))},
		{"housekeeping", c.Housekeeping, 0},
		{"sessions opened", c.SessionsOpened, 1},
		{"sessions closed", c.SessionsClosed, 1},
		{"reconnects", int64(first.Reconnects()), 0},
		{"the first one's last zxid", first.LastZxid(), 5},
		{"the further one's", further.LastZxid(), 7},
		{"the latest", first.LatestZxid(), 7},
		{"writes that were kept", int64(len(first.TakeWrites(nil))), 2},
		{"unknown transactions", c.UnknownTransactions, 0},
	} {
		if want.got != want.want {
			t.Errorf("%s: %d, want %d", want.name, want.got, want.want)
		}
	}
	for op, want := range map[wire.Opcode]string{wire.OpCreateSession: "createSession", wire.OpCloseSession: "closeSession"} {
		if op.String() != want {
			t.Errorf("%d is named %q, want %q", op, op, want)
		}
	}
}

// If the opening or the closing of a further session is not answered, its effect is unknown.
func TestFurtherSessionUnanswered(t *testing.T) {
	for _, tt := range []struct {
		name               string
		out, in            []byte
		writes, unanswered int64
	}{
		{"opening", connectRequest(), nil, 1, 2},
		{"closing", join(connectRequest(), frame(int32s(2, -11))), opened(8), 2, 1},
	} {
		l := wire.NewLedger(time.Now())
		exchange(t, l.Further(), tt.out, tt.in, func() int { return 1000 })
		c := l.Counts()
		if writes, _ := c.Writes(); writes != tt.writes || c.UnknownTransactions != tt.unanswered || c.SessionsOpened != 1 || c.SessionsClosed != 0 {
			t.Errorf("%s: %d writes, counts %+v", tt.name, writes, c)
		}
	}
}

func checkSession(t *testing.T, l *wire.Ledger, seed uint64) {
	t.Helper()
	c := l.Counts()
	writes, failedWrites := c.Writes()
	for _, want := range []struct {
		name      string
		got, want int64
	}{
		{"requests", c.TotalRequests(), 7},
		{"requests of the traffic", l.Traffic().Requests, 7},
		{"bytes of the traffic", l.Traffic().BytesIn, c.BytesIn},
		{"creates", c.Requests[wire.OpCreate], 1},
		{"syncs of the recipe", c.Requests[wire.OpSync], 1},
		{"writes", writes, 2},
		{"failed writes", failedWrites, 1},
		{"failed reads", c.Failed[wire.OpExists] + c.Failed[wire.OpGetData], 2},
		{"watches by exists, which found nothing", c.Watches[wire.OpExists], 1},
		{"watches by getData, which found nothing", c.Watches[wire.OpGetData], 0},
		{"watches by getChildren", c.Watches[wire.OpGetChildren2], 1},
		{"watches by addWatch", c.Watches[wire.OpAddWatch], 1},
		{"watches set again", c.Watches[wire.OpSetWatches], 0},
		{"notifications", c.TotalNotifications(), 2},
		{"notified", int64(l.Notified()), 2},
		{"housekeeping", c.Housekeeping, 2 + 2 + 2 + 2 + 2}, // connect, ping, fence, setWatches, close
		{"unmatched", l.Unmatched(), 0},
		{"session timeout", int64(l.SessionTimeout()), int64(4 * time.Second)},
	} {
		if want.got != want.want {
			t.Errorf("seed %d: %s = %d, want %d", seed, want.name, want.got, want.want)
		}
	}
	n := l.TakeNotifications(nil)
	if len(n) != 2 || n[0].Zxid != 11 || n[0].Path != "/a" || n[1].Zxid != 13 || n[1].Type != wire.NodeChildrenChanged {
		t.Errorf("seed %d: notifications = %+v", seed, n)
	}
}

// A session is idle while nothing is outstanding and a watch is armed. A notification removes the watch, and disturbs the session until the
// next request, even if another watch is armed.
func TestIdle(t *testing.T) {
	l := wire.NewLedger(time.Now())
	in := &pipe{step: func() int { return 1 << 20 }}
	conn := l.Wrap(in)
	for _, step := range []struct {
		name    string
		out, in []byte
		want    bool
	}{
		{"connected", connectRequest(), connectResponse(), false},
		{"watch asked for", request(1, wire.OpExists, "/a", 1), nil, false},
		{"watch on a missing node", nil, reply(1, 1, -101), true},
		{"read under way", request(2, wire.OpGetData, "/b", 1), nil, false},
		{"getData of a missing node arms nothing", nil, reply(2, 1, -101), true},
		{"notified", nil, notification(2, wire.NodeCreated, "/a"), false},
		{"plain read", request(3, wire.OpGetData, "/a", 0), reply(3, 2, 0), false},
		{"re-armed", request(4, wire.OpGetChildren2, "/", 1), reply(4, 2, 0), true},
		{"fence under way", request(5, wire.OpSync, wire.FencePath), nil, true},
		{"second watch", request(6, wire.OpGetData, "/a", 1), reply(6, 2, 0), true},
		{"notified, with a watch left", nil, notification(3, wire.NodeDataChanged, "/a"), true},
	} {
		must.Get(conn.Write(step.out))(t)
		if step.in != nil {
			receive(t, conn, in, step.in, make([]byte, 4096))
		}
		if got := l.Idle(); got != step.want {
			t.Errorf("%s: idle = %v, want %v", step.name, got, step.want)
		}
		if got, want := l.Undisturbed(), step.want && !strings.HasPrefix(step.name, "notified"); got != want {
			t.Errorf("%s: undisturbed = %v, want %v", step.name, got, want)
		}
	}
}

// A reply to no request is reported: the ledger can no longer match replies to requests.
func TestUnmatchedReply(t *testing.T) {
	for _, tt := range []struct {
		name    string
		out, in []byte
	}{
		{"nothing outstanding", nil, reply(1, 1, 0)},
		{"another xid", request(1, wire.OpCreate, "/a"), reply(2, 1, 0)},
		{"too short", nil, frame([]byte{1, 2})},
		{"negative length", nil, int32s(-5)},
	} {
		l := wire.NewLedger(time.Now())
		exchange(t, l, append(connectRequest(), tt.out...), append(connectResponse(), tt.in...), func() int { return 9 })
		if l.Unmatched() == 0 {
			t.Errorf("%s: not noticed", tt.name)
		}
	}
}

func TestReconnectsKeepOneAccount(t *testing.T) {
	l := wire.NewLedger(time.Now())
	whole := func() int { return 1 << 20 }
	exchange(t, l, join(connectRequest(), request(1, wire.OpCreate, "/a")), connectResponse(), whole)
	exchange(t, l, join(connectRequest(), request(2, wire.OpCreate, "/a")), join(connectResponse(), reply(2, 1, 0)), whole)
	c := l.Counts()
	if got := c.Requests[wire.OpCreate]; got != 2 {
		t.Errorf("creates = %d, want 2", got)
	}
	if l.Reconnects() != 1 || l.Unmatched() != 0 {
		t.Errorf("reconnects = %d, unmatched = %d; want 1, 0", l.Reconnects(), l.Unmatched())
	}
}

func FuzzLedger(f *testing.F) {
	out, in := session()
	f.Add(out, in, uint8(7))
	f.Add(int32s(-1, 1<<30), int32s(1<<30), uint8(1))
	f.Fuzz(func(t *testing.T, out, in []byte, step uint8) {
		l := wire.NewLedger(time.Now())
		exchange(t, l, out, in, func() int { return int(step) + 1 })
		whole := wire.NewLedger(time.Now())
		exchange(t, whole, out, in, func() int { return 1 << 20 })
		if l.Counts() != whole.Counts() || len(l.TakeNotifications(nil)) != len(whole.TakeNotifications(nil)) {
			t.Errorf("fragmentation changes the counts: %+v, whole %+v", l.Counts(), whole.Counts())
		}
	})
}

// connected returns a counted connection after its handshake, and the pipe that feeds it.
func connected(t testing.TB, l *wire.Ledger) (net.Conn, *pipe) {
	t.Helper()
	in := &pipe{step: func() int { return 1 << 20 }, incoming: connectResponse()}
	conn := l.Wrap(in)
	must.Get(conn.Write(connectRequest()))(t)
	must.Get(conn.Read(make([]byte, 4096)))(t)
	return conn, in
}

func receive(t testing.TB, conn net.Conn, in *pipe, frames []byte, buf []byte) {
	in.incoming = frames
	must.Get(conn.Read(buf))(t)
}

// Each notification is taken once, with its own path, and stays in the total.
func TestTakeNotifications(t *testing.T) {
	l := wire.NewLedger(time.Now())
	conn, in := connected(t, l)
	buf := make([]byte, 4096)
	receive(t, conn, in, join(notification(1, wire.NodeCreated, "/a"), notification(2, wire.NodeDeleted, "/bb")), buf)
	taken := l.TakeNotifications(nil)
	receive(t, conn, in, notification(3, wire.NodeDataChanged, "/ccc"), buf)
	taken = l.TakeNotifications(taken)
	if again := l.TakeNotifications(nil); len(again) != 0 {
		t.Errorf("taken twice: %+v", again)
	}
	for i, want := range []string{"/a", "/bb", "/ccc"} {
		if i >= len(taken) || taken[i].Path != want || taken[i].Zxid != int64(i)+1 {
			t.Fatalf("taken: %+v, want %s with zxid %d at %d", taken, want, i+1, i)
		}
	}
	if got := l.Notified(); got != 3 {
		t.Errorf("notified = %d, want 3", got)
	}
}

// After a call at time T, no later call returns a notification from before T, and none is lost.
func TestTakeNotificationsInOrderOfTime(t *testing.T) {
	const n = 20_000
	epoch := time.Now()
	l := wire.NewLedger(epoch)
	conn, in := connected(t, l)
	var feeding sync.WaitGroup
	feeding.Go(func() {
		buf := make([]byte, 4096)
		for zxid := range int64(n) {
			receive(t, conn, in, notification(zxid, wire.NodeDeleted, "/lock"), buf)
		}
	})
	var before time.Duration
	for seen := int64(0); seen < n && !t.Failed(); {
		now := time.Since(epoch)
		for _, got := range l.TakeNotifications(nil) {
			if got.At < before || got.Zxid != seen {
				t.Fatalf("zxid %d at %s, want zxid %d, after the call at %s", got.Zxid, got.At, seen, before)
			}
			seen++
		}
		before = now
	}
	feeding.Wait()
}

// BenchmarkLedger passes one request, its reply and one notification per iteration, and takes the notifications from time to
// time, as a recorder does.
func BenchmarkLedger(b *testing.B) {
	l := wire.NewLedger(time.Now())
	conn, in := connected(b, l)
	out, replies := request(1, wire.OpExists, "/bench/lock", 1), join(reply(1, 1, 0, make([]byte, 68)...),
		notification(2, wire.NodeDeleted, "/bench/lock"))
	buf := make([]byte, 4096)
	var taken []wire.Notification
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Write(out); err != nil {
			b.Fatal(err)
		}
		receive(b, conn, in, replies, buf)
		if l.Notified()%1000 == 0 {
			taken = l.TakeNotifications(taken[:0])
		}
	}
	if l.Unmatched() > 0 {
		b.Fatal("unmatched replies")
	}
}

// BenchmarkTakeNotifications takes from a session without new notifications.
func BenchmarkTakeNotifications(b *testing.B) {
	l := wire.NewLedger(time.Now())
	conn, in := connected(b, l)
	receive(b, conn, in, notification(1, wire.NodeDeleted, "/lock"), make([]byte, 4096))
	taken := l.TakeNotifications(nil)
	b.ReportAllocs()
	for b.Loop() {
		taken = l.TakeNotifications(taken)
	}
	if len(taken) != 1 {
		b.Fatalf("taken: %+v", taken)
	}
}

// Every reply advances the last zxid, those to pings included; a notification does not.
func TestLastZxid(t *testing.T) {
	l := wire.NewLedger(time.Now())
	client, server := net.Pipe()
	conn := l.Wrap(client)
	defer server.Close()
	header := func(xid int32, zxid int64) []byte {
		body := binary.BigEndian.AppendUint32(nil, uint32(xid))
		body = binary.BigEndian.AppendUint64(body, uint64(zxid))
		return append(body, 0, 0, 0, 0)
	}
	for _, tt := range []struct {
		name string
		body []byte
		want int64
	}{
		{"the handshake has none", make([]byte, 36), 0},
		{"a ping", header(-2, 7), 7},
		{"a notification", append(header(-1, 9), make([]byte, 12)...), 7},
		{"unimplemented", header(5, -1), 7},
		{"a reply", header(6, 12), 12},
	} {
		go func() { _, _ = server.Write(frame(tt.body)) }()
		must.Get(io.ReadFull(conn, make([]byte, 4+len(tt.body))))(t)
		if got := l.LastZxid(); got != tt.want {
			t.Errorf("%s: last zxid %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestOpcodeNames(t *testing.T) {
	for _, name := range wire.OpcodeNames() {
		if op, ok := wire.OpcodeNamed(name); !ok || op.String() != name {
			t.Errorf("%s is opcode %d, %t", name, op, ok)
		}
	}
	if op, _ := wire.OpcodeNamed("getChildren"); op != wire.OpGetChildren2 {
		t.Errorf("getChildren is opcode %d, want the one that the client library sends", op)
	}
	for _, name := range []string{"", "other", "ping", "Create"} {
		if op, ok := wire.OpcodeNamed(name); ok {
			t.Errorf("%q is opcode %d", name, op)
		}
	}
}
