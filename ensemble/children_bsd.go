//go:build unix && !linux

package ensemble

import "syscall"

// ChildAttributes gives a child its own process group. Only Linux can end it together with zkbench.
func ChildAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
