package revocation

import (
	"context"

	"github.com/zkbench/zkbench/variants/session"
)

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

// Listen looks at a client's own znode until [Listening.Stop], even after ctx has ended, and for the first time before it returns.
// look is nil if the client knows that it has been asked.
func Listen(ctx context.Context, s *session.Session, path string, look Look) (*Listening, error) {
	own, first := Znode{s.Background(), path}, Seen{Asked: true}
	if look != nil {
		var err error
		if first, err = look(own, ctx, false); err != nil {
			return nil, err
		}
	}
	l := &Listening{Revoked: make(chan struct{}), Lost: make(chan struct{}), done: make(chan struct{})}
	l.hear(first)
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(l.done)
		l.run(ctx, own, look, first)
	}()
	return l, nil
}

// run looks until the client has been asked, and after that as long as there is a watch.
func (l *Listening) run(ctx context.Context, own Znode, look Look, last Seen) {
	for !l.asked || last.Watch != nil {
		var err error
		if last.Watch != nil {
			err = own.Session.Await(ctx, last.Watch)
		}
		if err == nil {
			last, err = look(own, ctx, true)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil: // the lock may be lost
			l.hear(Seen{Asked: true})
			close(l.Lost)
			return
		}
		l.hear(last)
	}
	select {
	case <-own.Session.Lost():
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

// Stop ends the listening and returns when it has ended. It may be called more than once, and on nil.
func (l *Listening) Stop() {
	if l == nil {
		return
	}
	l.cancel()
	<-l.done
}
