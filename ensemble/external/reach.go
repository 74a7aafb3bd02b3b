package external

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/zkbench/zkbench/ensemble"
)

// What is wrong must be known within five seconds: answerTimeout is how long a server may take to accept a connection and
// to answer srvr. After silenceTimeout it is tried whether the port is another one than ZooKeeper's.
const (
	answerTimeout  = 4500 * time.Millisecond
	silenceTimeout = 500 * time.Millisecond
)

// peer is a server as it shows itself to a guest.
type peer struct {
	ensemble.Server
	status ensemble.Status
	config map[string]string // empty where `conf` is not allowed
}

// reachAll asks all servers at once what they are, and reports all that is wrong.
func reachAll(ctx context.Context, names []string) ([]peer, error) {
	peers, errs := make([]peer, len(names)), make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			peers[i], errs[i] = reach(ctx, name)
			peers[i].ID = i + 1
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return peers, checkAddresses(peers)
}

// checkAddresses notices two names of one address.
func checkAddresses(peers []peer) error {
	for i, p := range peers {
		same := func(o peer) bool { return o.Addr == p.Addr }
		if twin := slices.IndexFunc(peers[:i], same); twin >= 0 {
			return Mistake{fmt.Errorf("%s and %s are the same server (%s): give each server once", peers[twin].Name, p.Name, p.Addr)}
		}
	}
	return nil
}

// reach finds the address of a server that accepts connections, and asks it what it is.
func reach(ctx context.Context, name string) (peer, error) {
	p := peer{Server: ensemble.Server{Name: name}}
	asking, cancel := context.WithTimeoutCause(ctx, answerTimeout, fmt.Errorf("no answer within %s", answerTimeout))
	defer cancel()
	addrs, err := resolve(asking, name)
	if err != nil {
		return p, err
	}
	for _, p.Addr = range addrs {
		if err = dial(asking, p.Addr); err == nil {
			break
		}
	}
	if err != nil {
		return p, p.named(err)
	}
	if err := p.ask(asking); err != nil {
		return p, err
	}
	p.config = ensemble.Config(asking, p.Addr)
	return p, nil
}

// named says which server an error is about, by the name that the user knows.
func (p *peer) named(err error) error {
	if strings.HasPrefix(err.Error(), p.Name) {
		return err
	}
	return fmt.Errorf("%s: %w", p.Name, err)
}

// ask fills in the status. A TLS port takes srvr for the beginning of something longer, and waits: so it is tried for
// others while the answer is awaited.
func (p *peer) ask(ctx context.Context) error {
	asking, giveUp := context.WithCancel(ctx)
	defer giveUp()
	sniffed := make(chan port, 1)
	silence := time.AfterFunc(silenceTimeout, func() {
		found := sniff(ctx, p.Addr)
		if found != unknownPort {
			giveUp()
		}
		sniffed <- found
	})
	var err error
	p.status, err = ensemble.Srvr(asking, p.Addr)
	switch neverSilent := silence.Stop(); {
	case err == nil:
		return nil
	case errors.Is(err, ensemble.ErrNotServing):
		return p.named(fmt.Errorf("%w: start the missing servers of its ensemble, or wait until they have elected a leader", err))
	case errors.Is(err, ensemble.ErrNotAllowed):
		return p.named(err)
	case neverSilent:
		return explain(*p, sniff(ctx, p.Addr), err)
	default:
		return explain(*p, <-sniffed, err)
	}
}

// resolve returns the addresses that a name stands for. The client library would connect to any of several, and a
// session would not be pinned to the server that the result names.
func resolve(ctx context.Context, name string) ([]string, error) {
	host, port, err := net.SplitHostPort(name)
	if err != nil {
		return nil, err
	}
	hosts, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("%s: the host's address is unknown: check its spelling, or give its IP address: %w", name, err)
	}
	number, err := strconv.Atoi(port) // "02181" is the same port as "2181"
	if err != nil {
		return nil, err
	}
	var addrs []string
	for _, host := range hosts {
		addrs = append(addrs, net.JoinHostPort(host, strconv.Itoa(number)))
	}
	return addrs, nil
}

// dial returns nil if a connection can be made, and else why not and what to do.
func dial(ctx context.Context, addr string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	switch {
	case err == nil:
		conn.Close()
		return nil
	case isClosed(err):
		return nil
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("nothing listens there: start the server, or give its client port (clientPort, usually 2181): %w", err)
	case ctx.Err() != nil:
		return fmt.Errorf("no connection within %s: check the address, and that no firewall is in between: %w", answerTimeout, err)
	default:
		return err
	}
}

// isClosed reports whether a server has closed a connection unanswered. One that is quick does so before connecting returns.
func isClosed(err error) bool {
	return errors.Is(err, ensemble.ErrUnanswered) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// explain says what a port is that accepts connections but does not answer as ZooKeeper's client port does.
func explain(p peer, found port, err error) error {
	switch {
	case found == tlsPort:
		return Mistake{fmt.Errorf("%s speaks TLS, which zkbench does not: give the server's plain client port (clientPort, usually 2181)", p.Name)}
	case found == webPort:
		return Mistake{fmt.Errorf("%s is a web server, such as ZooKeeper's AdminServer: give the client port (clientPort, usually 2181)", p.Name)}
	case isClosed(err):
		return fmt.Errorf("%s closes connections unanswered: either it is no ZooKeeper client port, or it is out of connections for this address (maxClientCnxns): give the client port (usually 2181), close other clients, or raise the limit", p.Name)
	case errors.Is(err, ensemble.ErrNotZooKeeper):
		return p.named(fmt.Errorf("%w: give the client port (clientPort, usually 2181)", err))
	default:
		return fmt.Errorf("%s accepts connections but does not answer: the server is stopped or overloaded, or this is not its plain client port (clientPort, usually 2181) but one for TLS or for other servers: %w", p.Name, err)
	}
}
