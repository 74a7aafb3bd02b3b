package external

import (
	"cmp"
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
	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/results/list"
)

// The timeouts for one server. Users learn of errors within five seconds.
const (
	answerTimeout  = 4500 * time.Millisecond // to accept a connection and to answer srvr
	silenceTimeout = 500 * time.Millisecond  // after which the port is tested for other protocols
)

type peer struct {
	ensemble.Server
	status ensemble.Status
	config map[string]string // empty if `conf` is not allowed
}

func reachAll(ctx context.Context, servers []ensemble.Server) ([]peer, error) {
	peers := make([]peer, len(servers))
	err := inParallel(len(servers), func(i int) (err error) {
		peers[i], err = reach(ctx, servers[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	return peers, checkAddresses(peers)
}

func inParallel(n int, f func(i int) error) error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func checkAddresses(peers []peer) error {
	for i, p := range peers {
		same := func(o peer) bool { return o.Addr == p.Addr }
		if twin := slices.IndexFunc(peers[:i], same); twin >= 0 {
			return Mistake{fmt.Errorf("%s and %s are the same server (%s): give each server once", peers[twin].Name, p.Name, p.Addr)}
		}
	}
	return nil
}

// Describe returns what one server reports of itself. Its error says what the server speaks instead, or why it refuses to answer.
func Describe(ctx context.Context, server ensemble.Server) (ensemble.Description, error) {
	p, err := reach(ctx, server)
	return ensemble.DescriptionOf(ensemble.External, p.Server, p.status, p.config), err
}

// Explain returns why a command that needs a server failed with err: what [Open] would say of the server, or else err itself.
func Explain(ctx context.Context, server ensemble.Server, err error) error {
	_, why := Describe(ctx, server)
	return cmp.Or(why, fmt.Errorf("%s: %w", server.Name, err))
}

func reach(ctx context.Context, server ensemble.Server) (peer, error) {
	p := peer{Server: server}
	asking, cancel := context.WithTimeoutCause(ctx, answerTimeout, fmt.Errorf("no answer within %s", answerTimeout))
	defer cancel()
	addrs, err := resolve(asking, p.Name)
	if err != nil {
		return p, err
	}
	for _, p.Addr = range addrs {
		if err = tryDial(asking, p.Addr); err == nil {
			break
		}
	}
	if err != nil {
		return p, p.named(err)
	}
	if err := p.ask(asking); err != nil {
		return p, err
	}
	p.config = ensemble.Config(asking, p.Server)
	return p, nil
}

// named returns an error that begins with the name of the server. It is a Mistake if what the user gave is wrong.
func (p *peer) named(err error) error {
	if !strings.HasPrefix(err.Error(), p.Name) {
		err = fmt.Errorf("%s: %w", p.Name, err)
	}
	if refusal := new(dial.Refusal); errors.As(err, &refusal) && refusal.Mistake {
		return Mistake{err}
	}
	return err
}

// ask sets the status. If the server is silent, as a TLS port is after srvr, ask tests for other protocols.
func (p *peer) ask(ctx context.Context) error {
	asking, giveUp := context.WithCancel(ctx)
	defer giveUp()
	sniffed := make(chan error, 1)
	silence := time.AfterFunc(silenceTimeout, func() {
		found := sniff(ctx, p.Server)
		if found != nil {
			giveUp()
		}
		sniffed <- found
	})
	var err error
	p.status, err = ensemble.Srvr(asking, p.Server)
	switch neverSilent := silence.Stop(); {
	case err == nil:
		return nil
	case errors.Is(err, ensemble.ErrNotServing):
		return p.named(fmt.Errorf("%w: start the missing servers of its ensemble, or wait until they have elected a leader", err))
	case errors.Is(err, ensemble.ErrNotAllowed), dial.IsLasting(err):
		return p.named(err)
	case neverSilent:
		return cmp.Or(sniff(ctx, p.Server), p.explain(err))
	default:
		return cmp.Or(<-sniffed, p.explain(err))
	}
}

// resolve returns the addresses of a name, because each session must stay on one server: given a name with several addresses, the
// client library would connect to any of them.
func resolve(ctx context.Context, name string) ([]string, error) {
	host, port, _ := net.SplitHostPort(name) // Parse has checked both
	number, _ := strconv.Atoi(port)          // "02181" is the same port as "2181"
	hosts, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("%s: the host's address is unknown: check its spelling, or give its IP address: %w", name, err)
	}
	return list.Map(hosts, func(host string) string { return net.JoinHostPort(host, strconv.Itoa(number)) }), nil
}

func tryDial(ctx context.Context, addr string) error {
	conn, err := dial.To(ctx, nil, addr)
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

// isClosed reports whether a server has closed a connection without an answer, possibly before the dial returned.
func isClosed(err error) bool {
	return errors.Is(err, ensemble.ErrUnanswered) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// explain returns an error with advice for a port that accepts connections but does not answer like a ZooKeeper client port.
func (p *peer) explain(err error) error {
	switch {
	case isClosed(err):
		return fmt.Errorf("%s closes connections without an answer: either it is no ZooKeeper client port, "+
			"or it is out of connections for this address (maxClientCnxns): "+
			"give the client port (usually 2181), close other clients, or raise the limit", p.Name)
	case errors.Is(err, ensemble.ErrNotZooKeeper):
		return p.named(fmt.Errorf("%w: give the client port (clientPort, usually 2181)", err))
	default:
		return fmt.Errorf("%s accepts connections but does not answer: the server is stopped or overloaded, "+
			"or this is not its client port (clientPort, usually 2181; with --tls secureClientPort) but one for other servers: %w",
			p.Name, err)
	}
}
