package observe

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/proxy"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/metric"
	"github.com/zkbench/zkbench/results/must"
	"github.com/zkbench/zkbench/results/recorder"
	"github.com/zkbench/zkbench/results/store"
)

// scene drives an observer by a clock of its own. Each request takes a millisecond.
type scene struct {
	*Observer
	now  time.Duration
	zxid int64
}

func newScene(version string) *scene {
	s := &scene{}
	s.Observer = newObserver(func() time.Duration { return s.now }, results.Environment{ZooKeeper: version})
	return s
}

// open opens sessions with the ids 1 to n.
func (s *scene) open(n int) {
	for id := range n {
		s.Connected(int64(id+1), false, 4*time.Second)
	}
}

func (s *scene) request(id int64, e wire.Exchange) {
	e.Sent = s.now
	s.now += time.Millisecond
	e.Reply = s.now
	if e.Op.IsWrite() {
		s.zxid++
	}
	if e.Sequential && e.Number == 0 {
		n, _ := numberIn(e.Path, false)
		e.Number = n
	}
	e.Zxid = s.zxid
	e.BytesIn, e.BytesOut = 100, 50
	s.Exchanged(id, e)
}

func (s *scene) do(id int64, op wire.Opcode, path string) {
	s.request(id, wire.Exchange{Op: op, Path: path})
}

// make creates a znode. One whose path ends in a number is sequential.
func (s *scene) make(id int64, path string, flags int32) {
	s.request(id, wire.Exchange{Op: wire.OpCreate, Path: path, Flags: flags, Sequential: isSequential(path)})
}

func (s *scene) fail(id int64, op wire.Opcode, path string, code wire.Code) {
	s.request(id, wire.Exchange{Op: op, Path: path, Code: code})
}

func (s *scene) watch(id int64, op wire.Opcode, path string) {
	s.request(id, wire.Exchange{Op: op, Path: path, Asked: true, Armed: true})
}

// fire notifies sessions of the latest transaction.
func (s *scene) fire(typ wire.EventType, path string, ids ...int64) {
	for _, id := range ids {
		s.Notified(id, wire.Notification{At: s.now, Zxid: s.zxid, Type: typ, Path: path})
	}
}

func others(n int, but int64) []int64 {
	var ids []int64
	for id := int64(1); id <= int64(n); id++ {
		if id != but {
			ids = append(ids, id)
		}
	}
	return ids
}

// childrenWatch plays a lock whose waiters all watch its directory: each session acquires and releases once.
func (s *scene) childrenWatch(n int) {
	node := func(id int64) string {
		return fmt.Sprintf("/app/lock/_c_0123456789abcdef0123456789abcdef-lock-%010d", id)
	}
	for id := range int64(n) {
		s.make(id+1, node(id+1), inLine)
	}
	for id := range int64(n) {
		s.watch(id+1, wire.OpGetChildren2, "/app/lock")
	}
	for id := int64(1); id <= int64(n); id++ {
		s.do(id, wire.OpDelete, node(id))
		waiting := others(n, 0)[id:]
		s.fire(wire.NodeChildrenChanged, "/app/lock", waiting...)
		for _, w := range waiting {
			s.watch(w, wire.OpGetChildren2, "/app/lock")
		}
	}
}

