package session

import (
	"context"
	"errors"
)

// Exclusive is one client's handle on a thing that it can hold, such as a lock or a leadership, made of a variant's two steps.
// G is the type of a grant. Its methods may be called concurrently and then run one after another.
type Exclusive[G any] struct {
	session *Session
	already error
	take    func(context.Context) (G, error)
	give    func(context.Context) error
	held    bool // belongs to the operation that runs
	given   bool // give may have taken effect although it failed; likewise
}

// NewExclusive returns an Exclusive that is not held. Its operations do not wait for those of other objects on the session. take
// waits for it and withdraws when it fails; it may be nil if only AcquireBy is used. give gives it up and is called only while it is
// held. already is the error of an Acquire by a client that holds it.
func NewExclusive[G any](
	session *Session, already error, take func(context.Context) (G, error), give func(context.Context) error,
) *Exclusive[G] {
	return &Exclusive[G]{session: session.Fork(), already: already, take: take, give: give}
}

// Acquire waits until the client holds it. When ctx ends first, the context's error comes back within about a second even
// from a session that does not answer; the withdrawal then continues in the background, and later calls wait for it.
func (e *Exclusive[G]) Acquire(ctx context.Context) (G, error) { return e.AcquireBy(ctx, e.take) }

// AcquireBy is Acquire with another first step, for a lock with several modes.
func (e *Exclusive[G]) AcquireBy(ctx context.Context, take func(context.Context) (G, error)) (G, error) {
	return Run(ctx, e.session, func(ctx context.Context) (G, error) { return e.acquire(ctx, take) }, func(G) {
		ctx, cancel := Cleanup(ctx)
		defer cancel()
		_ = e.release(ctx) // the caller has left; if this fails too, the znode ends with the session
	})
}

// Release gives up the hold, if there is one. After any error except ErrSessionLost, it is not known whether the client still
// holds: it must act as if it did not, and release again.
func (e *Exclusive[G]) Release(ctx context.Context) error { return e.session.Do(ctx, e.release, nil) }

// acquire does not grant anything to a lost session: the client library opens a new one, in which the variant may have
// created its znode.
func (e *Exclusive[G]) acquire(ctx context.Context, take func(context.Context) (G, error)) (G, error) {
	var none G
	if e.held {
		return none, e.already
	}
	grant, err := take(ctx)
	if err != nil {
		return none, err
	}
	e.held = true
	if err := e.session.Alive(); err != nil {
		return none, errors.Join(err, e.release(ctx))
	}
	return grant, nil
}

func (e *Exclusive[G]) release(ctx context.Context) error {
	if !e.held {
		return nil
	}
	err := e.give(ctx)
	if errors.Is(err, ErrSessionLost) && e.given { // an earlier give may be the reason for which this one has found nothing
		err = e.session.Alive()
	}
	e.held = err != nil && !errors.Is(err, ErrSessionLost)
	e.given = e.held && ctx.Err() != nil
	return err
}
