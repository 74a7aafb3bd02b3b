// Package proxy stands between any ZooKeeper clients and their servers, and counts the frames that pass in the ledgers of [wire].
//
// It takes one position: an application must not notice that it is observed. Every byte is forwarded unchanged and in its order. Protocols
// that the proxy does not understand, such as TLS, are forwarded and counted as not understood. When one side ends its connection, the
// proxy ends the other side's in the same way. Each server has its own listening address, so that clients keep their choice.
// With TLS to the servers or to the clients, all of this is true of the bytes within it.
//
// While a server does not accept connections, its address does not either. The proxy notices that only when the server ends a
// connection or refuses one, so a client that connects before is disconnected instead of refused.
package proxy

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/zkbench/zkbench/ensemble/dial"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/list"
)

// Config is the configuration of a proxy.
type Config struct {
	Servers  []string  // host:port of each
	Listen   []string  // an address for each server; none means free ports of 127.0.0.1
	Epoch    time.Time // the start of all times that the observer receives
	Observer Observer
	Most     int64 // connections of clients at a time; zero means without bound
	Full     error // why a further one is reset; a [dial.ErrOwnLimit]

	ToServers *dial.TLS   // nil means that servers are reached without TLS
	ToClients *tls.Config // with a certificate; nil means that the addresses do not speak TLS
}

// Observer receives the frames and incidents of all connections. Its methods must not block. Happened, and the methods of [wire.Tap]
// for different sessions, may be called concurrently.
type Observer interface {
	wire.Tap
	Happened(i Incident)
}

// IncidentKind is the kind of an [Incident].
type IncidentKind string

// The kinds of incidents.
const (
	Unreachable  IncidentKind = "unreachable"   // the server did not accept the connection
	OwnLimit     IncidentKind = "own limit"     // zkbench or this machine had no file, port or memory for the connection
	EndedServer  IncidentKind = "server ended"  // the server ended a connection whose session was not closed
	EndedClient  IncidentKind = "client ended"  // the client ended a connection without closing its session
	Refused      IncidentKind = "refused"       // the server ended a connection instead of answering the connect request
	NotZooKeeper IncidentKind = "not ZooKeeper" // the first bytes are neither a connect request, a four-letter command nor TLS
	Encrypted    IncidentKind = "TLS"           // forwarded, and not counted
	ServerTLS    IncidentKind = "server TLS"    // the server accepted the connection, but the proxy and it did not agree on TLS
	ClientTLS    IncidentKind = "client TLS"    // the client and the proxy's address did not agree on TLS
	Unmatched    IncidentKind = "unmatched"     // frames that could not be decoded
)

// Incident is an event of a connection other than a request or a reply.
type Incident struct {
	At      time.Duration `json:"at_ns"` // since the epoch
	Kind    IncidentKind  `json:"kind"`
	Server  string        `json:"server"`  // its address
	Client  string        `json:"client"`  // its address; empty if there is none
	Session int64         `json:"session"` // zero without one
	Detail  string        `json:"detail"`  // such as an error; may be empty
	// Unanswered is the number of requests whose replies the client never got.
	Unanswered int `json:"unanswered"`
}

// Stats counts connections.
type Stats struct {
	Connections int64                  `json:"connections"` // that clients have opened
	Open        int64                  `json:"open"`
	Commands    int64                  `json:"commands"` // four-letter commands, which are forwarded and not decoded
	Incidents   map[IncidentKind]int64 `json:"incidents"`
	Limit       string                 `json:"limit"` // the detail of the latest incident of kind OwnLimit
}

// Proxy is a running proxy. Its methods may be called concurrently.
type Proxy struct {
	config    Config
	listeners []*listener
	accounts  *accounts
	alive     context.Context // ends with the proxy
	stop      context.CancelFunc
	running   sync.WaitGroup

	mu    sync.Mutex
	stats Stats
}

// Start listens, and serves connections until Close. The context bounds the start only.
func Start(ctx context.Context, c Config) (*Proxy, error) {
	if len(c.Listen) > 0 && len(c.Listen) != len(c.Servers) {
		return nil, fmt.Errorf("%d addresses to listen on for %d servers: give one for each", len(c.Listen), len(c.Servers))
	}
	p := &Proxy{
		config: c, stats: Stats{Incidents: map[IncidentKind]int64{}},
		accounts: &accounts{epoch: c.Epoch, observer: c.Observer, byID: map[int64]*account{}},
	}
	p.alive, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	for i, server := range c.Servers {
		l, address := &listener{proxy: p, server: server}, "127.0.0.1:0"
		if c.ToServers != nil {
			l.dialer = c.ToServers.For(server)
		}
		if len(c.Listen) > 0 {
			address = c.Listen[i]
		}
		p.listeners = append(p.listeners, l)
		if err := l.listen(address); err != nil {
			p.Close()
			return nil, err
		}
	}
	for _, l := range p.listeners {
		p.running.Go(l.serve)
	}
	p.running.Go(p.sweep)
	return p, nil
}

// sweep reports sessions that have had no connection for too long, until the proxy is closed.
func (p *Proxy) sweep() {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-p.alive.Done():
			return
		case now := <-ticker.C:
			for _, a := range p.accounts.silent(now) {
				p.config.Observer.Over(a.id.Load(), true)
			}
		}
	}
}

// Addresses returns the addresses at which clients reach the servers through the proxy, in the order of the servers.
func (p *Proxy) Addresses() []string {
	return list.Map(p.listeners, func(l *listener) string { return dial.Destination(l.address()) })
}

// Watches returns the paths of the watches that are set now, by session. A path is there once for each watch.
func (p *Proxy) Watches() map[int64][]string {
	p.accounts.mu.Lock()
	all := maps.Clone(p.accounts.byID)
	p.accounts.mu.Unlock()
	out := map[int64][]string{}
	for id, a := range all {
		out[id] = a.ledger.WatchesNow()
	}
	return out
}

// Stats returns the numbers of connections so far.
func (p *Proxy) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Incidents = maps.Clone(p.stats.Incidents)
	return s
}

// serve serves a connection in the background, unless the proxy is closed or full. Then it ends the connection before it returns, so
// that a burst of connections does not use up the spare files.
func (p *Proxy) serve(l *link) {
	if p.config.Most > 0 && p.Stats().Open >= p.config.Most {
		p.count(func(s *Stats) { s.Connections++ })
		l.refuse(p.config.Full)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.alive.Err() != nil {
		l.client.Close()
		return
	}
	p.stats.Connections++
	p.stats.Open++
	p.running.Go(func() {
		defer p.count(func(s *Stats) { s.Open-- })
		l.serve()
	})
}

func (p *Proxy) count(change func(*Stats)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.stats)
}

func (p *Proxy) happened(i Incident) {
	i.At = time.Since(p.config.Epoch)
	p.count(func(s *Stats) {
		s.Incidents[i.Kind]++
		if i.Kind == OwnLimit {
			s.Limit = i.Detail
		}
	})
	if p.alive.Err() == nil { // a connection that Close ends is not an incident
		p.config.Observer.Happened(i)
	}
}

// Close ends all connections. Every call returns only when they have ended, and the observer receives nothing more.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.stop() // under the lock, so that no further connection is served
	p.mu.Unlock()
	for _, l := range p.listeners {
		l.shut()
	}
	p.running.Wait()
}
