package wire_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// tapLog writes down what a tap receives. Times are left out.
type tapLog struct {
	lines     []string
	exchanges []wire.Exchange
}

func (l *tapLog) Connected(id int64, resumed bool, timeout time.Duration) {
	l.lines = append(l.lines, fmt.Sprintf("%d connected, resumed %t, %s", id, resumed, timeout))
}

func (l *tapLog) Exchanged(id int64, e wire.Exchange) {
	l.exchanges = append(l.exchanges, e)
	if e.Reply < e.Sent {
		l.lines = append(l.lines, "a reply before its request")
	}
	l.lines = append(l.lines, fmt.Sprintf("%d %s %s%s %v %s zxid %d asked %t armed %t bytes %d %d", id, e.Op, e.Path, flags(e), e.Parts, e.Code, e.Zxid, e.Asked, e.Armed, e.BytesOut, e.BytesIn))
}

func flags(e wire.Exchange) string {
	if e.Flags == wire.UnknownFlags {
		return ""
	}
	return fmt.Sprintf(" flags %d sequential %t", e.Flags, e.Sequential)
}

func (l *tapLog) Notified(id int64, n wire.Notification) {
	l.lines = append(l.lines, fmt.Sprintf("%d notified %s %s zxid %d", id, n.Type, n.Path, n.Zxid))
}

func (l *tapLog) Over(id int64, expired bool) {
	l.lines = append(l.lines, fmt.Sprintf("%d over, expired %t", id, expired))
}

// pass hands both directions to a tapped connection, in pieces: all of the requests, then the replies.
func pass(c *wire.Tapped, out, in []byte, step func() int) {
	for _, direction := range []struct {
		bytes []byte
		to    func([]byte)
	}{{out, c.Sent}, {in, c.Received}} {
		for rest := direction.bytes; len(rest) > 0; {
			n := min(step(), len(rest))
			direction.to(rest[:n])
			rest = rest[n:]
		}
	}
}

func whole() int { return 1 << 20 }

// createBody is the rest of a create after its path: no data, the usual list of permissions, and flags.
func createBody(data string, flags int32) []byte {
	return join(str(data), int32s(1, 31), str("world"), str("anyone"), int32s(flags))
}

func multi(xid int32) []byte {
	part := func(op wire.Opcode) []byte { return append(int32s(int32(op)), 0, 0xff, 0xff, 0xff, 0xff) }
	return frame(int32s(xid, int32(wire.OpMulti)),
		part(wire.OpCheck), str("/v"), int32s(3),
		part(wire.OpCreate), str("/q/x-"), createBody("some data", 2),
		part(wire.OpDelete), str("/q/y"), int32s(-1),
		[]byte{0xff, 0xff, 0xff, 0xff, 1, 0xff, 0xff, 0xff, 0xff})
}

// madeByMulti returns the payload of the reply to [multi], whose second operation has made a znode.
func madeByMulti(path string) []byte {
	done := func(op wire.Opcode) []byte { return append(int32s(int32(op)), 0, 0, 0, 0, 0) }
	return join(done(wire.OpCheck), done(wire.OpCreate), str(path), done(wire.OpDelete), []byte{0xff, 0xff, 0xff, 0xff, 1, 0xff, 0xff, 0xff, 0xff})
}

// failedMulti returns the payload of the reply to a multi that failed because of its second operation.
func failedMulti(codes ...int32) []byte {
	var out []byte
	for _, code := range codes {
		out = append(append(out, 0xff, 0xff, 0xff, 0xff, 0), join(int32s(code), int32s(code))...)
	}
	return append(out, 0xff, 0xff, 0xff, 0xff, 1, 0xff, 0xff, 0xff, 0xff)
}