// A lock that wakes all its waiters is recognized: the herds with their cause and their effect, useless notifications, and the
// better lock.
func TestChildrenWatchIsRecognized(t *testing.T) {
	const n = 10
	s := newScene("3.9.3")
	s.open(n)
	s.childrenWatch(n)
	r := s.Report()
	if r.HerdMax != 0 {
		t.Errorf("a herd of %d is reported before it is complete", r.HerdMax)
	}
	s.now += herdSilence + lookEvery
	r = s.Report()
	if r.HerdMax != n-1 || r.HerdP50 != 5 || r.MostSessions != n || r.HerdGuessed {
		t.Errorf("herds of at most %d and p50 %d of %d sessions, guessed %t", r.HerdMax, r.HerdP50, r.MostSessions, r.HerdGuessed)
	}
	if len(r.Herds) != 1 {
		t.Fatalf("kinds of herds: %+v, want one", r.Herds)
	}
	k := r.Herds[0]
	largest := Herd{
		Zxid: "0xb", Cause: "delete /app/lock/_c_0123456789abcdef0123456789abcdef-lock-0000000001", By: "0x1",
		Event: "NodeChildrenChanged", Path: "/app/lock", Notifications: 9, Sessions: 9,
		Effects: []Effect{{Operation: "getChildren", Count: 9, BytesIn: 900}, {Operation: "delete", Count: 1, BytesIn: 100}},
	}
	if k.Count != 9 || k.Notifications != 45 || fmt.Sprint(k.Largest) != fmt.Sprint(largest) {
		t.Errorf("herds %+v, want 9 with 45 notifications, and the largest %+v", k, largest)
	}
	want := []Look{{
		Path: "/app/lock", Variant: "lock/children-watch", Better: "lock/predecessor-watch", Sessions: n,
		Because: "sessions that create ephemeral znodes in it: 10, that watch the list while their own is in it: the same 10, " +
			"that delete their own: the same 10; largest herd: 9",
	}}
	if !slices.Equal(r.Looks, want) {
		t.Errorf("looks like %+v, want %+v", r.Looks, want)
	}
	dir := r.Paths[slices.IndexFunc(r.Paths, func(p PathReport) bool { return p.Path == "/app/lock" })]
	// Session k is notified k-1 times, and only the last one is followed by its delete.
	if dir.Fired != 45 || dir.Unfollowed != 36 || dir.WatchesSet != 55 {
		t.Errorf("%d notifications, %d of no use, %d watches, want 45, 36 and 55", dir.Fired, dir.Unfollowed, dir.WatchesSet)
	}
	if r.Writes != 20 || r.FailedWrites != 0 || r.Notifications != 45 || r.Requests != 75 {
		t.Errorf("counts %+v", r)
	}
}

// Each step of a recipe must have been seen several times, by several sessions.
func TestLooksNeedEvidence(t *testing.T) {
	node := func(id int64) string { return fmt.Sprintf("/d/n-%010d", id) }
	s := newScene("3.9.3")
	s.open(10)
	for id := int64(2); id < 5; id++ {
		if looks := s.Report().Looks; len(looks) > 0 {
			t.Errorf("%d rounds are enough to say %+v", id-2, looks)
		}
		s.make(id, node(id), inLine)
		s.do(id, wire.OpGetChildren2, "/d")
		s.watch(id, wire.OpGetData, node(id-1))
		s.do(id, wire.OpDelete, node(id))
	}
	if looks := s.Report().Looks; len(looks) != 1 || looks[0].Variant != "lock/predecessor-watch" {
		t.Errorf("looks like %+v", looks)
	}
}

// A lock of one znode is recognized when the replies to its writes are seen in another order than that of the transactions, also in
// multis, and for longer than znodes are remembered.
func TestLooksOfLateReplies(t *testing.T) {
	s := newScene("3.9.3")
	s.open(4)
	taken := wire.Exchange{
		Op: wire.OpMulti, Path: "/lock",
		Parts: []wire.Part{{Op: wire.OpCreate, Path: "/lock", Flags: zk.FlagEphemeral}, {Op: wire.OpSetData, Path: "/fence"}},
	}
	lost := taken
	lost.Code = wire.NodeExists
	s.request(1, taken)
	for i := range int64(2 * mostChildren) {
		holder, next := i%3+1, (i+1)%3+1
		s.request(next, lost)
		s.watch(next, wire.OpExists, "/lock")
		released := wire.Exchange{Op: wire.OpDelete, Path: "/lock", Zxid: s.zxid + 1}
		s.zxid++
		s.request(next, taken)
		s.Exchanged(holder, released)
	}
	looks := s.Report().Looks
	if len(looks) != 1 || looks[0].Variant != "lock/znode" || looks[0].Path != "/lock" || looks[0].Sessions != 3 {
		t.Errorf("looks like %+v, want lock/znode", looks)
	}
	if n := s.window.families.of("/lock").self.n[deletesOther]; n > 0 {
		t.Errorf("%d releases count as those of others", n)
	}
}

