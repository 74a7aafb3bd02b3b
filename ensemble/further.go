package ensemble

import (
	"context"
	"maps"
	"slices"
)

// Further returns the link of a further session of the same client, whose frames are counted in the further ledger of l's. The traps of
// l are for the operations of all its sessions, and so are Cut, Sever and Settle. Expire ends the first session alone. The caller detaches
// the further link when its session has been closed.
func (l *Link) Further() *Link {
	f := NewLink(l.ledger.Further())
	f.client = l
	l.mu.Lock()
	defer l.mu.Unlock()
	f.severed = l.severed
	if l.further == nil {
		l.further = map[*Link]bool{}
	}
	l.further[f] = true
	return f
}

// Detach lets the link of a client's first session forget a further one.
func (l *Link) Detach() {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	delete(l.client.further, l)
}

// all returns the links of the client's sessions, this one first.
func (l *Link) all() []*Link {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]*Link{l}, slices.Collect(maps.Keys(l.further))...)
}

// Cut ends the current connections at once. The client library connects again.
func (l *Link) Cut() {
	for _, link := range l.all() {
		link.end()
	}
}

// end ends the current connection.
func (l *Link) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != nil {
		l.current.End()
	}
}

// Sever ends the connections and refuses all further ones, as when the client's process has died: no close request leaves.
func (l *Link) Sever() {
	l.sever() // first, so that further sessions that begin from now on are severed, too
	for _, link := range l.all() {
		link.sever()
		link.end()
	}
}

func (l *Link) sever() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.severed = true
}

// Settle returns when the counts of connections that were ended through the link are final. Before the client has connected
// again, or when the link is severed, that is a round trip later, and at most two seconds.
func (l *Link) Settle(ctx context.Context) error {
	for _, link := range l.all() {
		if err := link.awaitEnd(ctx); err != nil {
			return err
		}
	}
	return nil
}
