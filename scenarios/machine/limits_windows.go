package machine

import (
	"math"
	"time"

	"golang.org/x/sys/windows"
)

// FileLimit returns the largest number: Windows does not limit open files.
func FileLimit() uint64 { return math.MaxInt64 }

// cpuTime returns the CPU time of this process; 0 if it is unknown.
func cpuTime() time.Duration {
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &exited, &kernel, &user) != nil {
		return 0
	}
	ticks := int64(kernel.HighDateTime)<<32 + int64(kernel.LowDateTime) + int64(user.HighDateTime)<<32 + int64(user.LowDateTime)
	return time.Duration(ticks) * 100 // 100 ns each
}
