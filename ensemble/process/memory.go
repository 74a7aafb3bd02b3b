package process

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/shirou/gopsutil/v4/disk"

	"github.com/zkbench/zkbench/ensemble"
)

// memoryFolder is where Linux systems mount a memory file system that every user may write to.
const memoryFolder = "/dev/shm"

const memoryNeeded = ensemble.Size * ensemble.MemoryLogBytes

// memoryDir returns the folder for the transaction logs of the ensemble with the state folder dir. It differs by user and by
// cache folder, and follows from dir alone, so that it is found after a crash.
func memoryDir(dir string) string {
	hash := sha256.Sum256([]byte(dir))
	return filepath.Join(memoryFolder, fmt.Sprintf("zkbench-%d-%s-%x", os.Getuid(), filepath.Base(dir), hash[:4]))
}

func makeMemoryDir(dir string) (string, error) {
	logs := memoryDir(dir)
	err := checkMemory(memoryFolder, memoryNeeded)
	if err == nil {
		err = os.Mkdir(logs, 0o700) // not MkdirAll: an existing folder belongs to another ensemble
	}
	if err != nil {
		return "", fmt.Errorf("transaction logs cannot be kept in memory, so take --txn-log disk: %w", err)
	}
	return logs, nil
}

func checkMemory(folder string, needed uint64) error {
	fs, err := disk.Usage(folder)
	if err != nil {
		return fmt.Errorf("%s: %w", folder, err)
	}
	switch {
	case fs.Fstype != "tmpfs" && fs.Fstype != "ramfs": // a ramfs has no size
		return fmt.Errorf("%s is no memory file system", folder)
	case fs.Fstype == "tmpfs" && fs.Free < needed:
		return fmt.Errorf("%s has %d MB free, and the transaction logs may take %d MB: enlarge it (mount -o remount,size=%dg %s)",
			folder, fs.Free>>20, needed>>20, 1+needed>>30, folder)
	default:
		return nil
	}
}
