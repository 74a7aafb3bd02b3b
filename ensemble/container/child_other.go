//go:build !linux

package container

import "syscall"

// childAttributes puts a child into a process group of its own. Only Linux can end it with zkbench.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
