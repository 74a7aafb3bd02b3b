package runner

import (
	"math"
	"os"

	"github.com/shirou/gopsutil/v4/process"
)

// memoryMeter reads the memory of this process.
type memoryMeter struct {
	process *process.Process // nil if it cannot be read
}

func newMemoryMeter() memoryMeter {
	p, err := process.NewProcess(int32(os.Getpid())) //nolint:gosec // process ids have less than 32 bits
	if err != nil {
		return memoryMeter{}
	}
	return memoryMeter{p}
}

// resident returns how many bytes of the process are in memory; 0 if the system does not say. It takes some 10 µs.
func (m memoryMeter) resident() int64 {
	if m.process == nil {
		return 0
	}
	info, err := m.process.MemoryInfo()
	if err != nil || info.RSS > math.MaxInt64 {
		return 0
	}
	return int64(info.RSS)
}
