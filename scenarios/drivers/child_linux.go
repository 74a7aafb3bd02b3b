package drivers

import "syscall"

// childAttributes gives a driver its own process group, so that Ctrl-C does not end it before its clients have closed their sessions, and
// ends it together with zkbench.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
