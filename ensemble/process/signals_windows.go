package process

import (
	"errors"
	"syscall"
)

// Signals that Windows does not have. The package compiles there, and [Available] refuses the engine.
const pause, resume = syscall.Signal(-1), syscall.Signal(-2)

func ownSession() *syscall.SysProcAttr { return nil }

func send(int, syscall.Signal) error { return errors.ErrUnsupported }
