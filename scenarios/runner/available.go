package runner

import (
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/mem"
)

// availableMemory returns how many bytes the process may still take before the machine swaps or its control group ends it;
// the most there is where neither can be read.
func availableMemory() uint64 {
	available := uint64(math.MaxUint64)
	if m, err := mem.VirtualMemory(); err == nil {
		available = m.Available
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil { // not Linux
		return available
	}
	return min(available, leftInGroups(os.DirFS("/sys/fs/cgroup"), string(groups)))
}

// groupFiles are what a version of control groups calls its files, and where its hierarchy of memory is mounted.
type groupFiles struct{ mount, limit, usage, reclaimable string }

// leftInGroups returns what the limits of the process's control group and of those around it leave, and the most there is
// without a limit. groups is /proc/self/cgroup.
func leftInGroups(root fs.FS, groups string) uint64 {
	left := uint64(math.MaxUint64)
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) < 3 {
			continue
		}
		var files groupFiles
		switch controllers := strings.Split(fields[1], ","); {
		case fields[1] == "": // version 2
			files = groupFiles{".", "memory.max", "memory.current", "inactive_file"}
		case slices.Contains(controllers, "memory"):
			files = groupFiles{"memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
		default:
			continue
		}
		for dir := fields[2]; ; dir = path.Dir(dir) { // a container sees its own group as the root
			left = min(left, leftInGroup(root, path.Join(files.mount, strings.TrimPrefix(dir, "/")), files))
			if dir == "/" || dir == "." {
				break
			}
		}
	}
	return left
}

// leftInGroup returns what one group's limit leaves. Cached files count as used, but give way.
func leftInGroup(root fs.FS, dir string, files groupFiles) uint64 {
	limit, limited := readNumber(root, path.Join(dir, files.limit))
	usage, known := readNumber(root, path.Join(dir, files.usage))
	if !limited || !known {
		return math.MaxUint64
	}
	stat, _ := fs.ReadFile(root, path.Join(dir, "memory.stat"))
	for line := range strings.Lines(string(stat)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == files.reclaimable {
			cached, _ := strconv.ParseUint(f[1], 10, 64)
			usage -= min(cached, usage)
		}
	}
	return limit - min(usage, limit)
}

// readNumber returns false for a file that is not there or says "max".
func readNumber(root fs.FS, name string) (uint64, bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}
