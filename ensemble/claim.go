package ensemble

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// ErrBusy is wrapped by the error of a Claim that somebody else holds.
var ErrBusy = errors.New("in use by another zkbench on this machine")

// Claim is the exclusive use of the ensemble of one name on this machine. Two runs on one ensemble would measure each
// other; and an ensemble started for one run whose claim is free has lost its owner.
//
// The kernel drops a claim with its process, so that a crash needs no clean-up and a reused process id fools nobody.
type Claim struct{ lock *flock.Flock }

// maxName is the longest name of an ensemble: with what is added to it, it is still one of a container and of a file.
const maxName = 50

// CheckName returns an error unless name can serve in file names, container names and labels alike.
func CheckName(name string) error {
	if len(name) > maxName {
		return fmt.Errorf("an ensemble's name has at most %d characters, and %.20q… has %d", maxName, name, len(name))
	}
	return checkCharacters(name)
}

func checkCharacters(name string) error {
	valid := name != "" && name[0] != '-'
	for _, r := range name {
		valid = valid && (r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z')
	}
	if !valid {
		return fmt.Errorf("an ensemble's name consists of lower-case letters, digits and hyphens, and %q does not", name)
	}
	return nil
}

// TryClaim returns ErrBusy at once if the ensemble is claimed.
func TryClaim(name string) (*Claim, error) {
	if err := checkCharacters(name); err != nil {
		return nil, err
	}
	for {
		lock, err := tryLock(name)
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && lock.Locked() && !isCurrent(lock): // it was just removed with a claim: again
			if err := lock.Unlock(); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, fmt.Errorf("claim ensemble %q: %w", name, err)
		case !lock.Locked():
			return nil, fmt.Errorf("ensemble %q is %w: wait for it, two runs on one machine would measure each other", name, ErrBusy)
		default:
			return &Claim{lock}, nil
		}
	}
}

// Claimed reports whether a process holds the claim of that name.
func Claimed(name string) bool {
	claim, err := TryClaim(name)
	if err == nil {
		err = claim.Release()
	}
	return errors.Is(err, ErrBusy)
}

// tryLock locks the file of an ensemble's claim, unless somebody else has. A file that is there is opened without O_CREATE,
// which the kernel refuses for somebody else's file in a sticky folder.
func tryLock(name string) (*flock.Flock, error) {
	path := filepath.Join(claimFolder, "zkbench-"+name+".lock")
	flags := os.O_CREATE | os.O_RDONLY
	if _, err := os.Stat(path); err == nil {
		flags = os.O_RDONLY
	}
	lock := flock.New(path, flock.SetPermissions(0o666), flock.SetFlag(flags))
	_, err := lock.TryLock()
	return lock, err
}

// isCurrent tells whether the file that was locked is the one that others will try to lock.
func isCurrent(lock *flock.Flock) bool {
	locked, errLocked := lock.Stat()
	there, errThere := os.Stat(lock.Path())
	return errLocked == nil && errThere == nil && os.SameFile(locked, there)
}

// claimFolder is the same for all users, whatever their TMPDIR: they may share one Docker engine.
const claimFolder = "/tmp"

// Release gives the ensemble back, and leaves no file. It is safe to call on nil and more than once.
//
// The file is removed while it is locked; who has opened it meanwhile, and locks it after, sees that it is no longer the
// one of that name. Another user's file in a sticky folder stays, and may.
func (c *Claim) Release() error {
	if c == nil || !c.lock.Locked() {
		return nil
	}
	_ = os.Remove(c.lock.Path())
	return c.lock.Unlock()
}
