package machine

import (
	"math"
	"testing"
	"testing/fstest"
)

// The limits of the process's own group and of its parents count, in both versions of control groups.
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
