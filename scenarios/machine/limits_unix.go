//go:build unix

package machine

import (
	"math"
	"syscall"
	"time"
)

// FileLimit returns how many files this process may open; the largest number if that is unknown. The Go runtime has already raised the
// soft limit to the hard one.
func FileLimit() uint64 {
	limit := syscall.Rlimit{Cur: math.MaxInt64}
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	return uint64(limit.Cur) //nolint:unconvert // it is signed on FreeBSD
}

// cpuTime returns the CPU time of this process; 0 if it is unknown.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