// Who has made a znode is known from before the window, and what comes after it does not count.
func TestZnodesFromBeforeTheWindow(t *testing.T) {
	s := newScene("3.9.3")
	s.open(1)
	s.request(1, wire.Exchange{Op: wire.OpCreate, Path: "/lock", Flags: zk.FlagEphemeral})
	s.Begin()
	s.do(1, wire.OpDelete, "/lock")
	s.request(1, wire.Exchange{Op: wire.OpCreate, Path: "/lock", Flags: zk.FlagEphemeral})
	s.End()
	s.Over(1, false) // after the window
	if e := s.window.families.of("/lock").self; e.n[deletesOwn] != 1 || e.n[creates] != 1 || e.n[leaves] != 0 {
		t.Errorf("%d deletes of its own, %d creates, and %d ends, want 1, 1 and 0", e.n[deletesOwn], e.n[creates], e.n[leaves])
	}
}

// A session is stuck when exists has set a watch on a sequential znode that is gone, and it has done nothing about it since.
func TestStuckWaiters(t *testing.T) {
	const gone = "/lock/x-0000000004"
	missing := func(s *scene, path string) {
		s.request(1, wire.Exchange{Op: wire.OpExists, Path: path, Asked: true, Armed: true, Code: wire.NoNode})
	}
	create := func(s *scene, path string) {
		s.request(2, wire.Exchange{Op: wire.OpCreate, Path: path, Sequential: true})
	}
	made := func(s *scene) { create(s, gone) }
	wait := func(s *scene) {
		made(s)
		missing(s, gone)
	}
	for _, tt := range []struct {
		name        string
		play        func(s *scene)
		stuck, left int
	}{
		{"waits", wait, 1, 0},
		{"does something else", func(s *scene) { wait(s); s.do(1, wire.OpGetData, "/config") }, 1, 0},
		{"lists again", func(s *scene) { wait(s); s.do(1, wire.OpGetChildren2, "/lock") }, 0, 1},
		{"gives up", func(s *scene) { wait(s); s.do(1, wire.OpDelete, "/lock/x-0000000005") }, 0, 1},
		{"removes the watch", func(s *scene) { wait(s); s.do(1, wire.OpRemoveWatches, gone) }, 0, 0},
		{"is notified after all", func(s *scene) { wait(s); s.fire(wire.NodeCreated, gone, 1) }, 0, 0},
		{"another session lists", func(s *scene) { wait(s); s.do(2, wire.OpGetChildren2, "/lock") }, 1, 0},
		{"is over", func(s *scene) { wait(s); s.Over(1, false) }, 0, 0},
		{"the znode is there", func(s *scene) { s.watch(1, wire.OpExists, gone) }, 0, 0},
		{"the znode may come", func(s *scene) { made(s); missing(s, "/lock/ready") }, 0, 0},
		{"a name that ends in digits", func(s *scene) { made(s); missing(s, "/jobs/1700000000123") }, 0, 0},
		{"the next number", func(s *scene) { made(s); missing(s, "/lock/x-0000000005") }, 0, 0},
		{"a number of another prefix", func(s *scene) { create(s, "/lock/y-0000000005"); missing(s, gone) }, 1, 0},
		{"a number below one that a multi was given", func(s *scene) {
			given := wire.Part{Op: wire.OpCreate, Path: "/lock/x-0000000005", Sequential: true, Number: 5}
			s.request(2, wire.Exchange{Op: wire.OpMulti, Path: given.Path, Parts: []wire.Part{given}})
			missing(s, gone)
		}, 1, 0},
		{"the next number, which is given", func(s *scene) {
			made(s)
			missing(s, "/lock/x-0000000005")
			create(s, "/lock/x-0000000006") // the notification of the other one is on its way
		}, 0, 0},
		{"the parent is deleted", func(s *scene) { wait(s); s.do(2, wire.OpDelete, "/lock") }, 0, 0},
		{"the parent is deleted in a multi", func(s *scene) {
			wait(s)
			s.request(2, wire.Exchange{Op: wire.OpMulti, Path: gone, Parts: []wire.Part{{Op: wire.OpDelete, Path: gone}, {Op: wire.OpDelete, Path: "/lock"}}})
		}, 0, 0},
		{"the parent is not deleted", func(s *scene) { wait(s); s.fail(2, wire.OpDelete, "/lock", wire.NotEmpty) }, 1, 0},
		{"the parent was made anew", func(s *scene) {
			create(s, "/lock/x-0000000009")
			create(s, "/lock/x-0000000002")
			missing(s, gone)
		}, 0, 0},
		{"the parent is made anew", func(s *scene) { wait(s); create(s, "/lock/x-0000000000") }, 0, 0},
		{"the server lags", func(s *scene) {
			made(s)
			s.Exchanged(1, wire.Exchange{Op: wire.OpExists, Path: gone, Asked: true, Armed: true, Code: wire.NoNode, Zxid: s.zxid - 1})
		}, 0, 0},
		{"the server lags behind the latest create", func(s *scene) {
			made(s)
			create(s, "/lock/x-0000000005")
			s.Exchanged(1, wire.Exchange{Op: wire.OpExists, Path: gone, Asked: true, Armed: true, Code: wire.NoNode, Zxid: s.zxid - 1})
		}, 1, 0},
		{"the client was told that it is gone", func(s *scene) {
			made(s)
			s.fire(wire.NodeDeleted, gone, 1)
			missing(s, gone)
		}, 0, 0},
		{"the client has found that it is gone", func(s *scene) { made(s); s.fail(1, wire.OpGetData, gone, wire.NoNode); missing(s, gone) }, 0, 0},
		{"a longer number that ends in a former one", func(s *scene) { made(s); missing(s, "/lock/1700000000003") }, 0, 0},
		{"after many that were left", func(s *scene) {
			create(s, "/lock/x-0000001000")
			for i := range 3 * mostWaits {
				missing(s, fmt.Sprintf("/lock/x-%010d", i+10))
				s.do(1, wire.OpGetChildren2, "/lock")
			}
			missing(s, gone)
		}, 1, 3 * mostWaits},
		{"without a watch", func(s *scene) { s.fail(1, wire.OpExists, gone, wire.NoNode) }, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene("3.9.3")
			s.open(2)
			tt.play(s)
			if r := s.Report(); len(r.Stuck) > 0 {
				t.Errorf("stuck at once: %+v", r.Stuck)
			}
			s.now += 2 * time.Second
			r := s.Report()
			if len(r.Stuck) != tt.stuck || r.LeftWatches != tt.left {
				t.Fatalf("stuck %+v, %d watches left, want %d and %d", r.Stuck, r.LeftWatches, tt.stuck, tt.left)
			}
			if tt.stuck > 0 && (r.Stuck[0].Path != gone || r.Stuck[0].Session != "0x1" || r.Stuck[0].Since < 2*time.Second) {
				t.Errorf("stuck %+v", r.Stuck)
			}
		})
	}
	s := newScene("3.9.3")
	wait(s)
	s.now += 2 * time.Second
	s.Over(1, false)
	if r := s.Report(); r.StuckEnded != 1 {
		t.Errorf("%d sessions ended while stuck, want 1", r.StuckEnded)
	}
}

