package process

import (
	"strings"
	"testing"
)

func TestCheckMemory(t *testing.T) {
	for _, tt := range []struct {
		name, folder string
		needed       uint64
		want         string // in the error; empty for none
	}{
		{"a memory file system", memoryFolder, 1, ""},
		{"no room", memoryFolder, 1 << 60, "MB free"},
		{"no memory file system", "/proc", 1, "is no memory file system"},
		{"nothing", "/nowhere", 1, "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := checkMemory(tt.folder, tt.needed)
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want %q", err, tt.want)
			}
		})
	}
}

// Each user and each cache folder has its own memory folder, and no name leads out of it.
func TestMemoryDirsAreApart(t *testing.T) {
	a, b := memoryDir("/home/a/.cache/zkbench/process/x"), memoryDir("/home/b/.cache/zkbench/process/x")
	if a == b || !strings.HasPrefix(a, memoryFolder+"/zkbench-") || strings.Count(a, "/") != strings.Count(memoryFolder, "/")+1 {
		t.Errorf("%s and %s", a, b)
	}
}
