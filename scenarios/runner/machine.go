package runner

import (
	"runtime"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/zkbench/zkbench/results"
)

// DescribeMachine returns the part of the environment that needs no ensemble. Unknown values are empty.
func DescribeMachine(zkbench string) results.Environment {
	e := results.Environment{Zkbench: zkbench, Go: runtime.Version(), OS: runtime.GOOS, CPUs: runtime.NumCPU()}
	if info, err := host.Info(); err == nil {
		e.OS = info.Platform + " " + info.PlatformVersion
		e.Kernel = info.KernelVersion
	}
	if info, err := cpu.Info(); err == nil && len(info) > 0 {
		e.CPU = info[0].ModelName
	}
	if info, err := mem.VirtualMemory(); err == nil {
		e.Memory = int64(info.Total)
	}
	return e
}
