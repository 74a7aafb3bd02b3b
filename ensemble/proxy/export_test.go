package proxy

import (
	"context"
	"net"
)

// Handshake makes the handshake with a client as the proxy of this configuration does.
func Handshake(ctx context.Context, client net.Conn, c Config) error {
	p := &Proxy{config: c, alive: ctx, stats: Stats{Incidents: map[IncidentKind]int64{}}}
	return (&link{proxy: p, listener: &listener{}, client: client}).secure()
}

// Accounts returns the number of accounts that are kept.
func (p *Proxy) Accounts() int {
	p.accounts.mu.Lock()
	defer p.accounts.mu.Unlock()
	return len(p.accounts.byID)
}

// Sessions returns the number of sessions that exist, as far as their clients know and their connections show.
func (p *Proxy) Sessions() int {
	p.accounts.mu.Lock()
	defer p.accounts.mu.Unlock()
	n := 0
	for _, a := range p.accounts.byID {
		if !a.over.Load() && !a.silent {
			n++
		}
	}
	return n
}
