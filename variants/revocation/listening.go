package revocation

import "context"

// Listening is the background work of a client from when it first looks at its znode until it gives its place up: it looks again
// and again.
type Listening struct {
	// Revoked is closed when the client has been asked to give up, or when its place may be lost.
	Revoked chan struct{}
	// Lost is closed when the session is lost, or when the client's znode could not be read.
	Lost chan struct{}

	asked  bool
	cancel context.CancelFunc
	done   chan struct{}
}

// Listen looks at a client's own znode until [Listening.Stop], even after ctx has ended. first is the result of the
// first look, which the caller has made. sessionLost is closed when the session is lost.
func Listen(ctx context.Context, sessionLost <-chan struct{}, by RequestReader, first Seen) *Listening {
	l := &Listening{Revoked: make(chan struct{}), Lost: make(chan struct{}), done: make(chan struct{})}
	l.hear(first)
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(l.done)
		l.run(ctx, sessionLost, by, first)
	}()
	return l
}

// run looks until the client has been asked, and after that as long as there is a watch.
func (l *Listening) run(ctx context.Context, sessionLost <-chan struct{}, by RequestReader, last Seen) {
	for !l.asked || last.Watch != nil {
		now, err := by.LookAgain(ctx, last)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil: // the lock may be lost
			l.hear(Seen{Asked: true})
			close(l.Lost)
			return
		}
		l.hear(now)
		last = now
	}
	select {
	case <-sessionLost:
		close(l.Lost)
	case <-ctx.Done():
	}
}

func (l *Listening) hear(now Seen) {
	if now.Asked && !l.asked {
		l.asked = true
		close(l.Revoked)
	}
}

// Stop ends the listening and returns when it has ended. It may be called more than once.
func (l *Listening) Stop() {
	l.cancel()
	<-l.done
}
