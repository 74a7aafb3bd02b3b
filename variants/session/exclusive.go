package session

import (
	"cmp"
	"context"
	"errors"
)

// Lock is something that clients hold one at a time, such as a lock or an office, in the hands of one client. It is not reentrant. A
// session may have several. The methods of one may be called concurrently and then run one after another.
type Lock interface {
	// Acquire waits until the client holds it. When ctx ends first, the client withdraws and the context's error comes back within
	// about a second even from a session that does not answer. The withdrawal then continues in the background, and a later Acquire
	// waits for it. ErrSessionLost means that the session was lost while the client waited.
	Acquire(ctx context.Context) (Grant, error)
	// Release gives it up, also when ctx has ended before, as in a shutdown, if the session then answers within about a second. It costs
	// one write, and nothing if the client does not hold it. ErrSessionLost means that it had already
	// been lost, and that there may have been another holder since. After any other error it is not known whether it is still held:
	// act as if it were not, and call Release again.
	Release(ctx context.Context) error
}

// Grant is the right to act as a holder, such as the only one of a lock.
type Grant struct {
	// Token is the fencing token, such as the epoch of a leader. It grows with every grant of one lock. Send it along with every
	// write that the lock protects, so that the writes of a former holder can be refused.
	Token int64
	// Lost is closed when the session is lost or must be assumed to be, or when the lock has been taken away by force. The holder
	// must then stop.
	Lost <-chan struct{}
	// Revoked is closed when another client has asked for the lock, or when it is lost. The holder must then come to an end within
	// the time that all clients have agreed upon, and release. It is nil if no client can ask.
	Revoked <-chan struct{}
}

// ErrHeld is returned by Acquire to a client that holds the lock or the office already.
var ErrHeld = errors.New("this client holds it already")

// Exclusive is a [Lock] that is made of a variant's two steps.
type Exclusive struct {
	session *Session
	take    func(context.Context) (Grant, error)
	give    func(context.Context) error
	held    bool // belongs to the operation that runs
	given   bool // give may have taken effect although it failed; likewise
}

// NewExclusive returns an Exclusive that is not held. Its operations do not wait for those of other objects on the session. take
// waits for it and withdraws when it fails; its grant is lost with the session unless it says otherwise. It may be nil if only
// AcquireBy is used. give gives it up and is called only while it is held.
func NewExclusive(session *Session, take func(context.Context) (Grant, error), give func(context.Context) error) *Exclusive {
	return &Exclusive{session: session.Fork(), take: take, give: give}
}

// Acquire implements [Lock].
func (e *Exclusive) Acquire(ctx context.Context) (Grant, error) { return e.AcquireBy(ctx, e.take) }

// AcquireBy is Acquire with another first step, for a lock with several modes.
func (e *Exclusive) AcquireBy(ctx context.Context, take func(context.Context) (Grant, error)) (Grant, error) {
	return Run(ctx, e.session, func(ctx context.Context) (Grant, error) { return e.acquire(ctx, take) },
		func(ctx context.Context, _ Grant) error { return e.release(ctx, e.give) })
}

// Release implements [Lock].
func (e *Exclusive) Release(ctx context.Context) error { return e.ReleaseBy(ctx, e.give) }

// ReleaseBy is Release with another last step.
func (e *Exclusive) ReleaseBy(ctx context.Context, give func(context.Context) error) error {
	return e.Do(ctx, func(ctx context.Context) error { return e.release(ctx, give) })
}

// Do runs op when all earlier operations have ended.
func (e *Exclusive) Do(ctx context.Context, op func(context.Context) error) error {
	return e.session.Do(ctx, op, nil)
}

// acquire does not grant anything to a lost session: the client library opens a new one, in which the variant may have
// created its znode.
func (e *Exclusive) acquire(ctx context.Context, take func(context.Context) (Grant, error)) (Grant, error) {
	if e.held {
		return Grant{}, ErrHeld
	}
	if err := ctx.Err(); err != nil {
		return Grant{}, err
	}
	grant, err := take(ctx)
	if err != nil {
		return Grant{}, err
	}
	e.held, grant.Lost = true, cmp.Or(grant.Lost, e.session.Lost())
	if err := e.session.Alive(); err != nil {
		return Grant{}, errors.Join(err, e.release(ctx, e.give))
	}
	return grant, nil
}

func (e *Exclusive) release(ctx context.Context, give func(context.Context) error) error {
	if !e.held {
		return nil
	}
	err := give(ctx)
	if errors.Is(err, ErrSessionLost) && e.given { // an earlier give may be the reason for which this one has found nothing
		err = e.session.Alive()
	}
	e.held = err != nil && !errors.Is(err, ErrSessionLost)
	e.given = e.held && ctx.Err() != nil
	return err
}
