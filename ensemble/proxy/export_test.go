package proxy

// Accounts returns the number of accounts that are kept.
func (p *Proxy) Accounts() int {
	p.accounts.mu.Lock()
	defer p.accounts.mu.Unlock()
	return len(p.accounts.all)
}

// Sessions returns the number of sessions that exist, as far as their clients know and their connections show.
func (p *Proxy) Sessions() int {
	p.accounts.mu.Lock()
	defer p.accounts.mu.Unlock()
	n := 0
	for a := range p.accounts.all {
		if a.id.Load() != 0 && !a.over.Load() && !a.silent {
			n++
		}
	}
	return n
}
