package results

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// largestFile is more than any file of zkbench's has: a document with a second of the busiest timeline takes a few megabytes.
const largestFile = 64 << 20

// ReadFile returns the content of a regular file. It never waits, as the opening of a named pipe would for a writer, and
// refuses a file that is larger than any that zkbench writes.
func ReadFile(path string) ([]byte, error) {
	if err := checkFile(os.Stat(path)); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := checkFile(file.Stat()); err != nil { // the name may lead elsewhere by now
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
	return fmt.Errorf("it has %d bytes or more, and no file of zkbench's has over %d", size, largestFile)
}

func checkFile(info os.FileInfo, err error) error {
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("it is no regular file (%s)", info.Mode().Type())
	case info.Size() > largestFile:
		return errTooLarge(info.Size())
	}
	return nil
}
