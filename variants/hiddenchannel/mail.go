package hiddenchannel

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/zkbench/zkbench/variants/session"
)

// Mailbox is a hidden channel within one process. It keeps the newest message for all clients.
type Mailbox struct {
	mu      sync.Mutex
	version int64
	news    chan struct{} // closed with the next message
}

// NewMailbox returns an empty mailbox.
func NewMailbox() *Mailbox { return &Mailbox{news: make(chan struct{})} }

// Send implements [Mail].
func (m *Mailbox) Send(_ context.Context, version int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if version > m.version {
		m.version = version
		close(m.news)
		m.news = make(chan struct{})
	}
	return nil
}

// Receive implements [Mail].
func (m *Mailbox) Receive(ctx context.Context, after int64) (int64, error) {
	for {
		m.mu.Lock()
		version, news := m.version, m.news
		m.mu.Unlock()
		if version > after {
			return version, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (f *follower) receive(ctx context.Context) (int64, error) {
	ctx, cancel := session.UntilLost(ctx, f.session.Lost(), f.session.Alive)
	defer cancel()
	version, err := f.mail.Receive(ctx, f.known)
	if err != nil {
		return 0, fmt.Errorf("wait for a message: %w", cmp.Or(f.session.Alive(), err))
	}
	f.known = max(f.known, version)
	return f.known, nil
}
