// Package embedded is a ZooKeeper ensemble in this process, of one server or several. They listen on loopback ports, or are reached in
// memory by tests in virtual time.
//
// It takes one position: it is an instrument, not a database. Clients observe the same replies, stats, sequence numbers,
// watches, order and sessions as from ZooKeeper 3.9, which one table of cases and one randomized comparison verify on both.
// Where the two differ, the embedded server is wrong. It has no disk, no super user, and no protocol among its servers: they share
// one order of transactions. Counts measured on it are exact. Latencies are not comparable with other engines' latencies.
//
// It speaks the wire protocol, with or without TLS, so that any ZooKeeper client works against it. It has the access control of the
// schemes world, auth, digest and ip. Persistent watches, multiRead, getAllChildrenNumber and SASL are answered with the protocol's
// Unimplemented, quotas have no effect, and reconfig is refused. Faults can be injected at exact requests: see [Fault]. One lock is held
// while a request is served, as ZooKeeper also applies one transaction after the other.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/zkbench/zkbench/ensemble"
)

// Ensemble is the servers of one run. Servers can fail only if there are several.
type Ensemble struct {
	*Server // the first
	*ensemble.Breakage
	lock       *ensemble.FileLock
	protection ensemble.Protection
	servers    []ensemble.Server
}

var _ ensemble.Breaker = (*Ensemble)(nil)

// Up starts servers and locks the ensemble of that name until Close. They end with the process.
func Up(ctx context.Context, opts ensemble.Options) (*Ensemble, error) {
	opts = opts.WithDefaults()
	lock, err := ensemble.Lock(ctx, "embedded-"+opts.Name, opts)
	if err != nil {
		return nil, err
	}
	folder := ensemble.StateDir(ensemble.Embedded, opts.Name)
	e, err := listen(opts, folder)
	if err != nil {
		return nil, errors.Join(err, ensemble.RemoveState(folder), lock.Release())
	}
	e.lock = lock
	fmt.Fprintf(opts.Progress, "embedded servers: %d; counts are exact, latencies are not those of an ensemble\n", len(e.Members()))
	return e, nil
}

func listen(opts ensemble.Options, folder string) (*Ensemble, error) {
	protection, err := opts.Protect(folder)
	if err != nil {
		return nil, err
	}
	access, err := protection.Access()
	if err != nil {
		return nil, err
	}
	config := Config{Voters: opts.Voters, Ports: opts.Ports, Lag: opts.Lag, ReadDelay: opts.ReadDelay, WriteDelay: opts.WriteDelay}
	if config.TLS, err = protection.ServerTLS(); err != nil {
		return nil, err
	}
	if opts.Digest {
		config.Scheme = ensemble.Digest
	}
	server, err := Listen(config)
	if err != nil {
		return nil, err
	}
	e := Of(server)
	e.protection = protection
	for i, s := range e.servers {
		e.servers[i] = access.To(s, s.Addr)
	}
	return e, nil
}

// Of returns the ensemble that a server belongs to, without locking it.
func Of(server *Server) *Ensemble {
	e := &Ensemble{Server: server}
	member := func(s ensemble.Server) *Server { return server.Members()[s.ID-1] }
	e.Breakage = &ensemble.Breakage{
		Cause: func(_ context.Context, s ensemble.Server, f ensemble.ServerFault) error {
			member(s).Fail(f)
			return nil
		},
		Undo: func(_ context.Context, s ensemble.Server) error {
			member(s).Recover()
			return nil
		},
	}
	if len(server.Members()) > 1 {
		e.Possible = []ensemble.ServerFault{ensemble.Kill, ensemble.Pause, ensemble.Partition}
	}
	for i, member := range e.Members() {
		s := ensemble.Server{ID: i + 1, Name: "embedded", Addr: member.Addr()}
		if len(e.Members()) > 1 {
			s.Name = fmt.Sprintf("zoo%d", s.ID)
		}
		if member.listener == nil {
			s.Dialer = member
		}
		e.servers = append(e.servers, s)
	}
	return e
}

// Servers implements [ensemble.Ensemble].
func (e *Ensemble) Servers() []ensemble.Server { return slices.Clone(e.servers) }

// AccessFlags returns the flags by which zkbench gets access to the servers when they are given by --servers.
func (e *Ensemble) AccessFlags() []string { return e.protection.AccessFlags() }

// Faults implements [ensemble.Breaker].
func (e *Ensemble) Faults(context.Context) (map[string]ensemble.ServerFault, error) {
	faults := map[string]ensemble.ServerFault{}
	e.change(func() {
		for i, member := range e.Members() {
			if member.fault != "" {
				faults[e.servers[i].Name] = member.fault
			}
		}
	})
	return faults, nil
}

// Owned implements [ensemble.Ensemble]: no other program knows a run's ports. `zkbench ensemble up` prints them, but measures nothing.
func (e *Ensemble) Owned() bool { return true }

// Describe implements [ensemble.Ensemble].
func (e *Ensemble) Describe(ctx context.Context) (ensemble.Description, error) {
	d, err := ensemble.DescribeServers(ctx, ensemble.Embedded, e.Servers())
	d.Version = version // Srvr cuts the suffix off
	d.TxnLog = "none: everything is in memory"
	return d, err
}

// Logs implements [ensemble.Ensemble].
func (e *Ensemble) Logs(context.Context, io.Writer, int) error {
	return errors.New("embedded servers keep no log")
}

// Close implements [ensemble.Ensemble].
func (e *Ensemble) Close(context.Context) error {
	return errors.Join(e.Server.Close(), ensemble.RemoveState(e.protection.Folder), e.lock.Release())
}
