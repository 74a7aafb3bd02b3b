package ensemble

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// giveBack returns the pages of b to the operating system; b reads as zeros afterwards. It has no effect if b does not start
// at a page, such as on machines whose pages are larger than Go's.
func giveBack(b []byte) {
	_ = unix.Madvise(b, unix.MADV_DONTNEED) // after an error the memory stays resident, without other effects
}

// refuseHugePages keeps the kernel from backing b, a whole buffer, with pages of 2 MB, as Debian does by default: the first
// byte would make neighbouring buffers resident. Adjacent buffers share one of the 65,530 mappings of a process.
func refuseHugePages(b []byte) {
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE) // a kernel without huge pages refuses it
}

// ChildAttributes gives a child its own process group and ends it together with zkbench. A compose command that outlived
// zkbench could start containers that the next `ensemble down` has just removed.
func ChildAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
