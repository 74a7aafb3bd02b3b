//go:build !linux

package drivers

import "syscall"

// childAttributes returns no attributes: when zkbench ends, a driver ends by itself, because its pipe is closed.
func childAttributes() *syscall.SysProcAttr { return nil }
