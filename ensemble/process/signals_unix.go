//go:build unix

package process

import (
	"errors"
	"syscall"
)

const pause, resume = syscall.SIGSTOP, syscall.SIGCONT

// ownSession lets a child outlive both Ctrl-C and zkbench.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// send signals a process; one that has ended is not an error.
func send(pid int, signal syscall.Signal) error {
	if err := syscall.Kill(pid, signal); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
