// Package external measures against servers that somebody else runs.
//
// It takes one position: a guest leaves the house as it was. It starts nothing, stops nothing and reads no counters
// that other sessions share; whatever a run writes stands under one znode of its own.
package external

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// probeTimeout is how long the servers may take to answer before the address is called wrong.
const probeTimeout = 10 * time.Second

// Ensemble is a list of addresses that answered.
type Ensemble struct{ servers []ensemble.Server }

var _ ensemble.Ensemble = (*Ensemble)(nil)

// Open checks that a ZooKeeper answers at each address ("host:port,host:port,…").
func Open(ctx context.Context, addresses string) (*Ensemble, error) {
	names, err := Parse(addresses)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	e := &Ensemble{}
	for i, name := range names {
		addr, err := resolve(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("--servers: %w", err)
		}
		e.servers = append(e.servers, ensemble.Server{ID: i + 1, Name: name, Addr: addr})
	}
	var errs []error
	for _, s := range e.servers {
		if _, err := ensemble.Probe(ctx, s.Addr); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("cannot use --servers %s: %w", addresses, err)
	}
	return e, nil
}

// Parse splits "host:port,host:port,…".
func Parse(addresses string) ([]string, error) {
	var out []string
	for addr := range strings.SplitSeq(addresses, ",") {
		addr = strings.TrimSpace(addr)
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, fmt.Errorf("--servers wants host:port,host:port,…: %w", err)
		}
		out = append(out, addr)
	}
	return out, nil
}

// resolve returns one address for a name. The client library would connect to any of several, and a session would not
// be pinned to the server that the result names.
func resolve(ctx context.Context, name string) (string, error) {
	host, port, err := net.SplitHostPort(name)
	if err != nil {
		return "", err
	}
	addrs, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(addrs[0], port), nil
}

// Servers implements [ensemble.Ensemble].
func (e *Ensemble) Servers() []ensemble.Server { return e.servers }

// Owned implements [ensemble.Ensemble]: other people's sessions may be on these servers.
func (e *Ensemble) Owned() bool { return false }

// Describe implements [ensemble.Ensemble]. Where the transaction log lives is not for a guest to know.
func (e *Ensemble) Describe(ctx context.Context) (ensemble.Description, error) {
	return ensemble.DescribeServers(ctx, ensemble.External, e.servers)
}

// Logs implements [ensemble.Ensemble].
func (e *Ensemble) Logs(context.Context, io.Writer, int) error {
	return errors.New("the logs of external servers are with whoever runs them")
}

// Close implements [ensemble.Ensemble]; there is nothing to end.
func (e *Ensemble) Close(context.Context) error { return nil }
