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
func ReadFile(path string) ([]byte, error) {
	if err := checkFile(os.Stat(path)); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := checkFile(file.Stat()); err != nil { // the file may have been replaced meanwhile
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	text, err := io.ReadAll(io.LimitReader(file, largestFile+1))
	if err == nil && len(text) > largestFile {
		err = errTooLarge(int64(len(text)))
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return text, nil
}

func errTooLarge(size int64) error {
	return fmt.Errorf("it has %d bytes or more, and files of zkbench have at most %d", size, largestFile)
}

func checkFile(info os.FileInfo, err error) error {
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("it is not a regular file (%s)", info.Mode().Type())
	case info.Size() > largestFile:
		return errTooLarge(info.Size())
	}
	return nil
}