// After 2^31 numbers, a directory goes on with negative ones.
func TestNumbersThatAreNegative(t *testing.T) {
	for _, tt := range []struct {
		made   string
		number int32
		waits  string
		stuck  int
	}{
		{"/q/n_-2147483648", -1 << 31, "/q/n_2147483647", 1},
		{"/q/n_-2147483648", -1 << 31, "/q/n_-2147483648", 1},
		{"/q/n_-2147483648", -1 << 31, "/q/n_-2147483647", 0},
		{"/q/n_-000000005", -5, "/q/n_-000000006", 1},
		{"/q/n_-000000005", -5, "/q/n_-000000004", 0},
		{"/q/n_2147483647", 1<<31 - 1, "/q/n_-2147483648", 0},
		{"/q/n-2147483640", 1<<31 - 8, "/q/n-2147483639", 1}, // a hyphen of the name
		{"/q/n-2147483640", 1<<31 - 8, "/q/n-2147483641", 0},
	} {
		s := newScene("3.9.3")
		s.request(2, wire.Exchange{Op: wire.OpCreate, Path: tt.made, Sequential: true, Number: tt.number})
		s.request(1, wire.Exchange{Op: wire.OpExists, Path: tt.waits, Asked: true, Armed: true, Code: wire.NoNode})
		s.now += 2 * time.Second
		if r := s.Report(); len(r.Stuck) != tt.stuck {
			t.Errorf("%s is waited for after %s: stuck %v, want %d", tt.waits, tt.made, r.Stuck, tt.stuck)
		}
	}
}

