package revocable

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
)

// The events that a participant records in addition to those of package holding.
const (
	agreed       = exclusion.Further + iota // value: the grace, after which no client may use force
	agreedForced                            // value: the grace, after which a client may use force
	ousted                                  // a release found that the lock had been taken away by force; value: the token
)

const phaseRevoke = "revoke"

func phases() []variants.Phase {
	phases := append([]variants.Phase{{
		Name: phaseRevoke, UntimedInLockstep: true,
		Meaning: "from when another client wants the lock, or its holder has it if that is later, " +
			"until the holder has come to an end because it was asked",
	}}, exclusion.Phases()...)
	hold := &phases[len(phases)-1]
	hold.Meaning, hold.Waits = "how long holders hold, as the scenario makes them or until they are asked", true
	return phases
}

// NewParticipant makes a participant of a lock. It holds until it is asked to give up or has held for long enough.
func NewParticipant(l Lock, terms Terms, env variants.Env) variants.Participant {
	kind := agreed
	if terms.Forced {
		kind = agreedForced
	}
	env.Record(kind, int64(terms.Grace))
	var grant Grant
	acquire := func(ctx context.Context) (_ exclusion.Grant, err error) {
		grant, err = l.Acquire(ctx)
		return exclusion.Grant{Value: grant.Token, Asked: grant.Revoked, Lost: env.Session.Lost()}, err // not when it is forced out
	}
	release := func(ctx context.Context) error {
		err := l.Release(ctx)
		if errors.Is(err, ErrForced) { // the holder was too slow, which is not an error
			env.Record(ousted, grant.Token)
			return nil
		}
		return err
	}
	return exclusion.NewWorker(env, func(int) exclusion.Operation { return exclusion.Operation{Acquire: acquire, Release: release} })
}

func join(terms Terms, open func(context.Context, variants.Env) (Lock, error)) variants.JoinFunc {
	return variants.JoinBy(open, func(l Lock, env variants.Env) variants.Participant { return NewParticipant(l, terms, env) })
}
