// Package embedded is one in-memory ZooKeeper server in this process, on a loopback port.
//
// It takes one position: it is an instrument, not a database. What a client can observe (replies, stats, sequence
// numbers, watches and their order, sessions and their end) is what ZooKeeper 3.9 does, held to it by one suite of
// cases and one randomized comparison that run on both; where they differ, the real one is right. What a client
// cannot observe is missing: no disk, no quorum, no access control beyond "everybody may do everything". So counts made
// here are exact, and latencies mean nothing beyond this process: every result names its engine, and times of
// different engines are never compared.
//
// It speaks the wire protocol, so that any ZooKeeper client works against it: connect, ping, close, create in all modes
// but TTL, delete, exists, getData, setData, getChildren, sync, multi, setWatches, and auth, which is believed and gives
// nothing. Everything else is answered with the protocol's own "unimplemented". And because the server is in our
// hands, faults can be put at exact points: see [Fault].
//
// One lock is held while a request is served. That is ZooKeeper's own order of things, one transaction after the
// other, and what makes the rest simple.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/zkbench/zkbench/ensemble"
)

// Ensemble is a server of its own for one run.
type Ensemble struct {
	*Server
	lock *ensemble.FileLock
}

var _ ensemble.Ensemble = (*Ensemble)(nil)

// lockName keeps the locks of this engine apart from those of others.
func lockName(name string) string { return "embedded-" + name }

// Up starts a server; the caller has the ensemble of that name to itself until Close. It cannot outlive the process.
func Up(opts ensemble.Options) (*Ensemble, error) {
	opts = opts.WithDefaults()
	lock, err := ensemble.TryLock(lockName(opts.Name))
	if err != nil {
		return nil, err
	}
	server, err := Listen(Config{ReadDelay: opts.ReadDelay, WriteDelay: opts.WriteDelay})
	if err != nil {
		return nil, errors.Join(err, lock.Release())
	}
	fmt.Fprintln(opts.Progress, "started the embedded server: counts are exact on it, and its latencies are those of no ensemble")
	return &Ensemble{Server: server, lock: lock}, nil
}

// Servers implements [ensemble.Ensemble].
func (e *Ensemble) Servers() []ensemble.Server {
	return []ensemble.Server{{ID: 1, Name: "embedded", Addr: e.Addr()}}
}

// Owned implements [ensemble.Ensemble]: nobody else knows the port.
func (e *Ensemble) Owned() bool { return true }

// Describe implements [ensemble.Ensemble].
func (e *Ensemble) Describe(ctx context.Context) (ensemble.Description, error) {
	d, err := ensemble.DescribeServers(ctx, ensemble.Embedded, e.Servers())
	d.Version = version // with what tells it from the release
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