// Events after the end of a window are not in its report, such as when a test ends its clients.
func TestNothingAfterTheEnd(t *testing.T) {
	const gone = "/lock/x-0000000004"
	s := newScene("3.9.3")
	s.request(2, wire.Exchange{Op: wire.OpCreate, Path: gone, Sequential: true})
	s.request(1, wire.Exchange{Op: wire.OpExists, Path: gone, Asked: true, Armed: true, Code: wire.NoNode})
	s.now += 2 * time.Second
	s.End()
	s.Over(1, true)
	s.request(3, wire.Exchange{Op: wire.OpExists, Path: gone, Asked: true, Armed: true, Code: wire.NoNode})
	s.now += 5 * time.Second
	s.Happened(proxy.Incident{Kind: proxy.EndedClient})
	r := s.Report()
	if len(r.Stuck) != 1 || r.Stuck[0].Session != "0x1" || r.Stuck[0].Since > 3*time.Second || r.Expired+r.StuckEnded > 0 || len(r.Incidents) > 0 {
		t.Errorf("after the end: %+v", r)
	}
}

// A herd that still grows is not completed by a later one that is complete.
func TestHerdThatGrowsSlowly(t *testing.T) {
	s := newScene("3.9.3")
	s.open(40)
	s.do(1, wire.OpSetData, "/slow")
	slow := s.zxid
	notify := func(zxid int64, id int64) {
		s.Notified(id, wire.Notification{At: s.now, Zxid: zxid, Type: wire.NodeDataChanged, Path: "/slow"})
	}
	notify(slow, 2)
	s.do(1, wire.OpSetData, "/quick")
	notify(s.zxid, 3)
	for id := int64(4); id < 20; id++ { // each within the silence that completes a herd
		s.now += time.Second
		notify(slow, id)
	}
	d := must.Get(s.Document("run", "app", time.Now(), results.Environment{Engine: results.External, Servers: []string{"a:1"}}))(t)
	if r := s.Report(); d.Herd.Max() != 17 || r.HerdMax != 17 {
		t.Errorf("the largest herd has %d in the document and %d in the report, want 17", d.Herd.Max(), r.HerdMax)
	}
}

// Of herds of one kind and size, the first one is shown, in whatever order they are completed.
func TestFirstOfTheLargestHerds(t *testing.T) {
	for range 20 {
		s := newScene("3.9.3")
		for range 5 {
			s.do(1, wire.OpSetData, "/a")
			s.fire(wire.NodeDataChanged, "/a", 2, 3)
		}
		s.End()
		if kinds := s.Report().Herds; len(kinds) != 1 || kinds[0].Count != 5 || kinds[0].Largest.Zxid != "0x1" {
			t.Fatalf("kinds %+v, want the herd of transaction 1 of 5", kinds)
		}
	}
}

// A reply that comes when its herd is complete still shows an effect of it: the request was sent right after the notification.
func TestLateReplies(t *testing.T) {
	s := newScene("3.9.3")
	s.open(3)
	s.do(1, wire.OpSetData, "/a")
	s.fire(wire.NodeDataChanged, "/a", 2, 3)
	sent := s.now
	s.now += 3 * herdSilence
	s.do(1, wire.OpSetData, "/b")
	s.fire(wire.NodeDataChanged, "/b", 3)
	s.Exchanged(2, wire.Exchange{Op: wire.OpGetData, Path: "/a", Sent: sent, Reply: s.now, Zxid: s.zxid})
	if kinds := s.Report().Herds; len(kinds) == 0 || len(kinds[0].Largest.Effects) != 1 {
		t.Errorf("kinds %+v: want one getData after the herd of /a", kinds)
	}
}

