package proxy

// Accounts returns the number of accounts that are kept.
func (p *Proxy) Accounts() int {
	p.accounts.mu.Lock()
	defer p.accounts.mu.Unlock()
	return len(p.accounts.all)
}
