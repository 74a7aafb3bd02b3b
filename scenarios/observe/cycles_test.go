package observe

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
)

const (
	reader = "/rw/0123456789abcdef0123456789abcdef__rlock__0000000001"
	writer = "/rw/fedcba9876543210fedcba9876543210__lock__0000000002"
)

func (s *scene) create(id int64, path string) {
	s.request(id, wire.Exchange{Op: wire.OpCreate, Path: path, Sequential: true})
}

// wait lets two sessions wait for each other's znodes.
func (s *scene) wait(first, second string) {
	s.create(1, first)
	s.create(2, second)
	s.watch(1, wire.OpGetData, second)
	s.watch(2, wire.OpExists, first)
}

// Sessions that wait for each other for ever are found, and those that do something else, or only watch each other's znodes, are not.
func TestCycles(t *testing.T) {
	for _, tt := range []struct {
		name string
		play func(s *scene)
		want string // the sessions
	}{
		{"kazoo's reader and the second writer", func(s *scene) { s.wait(reader, writer) }, "[0x1 0x2]"},
		{"three, and one behind them", func(s *scene) {
			s.create(2, reader)
			s.create(3, writer)
			s.create(4, "/rw/fedcba9876543210fedcba9876543210__lock__0000000003")
			s.create(1, "/rw/fedcba9876543210fedcba9876543210__lock__0000000004")
			s.watch(2, wire.OpGetData, "/rw/fedcba9876543210fedcba9876543210__lock__0000000003")
			s.watch(3, wire.OpGetData, reader)
			s.watch(4, wire.OpGetData, writer)
			s.watch(1, wire.OpGetData, "/rw/fedcba9876543210fedcba9876543210__lock__0000000003")
		}, "[0x4 0x3 0x2]"},
		{"two locks, each held by one and wanted by the other", func(s *scene) {
			s.create(1, "/a/n-0000000001")
			s.create(2, "/b/n-0000000001")
			s.create(1, "/b/n-0000000002")
			s.create(2, "/a/n-0000000002")
			s.watch(1, wire.OpExists, "/b/n-0000000001")
			s.watch(2, wire.OpExists, "/a/n-0000000001")
		}, "[0x1 0x2]"},
		{"members that watch each other's heartbeats", func(s *scene) {
			for id, znode := range map[int64]string{1: "/a/one", 2: "/a/two"} {
				s.request(id, wire.Exchange{Op: wire.OpCreate, Path: znode})
				s.create(id, fmt.Sprintf("/a/n-%010d", id))
			}
			s.watch(1, wire.OpGetData, "/a/two")
			s.watch(2, wire.OpGetData, "/a/one")
		}, ""},
		{"a line", func(s *scene) {
			s.create(1, "/a/n-0000000001")
			s.create(2, "/a/n-0000000002")
			s.create(3, "/a/n-0000000003")
			s.watch(2, wire.OpExists, "/a/n-0000000001")
			s.watch(3, wire.OpExists, "/a/n-0000000002")
		}, ""},
		{"members that watch each other", func(s *scene) { s.wait("/members/m-0000000001", "/members/m-0000000002") }, ""},
		{"a ring of members", func(s *scene) {
			for id := range int64(5) {
				s.create(id+1, fmt.Sprintf("/members/m-%010d", id))
			}
			for id := range int64(5) {
				s.watch(id+1, wire.OpGetData, fmt.Sprintf("/members/m-%010d", (id+1)%5))
			}
		}, ""},
		{"roles that watch the list, too", func(s *scene) {
			s.create(1, reader)
			s.create(2, writer)
			s.watch(1, wire.OpGetChildren2, "/rw")
			s.watch(1, wire.OpGetData, writer)
			s.watch(2, wire.OpGetData, reader)
		}, ""},
		{"one goes on", func(s *scene) { s.wait(reader, writer); s.do(1, wire.OpGetData, "/config") }, ""},
		{"one has given up its znode", func(s *scene) {
			s.wait(reader, writer)
			s.do(1, wire.OpDelete, reader)
			s.watch(1, wire.OpGetData, writer)
		}, ""},
		{"one is notified", func(s *scene) { s.wait(reader, writer); s.fire(wire.NodeDataChanged, writer, 1) }, ""},
		{"one is over", func(s *scene) { s.wait(reader, writer); s.Over(2, true) }, ""},
		{"znodes in other directories", func(s *scene) { s.wait("/a/n-0000000001", "/b/m-0000000002") }, ""},
		{"a session and its own znode", func(s *scene) { s.create(1, reader); s.watch(1, wire.OpGetData, reader) }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene("3.9.3")
			s.open(5)
			tt.play(s)
			s.now += cycleAfter - 100*time.Millisecond
			if r := s.Report(); len(r.Cycles) > 0 {
				t.Errorf("at once: %v", r.Cycles)
			}
			s.now += time.Second
			var got []string
			for _, c := range s.Report().Cycles {
				var sessions []string
				for _, w := range c {
					sessions = append(sessions, w.Session)
				}
				got = append(got, fmt.Sprint(sessions))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("cycles %v, want %q", got, tt.want)
			}
		})
	}
}

