package ensemble

import (
	"os"
	"syscall"
)

// ChildAttributes gives a child its own process group, so that Ctrl-C does not end it.
func ChildAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// SignalGroup ends the child: Windows has neither signals nor a way to reach the child's own children.
func SignalGroup(child *os.Process, _ syscall.Signal) error { return child.Kill() }