// A tap receives each request with its reply, however the network fragments the stream: paths as the servers know them, the
// parts of a multi and the code that made it fail, watches, and the session.
func TestTapReceivesExchanges(t *testing.T) {
	out := join(connectRequest(),
		request(1, wire.OpCreate, "/q/x-", createBody("", 3)...),
		request(2, wire.OpExists, "/q/x-0000000006", 1),
		request(3, wire.OpGetData, "/gone", 1),
		frame(int32s(-2, 11)),
		multi(4), multi(5),
		request(6, wire.OpAddWatch, "/all", int32s(1)...),
		frame(int32s(7, int32(wire.OpWhoAmI))),
		frame(int32s(8, -11)))
	in := join(opened(5),
		reply(1, 10, 0, str("/q/x-0000000007")...),
		reply(2, 10, int32(wire.NoNode)),
		notification(11, wire.NodeDeleted, "/q/x-0000000003"),
		reply(3, 11, int32(wire.NoNode)),
		reply(-2, 11, 0),
		reply(4, 12, 0, failedMulti(0, int32(wire.NodeExists), int32(wire.RuntimeInconsistency))...),
		reply(5, 13, 0, madeByMulti("/q/x-0000000008")...),
		reply(6, 13, 0),
		reply(7, 13, 0),
		reply(8, 14, 0))
	const parts = "[{check /v -1 false 0} {create /q/x- 2 false 0} {delete /q/y -1 false 0}]"
	const made = "[{check /v -1 false 0} {create /q/x-0000000008 2 true 8} {delete /q/y -1 false 0}]"
	want := []string{
		"5 connected, resumed false, 4s",
		"5 create /q/x-0000000007 flags 3 sequential true [] OK zxid 10 asked false armed false bytes 56 39",
		"5 exists /q/x-0000000006 [] NoNode zxid 10 asked true armed true bytes 32 20",
		"5 notified NodeDeleted /q/x-0000000003 zxid 11",
		"5 getData /gone [] NoNode zxid 11 asked true armed false bytes 22 20",
		"5 multi /v " + parts + " NodeExists zxid 12 asked false armed false bytes 123 68",
		"5 multi /v " + made + " OK zxid 13 asked false armed false bytes 123 75",
		"5 addWatch /all [] OK zxid 13 asked true armed true bytes 24 20",
		"5 whoAmI  [] OK zxid 13 asked false armed false bytes 12 20",
		"5 closeSession  [] OK zxid 14 asked false armed false bytes 12 20",
		"5 over, expired false",
	}
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 2))
		log := &tapLog{}
		c := wire.NewTapped(time.Now(), log).Tapped()
		pass(c, out, in, func() int { return 1 + random.IntN(1+random.IntN(300)) })
		if !slices.Equal(log.lines, want) {
			t.Fatalf("seed %d: received\n%q, want\n%q", seed, log.lines, want)
		}
	}
}

// A tapped connection counts exactly what a counted one counts.
func TestTappedCountsLikeWrapped(t *testing.T) {
	out, in := session()
	wrapped := wire.NewLedger(time.Now())
	exchange(t, wrapped, out, in, whole)
	tapped := wire.NewTapped(time.Now(), &tapLog{})
	c := tapped.Tapped()
	pass(c, out, in, whole)
	c.End()
	if got, want := tapped.Counts(), wrapped.Counts(); !reflect.DeepEqual(got, want) {
		t.Errorf("tapped %+v, wrapped %+v", got, want)
	}
	if n := tapped.TakeNotifications(nil); len(n) > 0 {
		t.Errorf("a tapped ledger kept %v", n)
	}
}

