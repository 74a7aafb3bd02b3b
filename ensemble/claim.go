package ensemble

import (
	"errors"
	"fmt"
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

// CheckName returns an error unless name can serve in file names, container names and labels alike.
func CheckName(name string) error {
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
	if err := CheckName(name); err != nil {
		return nil, err
	}
	lock := claimFile(name)
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("claim ensemble %q: %w", name, err)
	}
	if !ok {
		return nil, fmt.Errorf("ensemble %q is %w: wait for it, two runs on one machine would measure each other", name, ErrBusy)
	}
	return &Claim{lock}, nil
}

// claimFolder is the same for all users, whatever their TMPDIR: they may share one Docker engine.
const claimFolder = "/tmp"

// claimFile stays in place when it is released: removing it would let two claimants lock two files of one name. One
// that is there is opened without O_CREATE, which the kernel refuses for somebody else's file in a sticky folder.
func claimFile(name string) *flock.Flock {
	path := filepath.Join(claimFolder, "zkbench-"+name+".lock")
	flags := os.O_CREATE | os.O_RDONLY
	if _, err := os.Stat(path); err == nil {
		flags = os.O_RDONLY
	}
	return flock.New(path, flock.SetPermissions(0o666), flock.SetFlag(flags))
}

// Release gives the ensemble back. It is safe to call on nil and more than once.
func (c *Claim) Release() error {
	if c == nil {
		return nil
	}
	return c.lock.Unlock()
}
