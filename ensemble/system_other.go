//go:build !linux

package ensemble

import "syscall"

// ChildAttributes gives a child its own process group. Only Linux can end it together with zkbench.
func ChildAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// giveBack does nothing: on other systems, madvise keeps the pages or does not guarantee zeros.
func giveBack([]byte) {}

// refuseHugePages does nothing on systems other than Linux.
func refuseHugePages([]byte) {}
