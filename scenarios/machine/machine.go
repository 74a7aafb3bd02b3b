// Package machine reads what this machine grants to zkbench, and whether it kept up.
//
// It takes one position: a number that was measured while the machine did not keep up is a number about the machine.
package machine

import (
	"runtime"
	"slices"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/host"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/process"

	"github.com/zkbench/zkbench/results"
)

// Describe returns the part of the environment that can be read without an ensemble. Unknown values are empty.
func Describe(zkbench string) results.Environment {
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

// Forwarder is a process that forwards a published port of a container.
type Forwarder struct {
	PID   int32
	Files uint64 // the limit of files that it may open
}

// Forwarders returns Docker's forwarding processes by port. It leaves out those whose limit cannot be read.
func Forwarders() map[string]Forwarder {
	out := map[string]Forwarder{}
	all, _ := process.Processes() // none after an error
	for _, p := range all {
		if name, err := p.Name(); err != nil || name != "docker-proxy" {
			continue
		}
		args, _ := p.CmdlineSlice()
		i := slices.Index(args, "-host-port")
		if i < 0 || i+1 >= len(args) {
			continue
		}
		limits, _ := p.Rlimit()
		for _, l := range limits {
			if l.Resource == process.RLIMIT_NOFILE {
				out[args[i+1]] = Forwarder{p.Pid, l.Soft}
			}
		}
	}
	return out
}
