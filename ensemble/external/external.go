// Package external measures against servers that zkbench has not started.
//
// It takes one position: a guest leaves the house as it was. It starts nothing, stops nothing and reads no counters
// that other sessions share; everything that a run writes stands under one znode of its own. Before anything is
// measured, [Open] tries every address and reports what would make the run invalid.
package external

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/zkbench/zkbench/ensemble"
)

// Mistake is an error that other addresses or another load mend, while the servers are as they should be.
type Mistake struct{ error }

// Unwrap returns the error itself.
func (m Mistake) Unwrap() error { return m.error }

// Ensemble is the servers of one connect string.
type Ensemble struct {
	servers []ensemble.Server
	chroot  string
}

var (
	_ ensemble.Ensemble = (*Ensemble)(nil)
	_ ensemble.Chrooted = (*Ensemble)(nil)
)

// Open returns the ensemble of a connect string (see [Parse]) if a run can be made on it: every address is another
// server of one ensemble, all take sessions and writes, and znodes can be created and deleted below the chroot. To
// learn that, it opens a session with each server and creates one ephemeral znode, which it deletes at once. Of the
// options it heeds the number of clients.
func Open(ctx context.Context, connect string, opts ensemble.Options) (*Ensemble, error) {
	target, err := Parse(connect)
	if err != nil {
		return nil, Mistake{err}
	}
	peers, err := reachAll(ctx, target.Addresses)
	if err == nil {
		err = errors.Join(checkRoles(peers), checkLimits(peers, opts.Clients))
	}
	if err == nil {
		err = try(ctx, peers, target.Chroot)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use --servers %s: %w", connect, err)
	}
	e := &Ensemble{chroot: target.Chroot}
	for _, p := range peers {
		e.servers = append(e.servers, p.Server)
	}
	return e, nil
}

// Attach returns the ensemble of a connect string to look at. It asks nothing of the servers, which may be unwell.
func Attach(ctx context.Context, connect string) (*Ensemble, error) {
	target, err := Parse(connect)
	if err != nil {
		return nil, Mistake{err}
	}
	e := &Ensemble{chroot: target.Chroot}
	for i, name := range target.Addresses {
		addrs, err := resolve(ctx, name)
		if err != nil {
			return nil, err
		}
		e.servers = append(e.servers, ensemble.Server{ID: i + 1, Name: name, Addr: addrs[0]})
	}
	return e, nil
}

// Servers implements [ensemble.Ensemble].
func (e *Ensemble) Servers() []ensemble.Server { return e.servers }

// Chroot implements [ensemble.Chrooted].
func (e *Ensemble) Chroot() string { return e.chroot }

// Owned implements [ensemble.Ensemble]: sessions of other programs may be on these servers.
func (e *Ensemble) Owned() bool { return false }

// Describe implements [ensemble.Ensemble]. Where the transaction log lives is not for a guest to know.
func (e *Ensemble) Describe(ctx context.Context) (ensemble.Description, error) {
	return ensemble.DescribeServers(ctx, ensemble.External, e.servers)
}

// Logs implements [ensemble.Ensemble].
func (e *Ensemble) Logs(context.Context, io.Writer, int) error {
	return errors.New("the logs of external servers are on their own machines: zkbench cannot read them")
}

// Close implements [ensemble.Ensemble]; there is nothing to end.
func (e *Ensemble) Close(context.Context) error { return nil }
