package simulation_test

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/lock"
)

// NonEphemeralLock returns a lock whose znodes are persistent: the claim of a client that dies or loses its session stays, and no
// other client gets the lock any more.
func NonEphemeralLock() variants.Variant {
	return broken("non-ephemeral", "predecessor-watch with persistent znodes", onConn(func(c variants.Conn) variants.Conn { return persistent{c} }))
}

// DeafSuccessorLock returns a lock whose waiters are notified by the holder that releases, not by the end of its znode: a client
// whose predecessor dies or loses its session waits for ever.
func DeafSuccessorLock() variants.Variant {
	return broken("deaf-successor", "predecessor-watch with waiters that ignore deletions", onConn(func(c variants.Conn) variants.Conn { return announced{c} }))
}

// UndyingHolderLock returns a lock whose holder makes a request at the end, ignores that its session turns out to be lost, and holds
// on until other clients have been granted the lock twice.
func UndyingHolderLock() variants.Variant {
	grants := newTally()
	return broken("undying-holder", "predecessor-watch with holders that ignore the loss of their session", func(env variants.Env) (variants.Participant, error) {
		hold := env.Hold
		env.Hold = func(ctx context.Context, asked <-chan struct{}) error {
			if err := hold(ctx, asked); err != nil {
				return err
			}
			_, _, _ = env.Session.Exists(ctx, env.Root)
			if env.Session.Alive() == nil {
				return nil
			}
			return grants.await(ctx, 2)
		}
		return lock.NewParticipant(undying{lock.NewPredecessorWatch(env.Session, env.Root), grants}, env), nil
	})
}

// StaleTokenLock returns a lock whose holders count the fencing token when they release: after a holder that did not come to that,
// the next one is granted the same token.
func StaleTokenLock() variants.Variant {
	return broken("stale-token", "predecessor-watch with fencing tokens that holders count as they release", func(env variants.Env) (variants.Participant, error) {
		return lock.NewParticipant(newStale(env), env), nil
	})
}

// broken returns a variant of the lock recipe that is not in the catalog.
func broken(name, summary string, open func(variants.Env) (variants.Participant, error)) variants.Variant {
	v := named(lock.Recipe(), "predecessor-watch")
	v.Name, v.Kind, v.Summary = name, variants.Naive, summary
	v.Join = func(_ context.Context, env variants.Env) (variants.Participant, error) { return open(env) }
	return v
}

// onConn makes participants whose lock works on a connection with a mistake.
func onConn(mistake func(variants.Conn) variants.Conn) func(variants.Env) (variants.Participant, error) {
	return func(env variants.Env) (variants.Participant, error) {
		session := env.Session.Through(mistake(env.Session.Conn()))
		return lock.NewParticipant(lock.NewPredecessorWatch(session, env.Root), env), nil
	}
}
