package ensemble

import "strings"

// TxnLog is the place of the transaction logs of servers that zkbench starts.
type TxnLog string

const (
	// OnDisk is the usual place in production: each write waits for an fsync on a majority of the servers.
	OnDisk TxnLog = "disk"
	// InMemory is a memory file system, which takes the disk out of every write.
	InMemory TxnLog = "memory"
)

// TxnLogs lists the values, the default first.
func TxnLogs() []TxnLog { return []TxnLog{OnDisk, InMemory} }

// MemoryLogBytes bounds a server's transaction log in memory. The log takes memory as it grows, and a server whose log is full ends.
// A write of a lock takes about 150 bytes, so the log has room for 7 million of them.
const MemoryLogBytes = 1 << 30

func (t TxnLog) where() string {
	return map[TxnLog]string{OnDisk: "on disk", InMemory: "in memory"}[t]
}

// FileSystemOf returns "path (file system type on device)" for a path, given the text of /proc/mounts. Results include it,
// because writes to a transaction log on tmpfs or an overlay may be faster than any disk.
func FileSystemOf(mounts, path string) string {
	if path == "" {
		return ""
	}
	best, description := "", path
	for line := range strings.Lines(mounts) {
		f := strings.Fields(line)
		if len(f) >= 3 && (path == f[1] || strings.HasPrefix(path, strings.TrimSuffix(f[1], "/")+"/")) && len(f[1]) >= len(best) {
			best, description = f[1], path+" ("+f[2]+" on "+f[0]+")"
		}
	}
	return description
}
