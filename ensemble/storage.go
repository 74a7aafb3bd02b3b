package ensemble

import "strings"

// FileSystemOf returns "path (file system type on device)" for a path, given the text of /proc/mounts. A transaction
// log on tmpfs or an overlay makes writes look faster than any disk, so a result has to say.
func FileSystemOf(mounts, path string) string {
	if path == "" {
		return ""
	}
	best, description := "", path
	for line := range strings.Lines(mounts) {
		f := strings.Fields(line)
		if len(f) < 3 || !within(path, f[1]) || len(f[1]) < len(best) {
			continue
		}
		best, description = f[1], path+" ("+f[2]+" on "+f[0]+")"
	}
	return description
}

func within(path, mountPoint string) bool {
	return path == mountPoint || strings.HasPrefix(path, strings.TrimSuffix(mountPoint, "/")+"/")
}