// The end of a connection leaves requests unanswered, and the session as it is: a further connection resumes it, or learns that it has
// expired.
func TestTappedSessionMoves(t *testing.T) {
	log := &tapLog{}
	l := wire.NewTapped(time.Now(), log)
	first := l.Tapped()
	pass(first, join(connectRequest(), request(1, wire.OpDelete, "/a"), request(2, wire.OpDelete, "/b")), join(opened(9), reply(1, 3, 0)), whole)
	if n, closing := first.Unanswered(); n != 1 || closing {
		t.Errorf("%d requests without a reply, want 1; closing %t", n, closing)
	}
	first.End()
	first.End()
	if c := l.Counts(); c.UnknownTransactions != 1 {
		t.Errorf("%d transactions are in doubt, want the delete without a reply", c.UnknownTransactions)
	}
	resume := frame(make([]byte, 16), int64s(9), make([]byte, 20))
	second := l.Tapped()
	pass(second, resume, opened(9), whole)
	second.End()
	third := l.Tapped()
	pass(third, resume, opened(0), whole)
	want := []string{"9 connected, resumed false, 4s", "9 delete /a [] OK zxid 3 asked false armed false bytes 18 20", "9 connected, resumed true, 4s", "9 over, expired true"}
	if !slices.Equal(log.lines, want) {
		t.Errorf("received %q, want %q", log.lines, want)
	}
	if n := l.Reconnects(); n != 2 {
		t.Errorf("%d reconnects, want 2", n)
	}
}

// Watches that ZooKeeper's own client sets again are answered out of order, with an xid of their own.
func TestWatchesSetAgainByTheJavaClient(t *testing.T) {
	l := wire.NewTapped(time.Now(), &tapLog{})
	c := l.Tapped()
	pass(c, join(connectRequest(), frame(int32s(-8, int32(wire.OpSetWatches)), make([]byte, 20))), join(opened(9), notification(-1, wire.NodeDeleted, "/a"), reply(-8, 3, 0)), whole)
	pass(c, nil, notification(-1, wire.NodeDeleted, "/b"), whole)
	if got := l.Counts().ResentNotifications; got != 1 {
		t.Errorf("%d notifications are counted as sent again, want 1: the request was answered before the second one", got)
	}
}

// negative is traffic of a client whose xids are negative, with all of those that are special otherwise, before and after a ping, credentials
// and watches that are set again, and with notifications of which one comes while the request with their xid is outstanding.
func negative() (out, in []byte) {
	out, in = connectRequest(), opened(9)
	for xid := int32(-9); xid < 2; xid++ {
		out = append(out, request(xid, wire.OpGetChildren, "/zookeeper", 1)...)
		if xid == -1 {
			in = append(in, notification(3, wire.NodeDataChanged, "/zookeeper")...)
		}
		in = append(in, reply(xid, 2, 0, join(int32s(2), str("config"), str("quota"))...)...)
		in = append(in, notification(3, wire.NodeChildrenChanged, "/zookeeper")...)
		if xid%2 == 0 {
			out = append(out, join(frame(int32s(-2, int32(wire.OpPing))), frame(int32s(-4, int32(wire.OpAuth))), frame(int32s(-8, int32(wire.OpSetWatches)), make([]byte, 20)))...)
			in = append(in, join(reply(-4, 0, 0), reply(-2, 2, 0), reply(-8, 2, 0))...)
		}
	}
	return append(out, request(-1, wire.OpSync, "/a")...), append(in, reply(-1, 2, int32(wire.NoNode))...)
}

// Requests with negative xids, which a client uses after 2^31 of them, are requests like others.
func TestNegativeXids(t *testing.T) {
	log := &tapLog{}
	l := wire.NewTapped(time.Now(), log)
	c := l.Tapped()
	out, in := negative()
	pass(c, out, in, whole)
	counts := l.Counts()
	if n, _ := c.Unanswered(); counts.TotalRequests() != 12 || counts.TotalNotifications() != 12 || len(log.exchanges) != 12 || l.Unmatched()+int64(n) != 0 {
		t.Errorf("%d requests, %d notifications, %d exchanges, %d unmatched and %d unanswered, want 12 of each of the first three",
			counts.TotalRequests(), counts.TotalNotifications(), len(log.exchanges), l.Unmatched(), n)
	}
	if n := counts.Notifications; n[wire.NodeDataChanged] != 1 || n[wire.NodeChildrenChanged] != 11 {
		t.Errorf("notifications by type %v, want 1 of data and 11 of children", n)
	}
	if got := counts.Housekeeping; got != 2+5*6 {
		t.Errorf("%d frames of housekeeping, want the handshake, and 6 frames at each of 5 places", got)
	}
}

