package proxy

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
