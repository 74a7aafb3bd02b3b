package ensemble

import "golang.org/x/sys/unix"

// giveBack returns the pages of b to the operating system; b reads as zeros afterwards. It has no effect if b does not
// start at a page, as the rest of a large slice does not on machines whose pages are larger than Go's.
func giveBack(b []byte) {
	_ = unix.Madvise(b, unix.MADV_DONTNEED) // if it is refused, the memory stays resident and nothing else is wrong
}

// refuseHugePages keeps the kernel from backing b with pages of 2 MB where that is its default, as on Debian: the first
// byte of a buffer would then make the neighbouring ones resident. It is asked for whole buffers, since those that adjoin
// make one mapping, of which a process may have 65,530.
func refuseHugePages(b []byte) {
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE) // a kernel without huge pages refuses it
}
