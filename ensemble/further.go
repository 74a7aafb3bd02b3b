package ensemble

import (
	"context"
	"maps"
	"slices"
)

// Further returns a link for a further session of the same client, whose frames are counted in a further ledger of l's. The traps of l,
// Cut, Sever and Settle apply to all sessions of the client. Expire ends only the first session. The caller detaches the further link
// when its session has been closed.
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

// Detach removes a further link from the link of its client's first session.
func (l *Link) Detach() {
	l.client.mu.Lock()
	defer l.client.mu.Unlock()
	delete(l.client.further, l)
}

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

func (l *Link) end() {
	if current := l.state().current; current != nil {
		current.End()
	}
}

// Sever ends the connections and refuses all further ones, as when the client's process has died: no close request is sent.
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

// Settle returns when the counts of connections that were ended through the link are final. Before the client has connected again, or
// when the link is severed, that takes a round trip, and at most two seconds.
func (l *Link) Settle(ctx context.Context) error {
	for _, link := range l.all() {
		if err := link.awaitEnd(ctx); err != nil {
			return err
		}
	}
	return nil
}