// A server may answer credentials before earlier requests. Those keep their replies.
func TestCredentialsAreAnsweredFirst(t *testing.T) {
	l := wire.NewTapped(time.Now(), &tapLog{})
	pass(l.Tapped(), join(connectRequest(), request(1, wire.OpGetData, "/a"), frame(int32s(-4, int32(wire.OpAuth)))), join(opened(9), reply(-4, 1, 0), reply(1, 1, 0)), whole)
	if l.Unmatched() != 0 {
		t.Errorf("%d replies match no request", l.Unmatched())
	}
}

// The error of a multi is right if it is within what is decoded, and unknown otherwise. The same holds for its operations.
func TestMultiBeyondWhatIsDecoded(t *testing.T) {
	for _, tt := range []struct {
		name         string
		checks, fail int
		code         wire.Code
		more         bool
	}{
		{"all is decoded", 10, 9, wire.BadVersion, false},
		{"the error is decoded", 200, 70, wire.BadVersion, true},
		{"the error is not decoded", 81, 80, wire.UnknownCode, true},
	} {
		part := join(int32s(int32(wire.OpCheck)), []byte{0}, int32s(-1), str("/version"), int32s(1))
		body, codes := int32s(1, int32(wire.OpMulti)), make([]int32, tt.checks)
		for i := range tt.checks {
			body = append(body, part...)
			if i > tt.fail {
				codes[i] = int32(wire.RuntimeInconsistency)
			}
		}
		codes[tt.fail] = int32(wire.BadVersion)
		log := &tapLog{}
		pass(wire.NewTapped(time.Now(), log).Tapped(), join(connectRequest(), frame(body, int32s(-1), []byte{1}, int32s(-1))),
			join(opened(9), reply(1, 5, 0, failedMulti(codes...)...)), whole)
		e := log.exchanges[0]
		if e.Code != tt.code || e.MoreParts != tt.more || !tt.more && len(e.Parts) != tt.checks {
			t.Errorf("%s: %s, %d parts, more %t", tt.name, e.Code, len(e.Parts), e.MoreParts)
		}
		for _, p := range e.Parts {
			if p.Path != "/version" {
				t.Errorf("%s: an operation on %q", tt.name, p.Path)
			}
		}
	}
	for size := range 60 { // of the first path, so that the prefix ends at each byte of an operation
		part := func(path string) []byte {
			return join(int32s(int32(wire.OpCheck)), []byte{0}, int32s(-1), str(path), int32s(1))
		}
		body := append(int32s(1, int32(wire.OpMulti)), part("/"+strings.Repeat("p", size))...)
		const checks = 60
		for range checks - 1 {
			body = append(body, part("/version")...)
		}
		log := &tapLog{}
		pass(wire.NewTapped(time.Now(), log).Tapped(), join(connectRequest(), frame(body, int32s(-1), []byte{1}, int32s(-1))), join(opened(9), reply(1, 5, 0)), whole)
		if e := log.exchanges[0]; !e.MoreParts || len(e.Parts) >= checks || len(e.Parts) < 30 || e.Parts[len(e.Parts)-1].Path != "/version" {
			t.Errorf("%d parts, more %t, the last %+v", len(e.Parts), e.MoreParts, e.Parts[len(e.Parts)-1])
		}
	}
}