// A reader that never writes is remembered for a bounded number of paths.
func TestReaderOfManyPaths(t *testing.T) {
	s := newScene("3.9.3")
	for i := range 3 * mostPaths {
		s.fire(wire.NodeDataChanged, "/"+strings.Repeat("a", i%97)+string(rune('b'+i%20))+strings.Repeat("c", i/97), 1)
	}
	if n := len(s.sessions[1].woken); n > mostPaths {
		t.Errorf("%d paths are remembered", n)
	}
}

// A herd whose transaction no request made has no cause; one of servers that do not name transactions is guessed.
func TestCausesThatAreNotKnown(t *testing.T) {
	s := newScene("3.9.3")
	s.open(4)
	s.zxid = 77
	s.fire(wire.NodeDeleted, "/gone", 1, 2, 3)
	s.Notified(1, wire.Notification{At: s.now, Zxid: -1, Type: wire.NodeDeleted, Path: "/again"}) // sent again after a reconnect
	s.now += 2*herdSilence + lookEvery
	r := s.Report()
	if len(r.Herds) != 1 || r.Herds[0].Largest.Cause != "" || r.Herds[0].Largest.Zxid != "0x4d" || r.HerdMax != 3 || r.Notifications != 4 {
		t.Errorf("herds %+v of %d notifications", r.Herds, r.Notifications)
	}

	s = newScene("3.8.0")
	s.open(4)
	s.zxid = -1
	for range 3 { // three herds of the same path, apart by more than the gap
		s.fire(wire.NodeDeleted, "/gone", 1, 2, 3)
		s.now += 2 * recorder.GuessGap
	}
	s.fire(wire.NodeDeleted, "/gone", 1, 1) // a watch fires once, so that these are two
	s.now += herdSilence + lookEvery
	r = s.Report()
	if !r.HerdGuessed || len(r.Herds) != 1 || r.Herds[0].Count != 5 || r.Herds[0].Notifications != 11 || r.HerdMax != 3 || r.Herds[0].Largest.Zxid != "" {
		t.Errorf("herds %+v, guessed %t", r.Herds, r.HerdGuessed)
	}
}

// The cause of a herd is the operation of a multi that changed the znode.
func TestCauseInAMulti(t *testing.T) {
	s := newScene("3.9.3")
	s.open(2)
	s.request(1, wire.Exchange{Op: wire.OpMulti, Path: "/fence", Parts: []wire.Part{{Op: wire.OpCheck, Path: "/fence"}, {Op: wire.OpDelete, Path: "/q/lock"}}})
	s.fire(wire.NodeDeleted, "/q/lock", 2)
	s.do(1, wire.OpCloseSession, "")
	s.fire(wire.NodeDeleted, "/e", 2)
	s.now += herdSilence + lookEvery
	var causes []string
	for _, k := range s.Report().Herds {
		causes = append(causes, k.Largest.Cause)
	}
	slices.Sort(causes)
	if want := []string{"closeSession", "delete /q/lock in a multi of 2"}; !slices.Equal(causes, want) {
		t.Errorf("causes %q, want %q", causes, want)
	}
}

// Marks begin and end the window, and are in no count themselves.
func TestMarks(t *testing.T) {
	s := newScene("3.9.3")
	s.open(3)
	s.childrenWatch(3)
	s.now += time.Minute
	s.fail(1, wire.OpExists, "/chroot"+BeginMark, wire.NoNode)
	begun := s.now
	s.do(1, wire.OpSetData, "/a")
	s.fire(wire.NodeDataChanged, "/a", 2)
	s.now += 10 * time.Second
	length := s.now - begun
	s.fail(1, wire.OpExists, EndMark, wire.NoNode)
	s.do(1, wire.OpSetData, "/b")
	s.fire(wire.NodeDataChanged, "/b", 2, 3)
	s.now += time.Minute
	r := s.Report()
	if r.Requests != 1 || r.Writes != 1 || r.Notifications != 1 || r.HerdMax != 1 || r.Open || r.MostSessions != 3 {
		t.Errorf("between the marks: %+v", r)
	}
	if r.Length != length+time.Millisecond {
		t.Errorf("the window has %s, want %s", r.Length, length)
	}
}

