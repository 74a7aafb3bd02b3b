//go:build unix

package ensemble

import (
	"os"
	"syscall"
)

// SignalGroup sends a signal to a child that was started with [ChildAttributes], and to the child's own children.
func SignalGroup(child *os.Process, signal syscall.Signal) error {
	return syscall.Kill(-child.Pid, signal)
}
