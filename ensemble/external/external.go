// Package external measures against servers that zkbench has not started.
//
// It takes one position: the servers belong to others. zkbench does not start or stop them, does not use counters that other
// sessions change, and writes below one znode per run. [Open] reports in advance what would make a run invalid.
package external

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
)

// Mistake is an error in the addresses or the load that the user gave, as opposed to an error of the servers.
type Mistake struct{ error }

func (m Mistake) Unwrap() error { return m.error }

// Ensemble is the servers of one connect string.
type Ensemble struct {
	servers []ensemble.Server
	chroot  string
}

// Open returns the ensemble of a connect string (see [Parse]) if a run can use it: the addresses are different servers of one
// ensemble, all accept sessions and writes, and znodes can be created and deleted below the chroot. To test that, Open opens a
// session with each server, creates one ephemeral znode and deletes it at once. The only options that it uses are Clients and Access.
func Open(ctx context.Context, connect string, opts ensemble.Options) (*Ensemble, error) {
	return open(ctx, connect, opts, (*trial).write)
}

// Inspect makes the checks of [Open] that create no znode. It returns a line for each of them, and one about the others.
func Inspect(ctx context.Context, connect string, opts ensemble.Options) (e *Ensemble, lines []string, err error) {
	e, err = open(ctx, connect, opts, func(t *trial, ctx context.Context) (err error) { lines, err = t.read(ctx); return err })
	return e, lines, err
}

// open returns the ensemble if use, which gets a session with each server, returns nil.
func open(ctx context.Context, connect string, opts ensemble.Options, use func(*trial, context.Context) error) (*Ensemble, error) {
	target, err := Parse(connect)
	if err != nil {
		return nil, Mistake{err}
	}
	peers, err := reachAll(ctx, target.Servers(opts.Access))
	if err == nil {
		err = errors.Join(checkRoles(peers), checkLimits(peers, opts.Clients))
	}
	if err == nil {
		err = try(ctx, peers, target.Chroot, use)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot use --servers %s: %w", connect, err)
	}
	servers := list.Map(peers, func(p peer) ensemble.Server { return p.Server })
	return &Ensemble{chroot: target.Chroot, servers: servers}, nil
}

// Attach returns the ensemble of a connect string without contacting the servers, which may be down.
func Attach(ctx context.Context, connect string, access ensemble.Access) (*Ensemble, error) {
	target, err := Parse(connect)
	if err != nil {
		return nil, Mistake{err}
	}
	e := &Ensemble{chroot: target.Chroot, servers: target.Servers(access)}
	for i, s := range e.servers {
		addrs, err := resolve(ctx, s.Name)
		if err != nil {
			return nil, err
		}
		e.servers[i].Addr = addrs[0]
	}
	return e, nil
}

// Servers implements [ensemble.Ensemble].
func (e *Ensemble) Servers() []ensemble.Server { return e.servers }

// Chroot returns the absolute path of the znode that zkbench may use instead of the root, see [ensemble.ChrootOf]; empty for the root.
func (e *Ensemble) Chroot() string { return e.chroot }

// Owned implements [ensemble.Ensemble]: other programs may have sessions on these servers.
func (e *Ensemble) Owned() bool { return false }

// Describe implements [ensemble.Ensemble]. The place of the transaction log is unknown.
func (e *Ensemble) Describe(ctx context.Context) (ensemble.Description, error) {
	return ensemble.DescribeServers(ctx, ensemble.External, e.servers)
}

// Logs implements [ensemble.Ensemble].
func (e *Ensemble) Logs(context.Context, io.Writer, int) error {
	return errors.New("the logs of external servers are on their own machines: zkbench cannot read them")
}

// Close implements [ensemble.Ensemble]. It has no effect.
func (e *Ensemble) Close(context.Context) error { return nil }
