package rwlock

import (
	"slices"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/revocation"
	"github.com/zkbench/zkbench/variants/session"
)

// What a participant of a lock that can be revoked records in addition, before its first step.
const (
	agreed       = waited + 1 + iota // value: the grace; every client that waits may ask
	agreedUrgent                     // value: the grace; only urgent clients may ask, and only others
)

// The phases that other read/write locks do not have, besides [revocation.PhaseRevoke].
const (
	phaseUrgent    = "urgent"
	phaseInversion = "inversion"
)

func revocablePhases() []variants.Phase {
	return slices.Insert(revocation.Phases("a client that may ask", phases()), 1,
		variants.Phase{Name: phaseUrgent, UntimedInLockstep: true, Meaning: "the acquire of a client that is urgent"},
		variants.Phase{Name: phaseInversion, UntimedInLockstep: true, Of: exclusion.PhaseHold,
			Meaning: "from when an urgent client must wait for a holder that is not, until that one begins to release"})
}

// In each step one participant is urgent, in turn, the last one first.
func isUrgentStep(env variants.Env, step int) bool {
	return (env.Index+step)%env.Clients == env.Clients-1
}

// isUrgentRequest reports whether a request is urgent. Its value has 1 in place of a token then, and otherwise 0.
func isUrgentRequest(value int64) bool {
	_, urgent := unstamp(value)
	return urgent == 1
}

// NewParticipant makes a participant of a lock that can be revoked, which records first what all have agreed upon. It holds until it is
// asked to give up or has held for long enough.
func NewParticipant(l RevocableLock, terms variants.EventKind, env variants.Env) variants.Participant {
	env.Record(terms, int64(revocation.Grace))
	return exclusion.NewWorker(env, func(step int) exclusion.Operation {
		mode, acquire, urgent := role(env, step), l.Acquire, int64(0)
		if isUrgentStep(env, step) {
			acquire, urgent = l.AcquireUrgently, 1
		}
		return operation(env, mode, stamp(mode, urgent), acquire, l.Release)
	})
}

func joinRevocable[L RevocableLock](terms variants.EventKind, open func(*session.Session, string) L) variants.JoinFunc {
	return variants.JoinNew(open, func(l L, env variants.Env) variants.Participant { return NewParticipant(l, terms, env) })
}
