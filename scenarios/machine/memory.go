package machine

import (
	"io/fs"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/process"
)

// AvailableMemory returns how many bytes the process can still take before the machine swaps or the control group's limit ends
// the process. It returns the largest number if neither can be read.
func AvailableMemory() uint64 {
	available := uint64(math.MaxUint64)
	if m, err := mem.VirtualMemory(); err == nil {
		available = m.Available
	}
	groups, _ := os.ReadFile("/proc/self/cgroup") // empty on other systems than Linux
	return min(available, leftInGroups(os.DirFS(groupRoot), string(groups)))
}

const groupRoot = "/sys/fs/cgroup"

// groupFiles names the files of one version of control groups, and the mount point of its memory hierarchy.
type groupFiles struct{ mount, limit, usage, reclaimable string }

// leftInGroups returns how many bytes the limits of the process's control group and of its parents leave, and the largest
// number without a limit. groups is the text of /proc/self/cgroup.
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

// leftInGroup returns how many bytes one group's limit leaves. Cached files do not count: the kernel drops them when memory is needed.
func leftInGroup(root fs.FS, dir string, files groupFiles) uint64 {
	limit, limited := readNumber(root, path.Join(dir, files.limit))
	usage, known := readNumber(root, path.Join(dir, files.usage))
	if !limited || !known {
		return math.MaxUint64
	}
	usage -= min(statistic(root, path.Join(dir, "memory.stat"), files.reclaimable), usage)
	return limit - min(usage, limit)
}

// statistic returns a value from a file of lines with a name and a number each; 0 if the file or the name is missing.
func statistic(root fs.FS, file, name string) uint64 {
	text, _ := fs.ReadFile(root, file)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, _ := strconv.ParseUint(f[1], 10, 64)
			return n
		}
	}
	return 0
}

// readNumber reads a number from a file. It returns false if the file does not exist or contains "max".
func readNumber(root fs.FS, name string) (uint64, bool) {
	text, _ := fs.ReadFile(root, name) // empty after an error
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

// ResidentMemory returns how many bytes of this process are in memory; 0 if the system does not say. It takes some 10 µs.
func ResidentMemory() int64 {
	self := process.Process{Pid: int32(os.Getpid())} //nolint:gosec // process ids have less than 32 bits
	info, err := self.MemoryInfo()
	if err != nil || info.RSS > math.MaxInt64 {
		return 0
	}
	return int64(info.RSS)
}
