package revocable

import "context"

// listening is the background work of a holder until it releases: it looks at its own znode again and again.
type listening struct {
	revoked, lost chan struct{} // as in a Grant
	asked         bool          // revoked is closed
	cancel        context.CancelFunc
	done          chan struct{}
}

// listen begins after a first look. It continues after ctx has ended.
func listen(ctx context.Context, sessionLost <-chan struct{}, first seen, lookAgain func(context.Context, seen) (seen, error)) *listening {
	l := &listening{revoked: make(chan struct{}), lost: make(chan struct{}), done: make(chan struct{})}
	l.hear(first)
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(l.done)
		l.run(ctx, sessionLost, first, lookAgain)
	}()
	return l
}

// run looks until the holder has been asked, and after that as long as there is a watch.
func (l *listening) run(ctx context.Context, sessionLost <-chan struct{}, last seen, lookAgain func(context.Context, seen) (seen, error)) {
	for !l.asked || last.watch != nil {
		now, err := lookAgain(ctx, last)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil: // the lock may be lost
			l.hear(seen{asked: true})
			close(l.lost)
			return
		}
		l.hear(now)
		last = now
	}
	select {
	case <-sessionLost:
		close(l.lost)
	case <-ctx.Done():
	}
}

func (l *listening) hear(now seen) {
	if now.asked && !l.asked {
		l.asked = true
		close(l.revoked)
	}
}

// stop ends the listening and returns when it has ended. It may be called more than once.
func (l *listening) stop() {
	l.cancel()
	<-l.done
}