// Very long paths are the same in requests, replies and notifications, and only numbers of which all is decoded are known.
func TestLongPaths(t *testing.T) {
	for length, sequential := range map[int]bool{800: true, 880: true, 890: false, 990: false, 1005: false, 3000: false} {
		path := "/" + strings.Repeat("p", length)
		log := &tapLog{}
		pass(wire.NewTapped(time.Now(), log).Tapped(), join(connectRequest(), request(1, wire.OpCreate, path, createBody("", 2)...), request(2, wire.OpExists, path+"0000000007", 1)),
			join(opened(9), reply(1, 5, 0, str(path+"0000000007")...), reply(2, 5, 0, make([]byte, 68)...), notification(6, wire.NodeDeleted, path+"0000000007")), whole)
		created, asked := log.exchanges[0], log.exchanges[1]
		if created.Path != asked.Path || created.Sequential != sequential || sequential && created.Number != 7 {
			t.Errorf("%d bytes: created %.5s… of %d bytes, sequential %t, number %d; asked for one of %d bytes", length, created.Path, len(created.Path),
				created.Sequential, created.Number, len(asked.Path))
		}
		if want := "notified NodeDeleted " + asked.Path + " "; !strings.Contains(log.lines[len(log.lines)-1], want) {
			t.Errorf("%d bytes: the notification has another path", length)
		}
	}
}

