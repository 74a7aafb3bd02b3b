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

// TryClaim returns ErrBusy at once if the ensemble is claimed.
func TryClaim(name string) (*Claim, error) {
	lock := claimFile(name)
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("claim ensemble %q: %w", name, err)
	}
	if !ok {
		return nil, fmt.Errorf("ensemble %q is %w: wait for it, or choose another --name", name, ErrBusy)
	}
	return &Claim{lock}, nil
}

// claimFile stays in place when it is released: removing it would let two claimants lock two files of one name.
func claimFile(name string) *flock.Flock {
	return flock.New(filepath.Join(os.TempDir(), "zkbench-"+name+".lock"), flock.SetPermissions(0o666))
}

// Release gives the ensemble back. It is safe to call on nil and more than once.
func (c *Claim) Release() error {
	if c == nil {
		return nil
	}
	return c.lock.Unlock()
}
