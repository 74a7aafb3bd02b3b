//go:build !linux

package container

import "syscall"

// childAttributes gives a child its own process group. Only Linux can end it together with zkbench.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
