// Package embedded is one in-memory ZooKeeper server in this process, on a loopback port or, for tests in virtual time, without one.
//
// It takes one position: it is an instrument, not a database. Clients observe the same replies, stats, sequence numbers,
// watches, order and sessions as from ZooKeeper 3.9, which one table of cases and one randomized comparison verify on both.
// Where the two differ, the embedded server is wrong. It has no disk, no quorum and no access control. Counts measured on
// it are exact. Latencies are not comparable with those of other engines.
//
// It speaks the wire protocol, so that any ZooKeeper client works against it: connect, ping, close, create in all modes
// but TTL, delete, exists, getData, setData, getChildren, sync, multi, setWatches, checkWatches, removeWatches, and auth,
// which has no effect. Other requests are answered with the protocol's Unimplemented. Faults can be injected at exact requests: see
// [Fault]. One lock is held while a request is served, as ZooKeeper also applies one transaction after the other.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/zkbench/zkbench/ensemble"
)

// Ensemble is a server for one run.
type Ensemble struct {
	*Server
	lock *ensemble.FileLock
}

var _ ensemble.Ensemble = (*Ensemble)(nil)

// Up starts a server and locks the ensemble of that name until Close. The server ends with the process.
func Up(opts ensemble.Options) (*Ensemble, error) {
	opts = opts.WithDefaults()
	lock, err := ensemble.TryLock("embedded-" + opts.Name)
	if err != nil {
		return nil, err
	}
	server, err := Listen(Config{ReadDelay: opts.ReadDelay, WriteDelay: opts.WriteDelay})
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	fmt.Fprintln(opts.Progress, "started the embedded server: its counts are exact, and its latencies are not those of an ensemble")
	return &Ensemble{Server: server, lock: lock}, nil
}

// Servers implements [ensemble.Ensemble].
func (e *Ensemble) Servers() []ensemble.Server {
	server := ensemble.Server{ID: 1, Name: "embedded", Addr: e.Addr()}
	if e.listener == nil {
		server.Dialer = e.Server
	}
	return []ensemble.Server{server}
}

// Owned implements [ensemble.Ensemble]: no other program knows the port.
func (e *Ensemble) Owned() bool { return true }

// Describe implements [ensemble.Ensemble].
func (e *Ensemble) Describe(ctx context.Context) (ensemble.Description, error) {
	d, err := ensemble.DescribeServers(ctx, ensemble.Embedded, e.Servers())
	d.Version = version // not of the release alone
	d.TxnLog = "none: everything is in memory"
	return d, err
}

// Logs implements [ensemble.Ensemble].
func (e *Ensemble) Logs(context.Context, io.Writer, int) error {
	return errors.New("the embedded server keeps no log")
}

// Close implements [ensemble.Ensemble].
func (e *Ensemble) Close(context.Context) error {
	return errors.Join(e.Server.Close(), e.lock.Release())
}