// The watches that are set at the server are those that its latest connection has set, with one request each or all of them again.
func TestWatchesNow(t *testing.T) {
	l := wire.NewTapped(time.Now(), &tapLog{})
	check := func(when string, want ...string) {
		t.Helper()
		got := l.WatchesNow()
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	first := l.Tapped()
	pass(first, join(connectRequest(),
		request(1, wire.OpGetData, "/a", 1), request(2, wire.OpGetChildren, "/a", 1), request(3, wire.OpExists, "/gone", 1), request(4, wire.OpGetData, "/b"),
		request(5, wire.OpAddWatch, "/all", int32s(1)...), request(6, wire.OpAddWatch, "/one", int32s(0)...)),
		join(opened(9), reply(1, 1, 0), reply(2, 1, 0), reply(3, 1, int32(wire.NoNode)), reply(4, 1, 0), reply(5, 1, 0), reply(6, 1, 0)), whole)
	check("set", "/a", "/a", "/all", "/gone", "/one")
	pass(first, nil, join(notification(2, wire.NodeDataChanged, "/a"), notification(2, wire.NodeDataChanged, "/all"), notification(3, wire.NodeDeleted, "/one")), whole)
	check("fired, persistent ones stay", "/a", "/all", "/gone", "/one")
	pass(first, join(request(7, wire.OpRemoveWatches, "/one", int32s(4)...), request(8, wire.OpRemoveWatches, "/all", int32s(4)...)),
		join(reply(7, 3, 0), reply(8, 3, int32(wire.NoWatcher))), whole)
	check("removed", "/a", "/all", "/gone")
	pass(first, join(request(9, wire.OpRemoveWatches, "/all", int32s(5)...), request(10, wire.OpAddWatch, "/all", int32s(1)...)), join(reply(9, 3, 0), nil), whole)
	check("removed recursively", "/a", "/gone")
	pass(first, nil, reply(10, 3, 0), whole)
	first.End()
	check("without a connection")
	resume := frame(make([]byte, 16), int64s(9), make([]byte, 20))
	second := l.Tapped()
	pass(second, join(resume, request(1, wire.OpExists, "/gone", 1)), join(opened(9), reply(1, 4, int32(wire.NoNode))), whole)
	check("set one by one", "/gone")
	third := l.Tapped()
	pass(third, join(resume, frame(int32s(-8, int32(wire.OpSetWatches)), make([]byte, 20))), join(opened(9), reply(-8, 4, 0)), whole)
	second.End() // the server has noticed only now
	check("all set again", "/a", "/all", "/gone")
	pass(third, frame(int32s(2, -11)), reply(2, 5, 0), whole)
	check("closed")
}

// Many outstanding requests are matched in order.
func TestManyOutstandingRequests(t *testing.T) {
	log := &tapLog{}
	l := wire.NewTapped(time.Now(), log)
	c := l.Tapped()
	out, in := connectRequest(), opened(9)
	const n = 10_000
	for i := range int32(n) {
		out = append(out, request(i+1, wire.OpGetData, fmt.Sprintf("/%d", i))...)
		in = append(in, reply(i+1, 1, 0)...)
	}
	pass(c, out, in, whole)
	counts := l.Counts()
	unanswered, _ := c.Unanswered()
	if got := counts.TotalRequests(); got != n || l.Unmatched() != 0 || unanswered != 0 {
		t.Errorf("%d requests, %d unmatched, %d unanswered", got, l.Unmatched(), unanswered)
	}
	if got, want := log.lines[n], fmt.Sprintf("9 getData /%d [] OK zxid 1 asked false armed false bytes 21 20", n-1); got != want {
		t.Errorf("the last one is %q, want %q", got, want)
	}
}

// After a reply that was not seen, the next ones are matched again, and nothing piles up.
func TestReplyThatIsMissing(t *testing.T) {
	log := &tapLog{}
	l := wire.NewTapped(time.Now(), log)
	c := l.Tapped()
	pass(c, join(connectRequest(), request(1, wire.OpGetData, "/a"), request(2, wire.OpGetData, "/b"), request(3, wire.OpGetData, "/c")),
		join(opened(9), reply(2, 1, 0), reply(7, 1, 0), reply(3, 1, 0)), whole)
	unanswered, _ := c.Unanswered()
	if l.Unmatched() != 2 || unanswered != 0 || len(log.lines) != 3 || log.lines[2] != "9 getData /c [] OK zxid 1 asked false armed false bytes 18 20" {
		t.Errorf("%d unmatched, %d unanswered, received %q", l.Unmatched(), unanswered, log.lines)
	}
}

// A watch that the client removes is not set any more.
func TestRemovedWatches(t *testing.T) {
	for kind, want := range map[int32][]string{1: {"/a"}, 2: {"/a"}, 3: nil} { // children, data, any
		l := wire.NewTapped(time.Now(), &tapLog{})
		pass(l.Tapped(), join(connectRequest(), request(1, wire.OpGetData, "/a", 1), request(2, wire.OpGetChildren2, "/a", 1),
			request(3, wire.OpRemoveWatches, "/a", int32s(kind)...), request(4, wire.OpRemoveWatches, "/b", int32s(3)...)),
			join(opened(9), reply(1, 1, 0), reply(2, 1, 0), reply(3, 1, 0), reply(4, 1, int32(wire.NoWatcher))), whole)
		if got := l.WatchesNow(); !slices.Equal(got, want) {
			t.Errorf("kind %d: watched %v, want %v", kind, got, want)
		}
	}
}

// FuzzTapped passes fuzzed bytes in both directions. Nothing panics, and a tap receives the same in whatever pieces they arrive.
func FuzzTapped(f *testing.F) {
	out, in := session()
	f.Add(out, in)
	out, in = negative()
	f.Add(out, in)
	f.Add(multi(1), failedMulti(0, 1))
	f.Add(join(connectRequest(), multi(1)[:60]), join(opened(1), reply(1, 2, 0)))
	f.Add([]byte{0x06, 0x40, 0, 0}, []byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, out, in []byte) {
		log := map[int]*tapLog{}
		for _, step := range []int{1, 7, whole()} {
			log[step] = &tapLog{}
			c := wire.NewTapped(time.Now(), log[step]).Tapped()
			pass(c, out, in, func() int { return step })
			c.End()
		}
		if want := log[whole()].lines; !slices.Equal(log[1].lines, want) || !slices.Equal(log[7].lines, want) {
			t.Errorf("received %q whole, and in pieces %q and %q", want, log[1].lines, log[7].lines)
		}
	})
}
