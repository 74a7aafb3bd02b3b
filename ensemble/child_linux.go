package ensemble

import "syscall"

// ChildAttributes gives a child its own process group and ends it together with zkbench. A compose command that outlived
// zkbench could start containers that the next `ensemble down` has just removed.
func ChildAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
