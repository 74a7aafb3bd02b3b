package store

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// largestFile exceeds the size of every file that zkbench writes. A document with a dense timeline has a few megabytes.
const largestFile = 64 << 20

// ReadFile returns the content of a regular file. It refuses named pipes and devices, on which it could wait without end,
// and files that are larger than any that zkbench writes.
func ReadFile(path string) (text []byte, err error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	switch info, statErr := file.Stat(); {
	case statErr != nil:
		err = statErr
	case !info.Mode().IsRegular():
		err = fmt.Errorf("it is not a regular file (%s)", info.Mode().Type())
	case info.Size() > largestFile:
		err = fmt.Errorf("it has %d bytes, and files of zkbench have at most %d", info.Size(), largestFile)
	default:
		text, err = io.ReadAll(io.LimitReader(file, largestFile)) // it may grow meanwhile
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return text, nil
}
