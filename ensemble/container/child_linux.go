package container

import "syscall"

// childAttributes puts a child into a process group of its own, and ends it with zkbench: a compose command that went on
// after zkbench was killed would start what the next `ensemble down` has just removed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
