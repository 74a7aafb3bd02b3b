package pool

import (
	"context"
	"slices"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// closePatience is how long a life whose end is hurried waits for its session to be closed. The client library waits for a second.
const closePatience = 2 * time.Second

// end begins to close the session of a life that is over. As long as the servers may have the session, the client library may still connect
// to close it, unless its end is hurried. After that, nothing of the life connects any more, and ended is closed.
func (l *Life) end(ctx context.Context) {
	l.ending.Do(func() { go l.close(context.WithoutCancel(ctx)) })
}

func (l *Life) close(ctx context.Context) {
	defer close(l.ended)
	if l.Own != nil {
		_ = variants.WaitFor(ctx, closePatience, closing(l.Own), nil)
	}
	_ = variants.WaitFor(ctx, l.Ledger.SessionTimeout(), l.hurried, nil)
	l.Link.Sever()
	_ = l.Link.Settle(ctx) // fails only if ctx ends
}

// closing begins to close a session, and returns a channel that is closed when that is done.
func closing(s OwnSession) <-chan struct{} {
	closed := make(chan struct{})
	go func() { defer close(closed); s.Close() }()
	return closed
}

// hurry ends the time in which the client library may close the session.
func (l *Life) hurry(ctx context.Context) {
	l.end(ctx)
	l.hurrying.Do(func() { close(l.hurried) })
}

// gone reports whether the client has no session: its life is over, or it could not join again.
func (c *Client) gone() bool { return c.Over() || c.Session == nil }

// endLives ends all lives of the client that are over, and returns when their counts are final.
func (c *Client) endLives(ctx context.Context) {
	lives := c.hurryFormer(ctx)
	if c.gone() {
		lives = append(lives, c.Life)
		c.hurry(ctx)
	}
	for _, l := range lives {
		<-l.ended
	}
}

// hurryFormer hurries the ends of the client's former lives, and returns those whose counts may still grow.
func (c *Client) hurryFormer(ctx context.Context) []*Life {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.former.open {
		l.hurry(ctx)
	}
	return slices.Clone(c.former.open)
}

// retire ends a life that is over. It does not wait for the close of the session, whose answer may not come.
func (c *Client) retire(ctx context.Context) {
	c.Monitor.Dismiss()
	c.hangUpAll(ctx)
	c.kill()
	c.end(ctx)
	_ = c.Link.Settle(ctx) // an error leaves counts in doubt, as the ledger says
	c.tunnel.Close()
}
