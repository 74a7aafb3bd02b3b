package runner

import (
	"cmp"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/variants/catalog"
)

// What a run needs is compared with what there is, and the message says what to do.
func TestCheckMemory(t *testing.T) {
	const gb = 1e9
	for _, c := range []struct {
		name      string
		clients   []int
		mode      scenarios.Mode
		duration  time.Duration
		variants  []string
		engine    ensemble.Engine
		available uint64
		want      string
	}{
		{"a small run on a small machine", []int{1, 10}, scenarios.Closed, 3 * time.Second, nil, ensemble.Container, 0.25 * gb, ""},
		{"a thousand clients", []int{1000}, scenarios.Closed, 3 * time.Second, nil, ensemble.Embedded, 0.5 * gb, ""},
		{"the largest number counts", []int{4000, 1}, scenarios.Closed, 3 * time.Second, nil, ensemble.Embedded, 0.5 * gb, "4000 clients need about 0.7 GB"},
		{"four thousand clients", []int{4000}, scenarios.Closed, 3 * time.Second, nil, ensemble.External, 1 * gb, ""},
		{"an hour", []int{10}, scenarios.Closed, time.Hour, nil, ensemble.Container, 0.25 * gb, ""},
		{"an hour on the embedded server", []int{10}, scenarios.Closed, time.Hour, nil, ensemble.Embedded, 0.25 * gb, ""},
		{"a herd that is counted whole", []int{4000}, scenarios.Lockstep, 0, []string{"znode"}, ensemble.External, 2 * gb, ""},
		{"the same without the herd", []int{4000}, scenarios.Lockstep, 0, []string{"predecessor-watch"}, ensemble.External, 2 * gb, ""},
		{"nothing is known", []int{100000}, scenarios.Closed, time.Hour, nil, ensemble.Embedded, math.MaxUint64, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scenarios.Default()
			s.Name, s.Recipe, s.Clients, s.Mode, s.Variants = "s", "lock", c.clients, c.mode, c.variants
			s.Duration = c.duration
			err := checkMemory(s, c.engine, c.available)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "fewer clients")):
				t.Errorf("error = %v, want %q and what to do", err, c.want)
			}
		})
	}
}

// A background needs memory and connections of its own: the embedded server's znodes are in this process.
func TestBackgroundNeedsMemory(t *testing.T) {
	s := scenarios.Default()
	s.Recipe, s.Clients = "lock", []int{10}
	s.Background = &results.BackgroundLoad{Reads: 1, Bytes: 2000, Znodes: 100_000, Sessions: 10}
	if err := checkMemory(s, ensemble.Container, 0.3e9); err != nil {
		t.Error(err)
	}
	if err := checkMemory(s, ensemble.Embedded, 0.3e9); err == nil {
		t.Error("300 MB of znodes fit into 300 MB")
	}
	s.Background.Sessions = math.MaxInt32
	if err := checkFileLimit(s, ensemble.Container); err == nil {
		t.Error("more sessions than files are accepted")
	}
}

// The limits of the process's own group and of those around it count, in both versions of control groups.
func TestLeftInGroups(t *testing.T) {
	const unlimited = math.MaxUint64
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for _, c := range []struct {
		name, groups string
		files        fstest.MapFS
		want         uint64
	}{
		{"no groups", "", nil, unlimited},
		{"version 2 without a limit", "0::/a\n", fstest.MapFS{"a/memory.max": file("max\n"), "a/memory.current": file("5\n")}, unlimited},
		{"version 2", "0::/a/b\n", fstest.MapFS{"a/b/memory.max": file("100\n"), "a/b/memory.current": file("30\n")}, 70},
		{"cached files give way", "0::/a\n", fstest.MapFS{
			"a/memory.max": file("100\n"), "a/memory.current": file("30\n"), "a/memory.stat": file("anon 10\ninactive_file 20\n")}, 90},
		{"the group around it is the tighter one", "0::/a/b\n", fstest.MapFS{
			"a/b/memory.max": file("100\n"), "a/b/memory.current": file("30\n"),
			"a/memory.max": file("90\n"), "a/memory.current": file("80\n")}, 10},
		{"a container sees its own group as the root", "0::/docker/1234\n", fstest.MapFS{
			"memory.max": file("100\n"), "memory.current": file("30\n")}, 70},
		{"version 1", "5:devices:/\n4:cpu,memory:/a\n0::/\n", fstest.MapFS{
			"memory/a/memory.limit_in_bytes": file("100\n"), "memory/a/memory.usage_in_bytes": file("30\n"),
			"memory/a/memory.stat": file("inactive_file 1\ntotal_inactive_file 5\n")}, 75},
		{"used up", "0::/a\n", fstest.MapFS{"a/memory.max": file("100\n"), "a/memory.current": file("130\n")}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := leftInGroups(c.files, c.groups); got != c.want {
				t.Errorf("left = %d, want %d", got, c.want)
			}
		})
	}
}

// The estimate is near what was measured (VmHWM of the whole process).
func TestMemoryNeeded(t *testing.T) {
	for _, c := range []struct {
		scenario string
		clients  int
		size     int // 0 for the scenario's
		engine   ensemble.Engine
		measured float64
	}{
		{"lock-contention", 1000, 0, ensemble.Embedded, 217 << 20},
		{"lock-contention", 4000, 0, ensemble.Embedded, 605 << 20},
		{"lock-contention", 1000, 0, ensemble.External, 208 << 20},
		{"lock-contention", 4000, 0, ensemble.External, 573 << 20},
		{"watch-delivery", 1000, 0, ensemble.Embedded, 438 << 20},
		{"watch-memory", 100, 0, ensemble.Embedded, 339 << 20},
		{"watch-memory", 20, 10_000, ensemble.Embedded, 477 << 20},
		{"watch-memory", 100, 10_000, ensemble.Embedded, 2356 << 20},
	} {
		s, err := scenarios.Load(c.scenario, catalog.Recipes())
		if err != nil {
			t.Fatal(err)
		}
		s.Clients, s.Size = []int{c.clients}, cmp.Or(c.size, s.Size)
		if got := memoryNeeded(s, c.engine); got < 0.8*c.measured || got > 1.4*c.measured {
			t.Errorf("%s, %d clients on %s: %.0f MB, measured %.0f", c.scenario, c.clients, c.engine, got/(1<<20), c.measured/(1<<20))
		}
	}
}