// The document of an observation is one that readers accept, with the numbers of the report.
func TestDocument(t *testing.T) {
	s := newScene("3.9.3")
	s.open(5)
	for range 20 {
		s.childrenWatch(5)
		s.fail(2, wire.OpCreate, "/x", wire.NodeExists)
		s.now += 3 * time.Second
	}
	e := results.Environment{Engine: results.External, ZooKeeper: "3.9.3", Servers: []string{"a:1"}}
	d := must.Get(s.Document("run", "app", time.Now(), e))(t)
	dir := t.TempDir()
	must.Do(t, store.Write(d, dir))
	docs := must.Get(store.ReadAll([]string{dir}))(t)
	r, m := s.Report(), docs[0].Metrics
	for name, want := range map[string]float64{
		metric.NotificationsPerOp: float64(r.Notifications) / float64(r.Writes-r.FailedWrites),
		metric.FailedWritesPerOp:  20.0 / 200, metric.HerdMax: float64(r.HerdMax), metric.RequestsPerOp: float64(r.Requests) / 200,
		metric.OpsPerSecond: 200 / r.Length.Seconds(), "write-p50-ns": 1e6,
	} {
		if got := m[name].Value; got < want*0.999 || got > want*1.001 {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if len(docs[0].Invalid) > 0 || len(docs[0].Stalls) > 0 || docs[0].Kind != results.Application {
		t.Errorf("invalid %q, stalls %v, kind %s", docs[0].Invalid, docs[0].Stalls, docs[0].Kind)
	}

	idle := newScene("3.9.3")
	idle.open(1)
	idle.do(1, wire.OpGetData, "/a")
	if _, err := idle.Document("run", "app", time.Now(), e); !errors.Is(err, ErrNothing) {
		t.Errorf("without a write: %v", err)
	}
}

// A window that begins when most sessions have gone has a document that readers accept: the clients in it are numbered anew.
func TestDocumentOfALaterWindow(t *testing.T) {
	s := newScene("3.9.3")
	s.open(50)
	for id := int64(1); id <= 47; id++ {
		s.Over(id, false)
	}
	s.Begin()
	s.Connected(60, false, 4*time.Second)
	for range 10 {
		s.do(48, wire.OpSetData, "/a")
		s.fire(wire.NodeDataChanged, "/a", 49, 50, 60)
		s.now += 10 * time.Millisecond
	}
	d := must.Get(s.Document("run", "app", time.Now(), results.Environment{Engine: results.External, Servers: []string{"a:1"}}))(t)
	dir := t.TempDir()
	must.Do(t, store.Write(d, dir))
	docs := must.Get(store.ReadAll([]string{dir}))(t)
	if docs[0].Clients != 4 || len(docs[0].Timeline.Notifications) != 30 {
		t.Errorf("%d clients, %d notifications in the timeline, want 4 and 30", docs[0].Clients, len(docs[0].Timeline.Notifications))
	}
}

// Incidents are counted, and the latest are listed.
func TestIncidents(t *testing.T) {
	s := newScene("")
	for i := range mostIncidents + 5 {
		s.Happened(proxy.Incident{Kind: proxy.EndedServer, Unanswered: i})
	}
	r := s.Report()
	if len(r.Incidents) != mostIncidents || r.Incidents[mostIncidents-1].Unanswered != mostIncidents+4 || r.IncidentCounts[proxy.EndedServer] != mostIncidents+5 {
		t.Errorf("%d incidents are listed, the last %+v, of %d", len(r.Incidents), r.Incidents[len(r.Incidents)-1], r.IncidentCounts[proxy.EndedServer])
	}
}

// The memory does not depend on the length of the observation, nor on the number of former paths and sessions. The sums stay
// right.
func TestBounded(t *testing.T) {
	s := newScene("3.9.3")
	var sizes []int
	const requests = 60_000
	for i := range requests {
		id := int64(i/10 + 1)
		s.Connected(id, false, time.Second)
		name := "/users/" + strings.NewReplacer("0", "n", "1", "o", "2", "t", "3", "h").Replace(strconv.FormatInt(int64(i), 4)) // without digits
		s.do(id, wire.OpSetData, name)
		s.fire(wire.NodeDataChanged, name, id)
		s.now += 4 * time.Millisecond
		if i%10 == 9 {
			s.Over(id, false)
		}
		if i == requests/2 || i == requests-1 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			sizes = append(sizes, int(m.HeapAlloc>>10))
		}
	}
	w := s.window
	for name, n := range map[string]int{
		"paths": len(w.paths.by) - mostPaths, "kinds": len(w.kinds.by) - mostKinds, "families": len(w.families.by) - mostFamilies,
		"sessions": len(s.sessions) - 1, "slots": s.slots - 2, "causes": len(s.causes.by) - 5000, "herds": len(s.herds.open) - 2000,
	} {
		if n > 0 {
			t.Errorf("%d %s more than are kept", n, name)
		}
	}
	if sizes[1] > sizes[0]+sizes[0]/4 {
		t.Errorf("the heap grew from %d to %d KiB", sizes[0], sizes[1])
	}
	r := s.Report()
	if r.OtherPaths.Path != "(others)" {
		t.Errorf("the sum of all other paths is called %q", r.OtherPaths.Path)
	}
	var sum int64
	for _, p := range append(r.Paths, *r.OtherPaths) {
		for _, o := range p.Operations {
			sum += o.Count
		}
	}
	if sum != requests || r.Requests != requests {
		t.Errorf("the paths have %d requests, want %d", sum, requests)
	}
}

func TestFold(t *testing.T) {
	for path, want := range map[string]string{
		"/": "/", "/app/lock": "/app/lock", "": "",
		"/app/lock/_c_4a1f0c9e-1b2d-4c3e-9f00-0123456789ab-lock-0000000007": "/app/lock/_c_*-lock-*",
		"/app/lock/_c_4a1f0c9e1b2d4c3e9f000123456789ab-lock-0000000007":     "/app/lock/_c_*-lock-*",
		"/app/lock/4a1f0c9e1b2d4c3e9f000123456789ab__lock__0000000007":      "/app/lock/*__lock__*",
		"/zkbench-20261125T184936Z-e166/m1/B2EBWHIMML72LEIJ644QBSG7SF":      "/zkbench-*-e166/m1/*",
		"/lock/x-72057594037927936-0000000001":                              "/lock/x-*-*",
		"/lock/x-10000131b350011-0000000001":                                "/lock/x-*-*",
		"/queue/element0000000000":                                          "/queue/element*",
		"/brokers/topics/orders/partitions/12/state":                        "/brokers/topics/orders/partitions/*/state",
		"/app/v2/node3":       "/app/v2/node3",
		"/sessions/0x10000af": "/sessions/*",
		"/facade/deadbeef":    "/facade/deadbeef", // no digit: it may be a word
		"/n_-2147483648":      "/n_-*",
		"/a//b":               "/a//b",
		"/ä/0000000001":       "/ä/*",
		"/availabilityzone1/mySecondApplication2": "/availabilityzone1/mySecondApplication2",
	} {
		if got := fold(path); got != want {
			t.Errorf("fold(%q) = %q, want %q", path, got, want)
		}
	}
}

// FuzzFold folds any path: folding again changes nothing, and names are neither lost nor added.
func FuzzFold(f *testing.F) {
	f.Add("/app/lock/_c_4a1f0c9e-1b2d-4c3e-9f00-0123456789ab-lock-0000000007")
	f.Add("0x")
	f.Fuzz(func(t *testing.T, path string) {
		once := fold(path)
		if strings.Count(once, "/") != strings.Count(path, "/") || len(once) > len(path) {
			t.Errorf("fold(%q) = %q", path, once)
		}
		if again := fold(once); again != once {
			t.Errorf("fold(%q) = %q, and folded again %q", path, once, again)
		}
	})
}

// A session whose client reads the servers' own addresses is counted once, and a mark does not forget it.
func TestLearnedServers(t *testing.T) {
	s := newScene("3.9.3")
	s.open(3)
	for range 2 {
		s.watch(1, wire.OpGetData, configPath)
	}
	s.do(2, wire.OpGetData, "/config")
	s.fail(3, wire.OpGetData, configPath, wire.NoNode)
	s.Begin()
	if r := s.Report(); r.Learned != 1 {
		t.Errorf("%d sessions have read the servers' addresses, want 1", r.Learned)
	}
}