// A cycle is printed once while it is observed, and a session that ends in it is counted as stuck.
func TestCycleIsShown(t *testing.T) {
	s := newScene("3.9.3")
	s.open(2)
	s.wait(reader, writer)
	s.now += 4 * time.Second
	var out bytes.Buffer
	v := NewView(&out)
	v.Show(s.Report())
	s.now += time.Second
	v.Show(s.Report())
	const want = "stuck: 2 sessions, each of which watches a znode of the next one: session 0x1 has watched " + writer +
		" for 4s, session 0x2 has watched " + reader + " for 4s; if they wait for these znodes to go, as in a lock, they wait until one gives up\n"
	if got := out.String(); got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	s.do(2, wire.OpCloseSession, "")
	s.Over(2, false)
	s.Over(1, true)
	if r := s.Report(); r.StuckEnded != 1 || len(r.Cycles) != 0 || r.CyclesFound != 1 {
		t.Errorf("%d ended while stuck, want the first one; cycles %v, %d found, want 1", r.StuckEnded, r.Cycles, r.CyclesFound)
	}
	s.open(2)
	s.wait(reader, writer)
	s.now += 4 * time.Second
	s.Report()
	s.do(2, wire.OpDelete, writer) // it gives up
	if r := s.Report(); len(r.Cycles) != 0 || r.CyclesFound != 2 {
		t.Errorf("cycles %v, %d found, want 2", r.Cycles, r.CyclesFound)
	}
}

// The watches that are set now are counted by folded path, with the sessions that have set them.
func TestWatchesNow(t *testing.T) {
	s := newScene("3.9.3")
	s.open(2)
	for id := int64(1); id <= 2; id++ {
		for range 25 {
			s.watch(id, wire.OpGetData, "/leak/n-0000000001")
		}
	}
	r := s.Report()
	r.AddWatches(map[int64][]string{
		1: {"/leak/n-0000000001", "/leak/n-0000000002", "/before"}, 2: {"/leak/n-0000000001", "/before", "/too"}, 3: nil,
	})
	leak := r.Paths[slices.IndexFunc(r.Paths, func(p PathReport) bool { return p.Path == "/leak/n-*" })]
	if leak.WatchesNow != 3 || leak.Watchers != 2 || r.OtherPaths == nil || r.OtherPaths.WatchesNow != 3 || r.OtherPaths.Watchers != 2 {
		t.Errorf("%+v and others %+v, want 3 watches of 2 sessions each", leak, r.OtherPaths)
	}
	if again := s.Report(); again.Paths[0].WatchesNow != 0 || again.OtherPaths != nil {
		t.Errorf("the next report has %+v", again.Paths)
	}
}

// What a multi did beyond the decoded part is not named as a cause.
func TestCauseBeyondWhatIsDecoded(t *testing.T) {
	parts := []wire.Part{{Op: wire.OpCheck, Path: "/fence"}, {Op: wire.OpDelete, Path: "/q/a"}}
	c := cause{op: wire.OpMulti, path: "/fence", parts: parts, more: true}
	for path, want := range map[string]string{
		"/q/a": "delete /q/a in a multi of at least 2", "/elsewhere": "multi in a multi of at least 2",
	} {
		if got := c.describe(path); got != want {
			t.Errorf("the cause for %s is %q, want %q", path, got, want)
		}
	}
}
