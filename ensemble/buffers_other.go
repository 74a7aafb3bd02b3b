//go:build !linux

package ensemble

// giveBack does nothing: other systems' advice either keeps the pages or does not promise zeros.
func giveBack([]byte) {}

// refuseHugePages does nothing, as giveBack does.
func refuseHugePages([]byte) {}
