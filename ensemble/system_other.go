//go:build !linux

package ensemble

// giveBack does nothing: on other systems, madvise keeps the pages or does not guarantee zeros.
func giveBack([]byte) {}

// refuseHugePages does nothing on systems other than Linux.
func refuseHugePages([]byte) {}
