package variants

import (
	"context"
	"errors"
)

// Exclusive makes something that one client holds or does not, such as a lock or a leadership, of a variant's two
// steps, which cannot be interrupted while the server is silent. G is what holding it grants. Its methods may be called
// concurrently and then run one after another.
type Exclusive[G any] struct {
	lane    Lane
	lost    <-chan struct{}
	already error
	take    func(context.Context) (G, error)
	give    func(context.Context) error
	held    bool // belongs to the lane's owner
}

// NewExclusive returns one that is not held. take waits for it and withdraws when it fails; give gives it up, and is
// called only while it is held. already is the error for whoever holds it and wants it again.
func NewExclusive[G any](lost <-chan struct{}, already error, take func(context.Context) (G, error), give func(context.Context) error) *Exclusive[G] {
	return &Exclusive[G]{lane: NewLane(), lost: lost, already: already, take: take, give: give}
}

// Acquire waits until the client holds it. When ctx ends first, the context's error comes back within about a second
// even from a session that does not answer; the withdrawal then goes on behind the caller's back.
func (e *Exclusive[G]) Acquire(ctx context.Context) (G, error) {
	return Run(ctx, e.lane, e.acquire, func(G) {
		ctx, cancel := Cleanup(ctx)
		defer cancel()
		_ = e.release(ctx) // the caller has left; if this fails too, the znode ends with the session
	})
}

// Release gives it up; it does nothing if it is not held. After any error but ErrSessionLost it is held still.
func (e *Exclusive[G]) Release(ctx context.Context) error {
	return Do(ctx, e.lane, e.release, nil)
}

// acquire grants nothing to a lost session: the client library goes on with a new one, under which a variant may have
// created its znode.
func (e *Exclusive[G]) acquire(ctx context.Context) (G, error) {
	var none G
	if e.held {
		return none, e.already
	}
	grant, err := e.take(ctx)
	if err != nil {
		return none, err
	}
	e.held = true
	if err := Alive(e.lost); err != nil {
		return none, errors.Join(err, e.release(ctx))
	}
	return grant, nil
}

func (e *Exclusive[G]) release(ctx context.Context) error {
	if !e.held {
		return nil
	}
	err := e.give(ctx)
	if err == nil || errors.Is(err, ErrSessionLost) {
		e.held = false
	}
	return err
}
