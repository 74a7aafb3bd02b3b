package observe

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/wire"
)

// pathsOf returns the paths of a report, sorted, each with its number of requests; of many paths, how many there are.
func pathsOf(r Report) string {
	if n := len(r.Paths); n > 5 {
		return fmt.Sprintf("%d paths", n)
	}
	var out []string
	for _, p := range r.Paths {
		out = append(out, fmt.Sprintf("%s=%d", p.Path, p.requests()))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// Names that differ only in a number are one path if there are many, and stay apart if there are few.
func TestManyNumbersAreFolded(t *testing.T) {
	for _, tt := range []struct {
		name string
		path func(i int) string
		n    int
		want string
	}{
		{"few", func(i int) string { return fmt.Sprintf("/shards/shard%d", i) }, 3, "/shards/shard0=1 /shards/shard1=1 /shards/shard2=1"},
		{"the most that stay apart", func(i int) string { return fmt.Sprintf("/t/task-%d", i%19) }, 19 * 2, "19 paths"},
		{"the fewest that do not", func(i int) string { return fmt.Sprintf("/t/task-%d", i%20) }, 20 * 2, "/t/task-*=40"},
		{"more than there is room for", func(i int) string { return fmt.Sprintf("/t/task-%d", i) }, 5000, "/t/task-*=5000"},
		{"below them", func(i int) string { return fmt.Sprintf("/solr/core_node%d/state", i) }, 30, "/solr/core_node*/state=30"},
		{"the last of several", func(i int) string { return fmt.Sprintf("/hosts/10.0.7.%d:8080", i) }, 30, "/hosts/10.0.7.*:8080=30"},
		{"two in one name", func(i int) string { return fmt.Sprintf("/w/rack%d-host%d", i%30, i/30) }, 900, "/w/rack*-host*=900"},
		{"in two names", func(i int) string { return fmt.Sprintf("/c%d/shard%d", i%30, i/30) }, 60, "/c*/shard0=30 /c*/shard1=30"},
		{"with a sequence", func(i int) string { return fmt.Sprintf("/q%d/item-%010d", i, i) }, 25, "/q*/item-*=25"},
		{"other letters", func(i int) string { return fmt.Sprintf("/t/%c%d", 'a'+i%25, i/25) }, 50, "20 paths"},
	} {
		s := newScene("3.9.3")
		s.open(1)
		for i := range tt.n {
			s.do(1, wire.OpGetData, tt.path(i))
		}
		if got, again := pathsOf(s.Report()), pathsOf(s.Report()); got != tt.want || again != tt.want {
			t.Errorf("%s: got %s, then %s, want %s", tt.name, got, again, tt.want)
		}
	}
}

// What was kept apart is merged: the failures and watches of a path, its herds, and the families that looks are of.
func TestFoldedNumbersAreMerged(t *testing.T) {
	s := newScene("3.9.3")
	s.open(3)
	for i := range 40 {
		lock := fmt.Sprintf("/locks/table%d", i)
		holder := int64(i%3 + 1)
		s.make(holder, lock, zk.FlagEphemeral)
		for _, id := range others(3, holder) {
			s.fail(id, wire.OpCreate, lock, wire.NodeExists)
			s.watch(id, wire.OpExists, lock)
		}
		s.do(holder, wire.OpDelete, lock)
		s.fire(wire.NodeDeleted, lock, others(3, holder)...)
		if i == 10 {
			s.Report() // while they are few
		}
	}
	s.now += herdSilence + lookEvery
	r := s.Report()
	if len(r.Paths) != 1 || r.Paths[0].Path != "/locks/table*" || r.Paths[0].WatchesSet != 80 || r.Paths[0].Fired != 80 ||
		r.Paths[0].operation("create").Failed["NodeExists"] != 80 {
		t.Errorf("paths %+v", r.Paths)
	}
	if len(r.Herds) != 1 || r.OtherHerds != 0 {
		t.Fatalf("%d kinds of herds and %d other herds", len(r.Herds), r.OtherHerds)
	}
	if h := r.Herds[0]; h.Count != 40 || h.Notifications != 80 || h.P50 != 2 || h.Largest.Notifications != 2 || !strings.HasPrefix(h.Largest.Cause, "delete /locks/table") {
		t.Errorf("herds %+v", h)
	}
	if len(r.Looks) != 1 || r.Looks[0].Variant != "lock/znode" || r.Looks[0].Path != "/locks/table*" {
		t.Errorf("looks %+v", r.Looks)
	}
}

// However many names there are, an observer keeps a bounded number of paths, and a long path is not searched for numbers.
func TestNumberedNamesAreBounded(t *testing.T) {
	s := newScene("3.9.3")
	s.open(1)
	for i := range 3 * mostPaths {
		s.do(1, wire.OpCreate, fmt.Sprintf("/x/%s-%d", strings.Repeat(string(rune('a'+i%26)), 1+i/26%12), i))
		s.do(1, wire.OpCreate, "/"+strings.Repeat("1-", longestNumbered)+fmt.Sprint(i))
	}
	if w := s.window; len(w.paths.by) > mostPaths || len(w.families.by) > mostFamilies || len(w.kinds.by) > mostKinds {
		t.Errorf("%d paths, %d families, %d kinds of herds", len(w.paths.by), len(w.families.by), len(w.kinds.by))
	}
	var n int64
	r := s.Report()
	for _, p := range append(r.Paths, *r.OtherPaths) {
		n += p.requests()
	}
	if n != 6*mostPaths {
		t.Errorf("%d of %d requests are in the report", n, 6*mostPaths)
	}
}

// An operation is evidence about its znode, also if the family of its directory is the one that makes others merge.
func TestMergedFamiliesLoseNoEvidence(t *testing.T) {
	w := newWindow(0, true, newZnodes())
	for i := range manyNumbers - 1 {
		w.families.of(fmt.Sprintf("/t/task-%d", i))
	}
	for i := 0; len(w.families.by) < mostFamilies-1; i++ {
		w.families.of("/x/" + strings.Repeat("y", i+1))
	}
	w.families.add(1, fmt.Sprintf("/t/task-%d", manyNumbers), creates)
	var n int64
	for _, f := range w.families.by {
		n += f.self.n[creates]
	}
	if n != 1 || w.families.by["/t"].in.n[creates] != 1 {
		t.Errorf("%d creates are known of the znode, and %d in its directory, want 1", n, w.families.by["/t"].in.n[creates])
	}
}
