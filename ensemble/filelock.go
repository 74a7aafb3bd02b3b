package ensemble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// ErrBusy is wrapped by the errors of TryLock and Lock if another process holds the lock.
var ErrBusy = errors.New("in use by another zkbench on this machine")

// FileLock reserves the ensemble of one name on this machine for one process, because two runs on one ensemble would disturb each
// other. An ensemble that was started for one run and is not locked is left over from it.
//
// The kernel releases the lock when its process ends. A crash therefore needs no clean-up, and process ids do not matter.
type FileLock struct{ lock *flock.Flock }

// maxName is the longest name of an ensemble. Names of containers and files that are derived from it still fit.
const maxName = 50

// CheckName returns an error unless name is valid in file names, container names and labels.
func CheckName(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("an ensemble's name has at most %d characters, and %.20q… has %d", maxName, name, len(name))
	}
	return checkCharacters(name)
}

func checkCharacters(name string) error {
	if !regexp.MustCompile(`^[0-9a-z][0-9a-z-]*$`).MatchString(name) {
		return fmt.Errorf("an ensemble's name consists of lower-case letters, digits and hyphens, and %q does not", name)
	}
	return nil
}

// Lock locks the ensemble of that name. While another process has locked it, Lock waits up to opts.Wait, and says so once on
// opts.Progress. The end of ctx ends the wait.
func Lock(ctx context.Context, name string, opts Options) (*FileLock, error) {
	lock, err := TryLock(name)
	if errors.Is(err, ErrBusy) && opts.Wait > 0 {
		fmt.Fprintf(opts.WithDefaults().Progress, "%v: waiting for it, up to %s\n", err, opts.Wait)
	}
	for end := time.Now().Add(opts.Wait); errors.Is(err, ErrBusy) && time.Now().Before(end); lock, err = TryLock(name) {
		if err := Sleep(ctx, min(pollInterval, time.Until(end))); err != nil {
			return nil, fmt.Errorf("wait for ensemble %q: %w", name, err)
		}
	}
	switch {
	case errors.Is(err, ErrBusy) && opts.Wait > 0:
		err = fmt.Errorf("after %s, %w", opts.Wait, err)
	case errors.Is(err, ErrBusy):
		err = fmt.Errorf("%w: wait for it with --wait 10m, or use --name X to run anyway, which disturbs both runs", err)
	}
	return lock, err
}

// TryLock locks the ensemble of that name. It returns ErrBusy at once if another process has locked it.
func TryLock(name string) (*FileLock, error) {
	if err := checkCharacters(name); err != nil {
		return nil, err
	}
	for {
		lock, err := tryLock(name)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && lock.Locked() && !isCurrent(lock): // just removed by a Release: try again
			if err := lock.Unlock(); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, fmt.Errorf("lock ensemble %q: %w", name, err)
		case !lock.Locked():
			holder, _ := os.ReadFile(lock.Path())
			return nil, fmt.Errorf("ensemble %q is %w (%.120s)", name, ErrBusy, holder)
		default:
			holder := fmt.Appendf(nil, "process %d: %s", os.Getpid(), strings.Join(os.Args, " "))
			_ = os.WriteFile(lock.Path(), holder, 0) // for the message of another process
			return &FileLock{lock}, nil
		}
	}
}

// InUse reports whether a process has locked the ensemble of that name.
func InUse(name string) bool {
	lock, err := TryLock(name)
	return errors.Is(errors.Join(err, lock.Release()), ErrBusy)
}

// tryLock opens the lock file of an ensemble and locks it, unless another process has. An existing file is opened without
// O_CREATE: the kernel refuses that flag for another user's file in a sticky folder.
func tryLock(name string) (*flock.Flock, error) {
	path := filepath.Join(lockFolder(), "zkbench-"+name+".lock")
	flags := os.O_CREATE | os.O_RDONLY
	if _, err := os.Stat(path); err == nil {
		flags = os.O_RDONLY
	}
	lock := flock.New(path, flock.SetPermissions(0o666), flock.SetFlag(flags))
	_, err := lock.TryLock()
	return lock, err
}

// isCurrent reports whether the locked file still has the path that other processes open.
func isCurrent(lock *flock.Flock) bool {
	locked, errLocked := lock.Stat()
	current, errCurrent := os.Stat(lock.Path())
	return errLocked == nil && errCurrent == nil && os.SameFile(locked, current)
}

// lockFolder does not depend on TMPDIR, because users with different ones may share a Docker engine.
func lockFolder() string {
	if runtime.GOOS == "windows" {
		return os.TempDir()
	}
	return "/tmp"
}

// Release unlocks the ensemble and removes the file. It may be called on nil and more than once. The file is removed while it
// is locked: a process that has opened it before and locks it afterwards notices (see isCurrent). A file that another user has created
// in a sticky folder stays.
func (l *FileLock) Release() error {
	if l == nil || !l.lock.Locked() {
		return nil
	}
	_ = os.Remove(l.lock.Path())
	return l.lock.Unlock()
}
