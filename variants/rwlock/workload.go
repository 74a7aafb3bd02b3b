package rwlock

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
)

// waited is recorded, in addition to the events of package exclusion, before a participant records that it acquired the
// lock: it had to wait for a notification.
const waited = exclusion.Further

// stamp packs a mode and a fencing token, which may be negative, into an event's value. unstamp unpacks them.
func stamp(mode Mode, token int64) int64 { return token<<1 | int64(mode) }

func unstamp(value int64) (mode Mode, token int64) { return Mode(value & 1), value >> 1 }

func phases() []variants.Phase {
	phases := exclusion.Phases()
	phases[0].Meaning = "from just before the release is sent that leaves the lock free for those who wait, until each of them has it"
	return phases
}

// role returns the mode in which a participant takes the lock. In the first step the first third of the participants
// reads, the second writes and the last reads. With every step each participant moves on by one place, so that in the long
// run each reads twice as often as it writes. One or two participants go through the roles of three.
//
// In a lockstep run they line up in this order: readers that hold, writers that wait for them, and readers that wait for
// all these writers, which is where the variants differ most.
//
// Note: it is not every third participant that writes, because readers that are granted the lock at once go on in the order
// in which they came to hold. How often that wakes a writer behind them is a matter of chance, and no exact formula could
// give it. Here, the only readers with writers behind them are those that came one after another.
func role(env variants.Env, step int) Mode {
	n := max(env.Clients, 3)
	first, writers := (n+2)/3, (n+1)/3 // as evenly as possible
	position := (env.Index + step) % n
	if first <= position && position < first+writers {
		return Write
	}
	return Read
}

// withThirds defines, in a formula, how many clients read first (f), write (w), and read behind the writers (r).
const withThirds = " with f=⌈N/3⌉, w=⌊(N+1)/3⌋, r=⌊N/3⌋"

// cost returns the cost of a lock whose acquire and release are one write each.
func cost(requests, notifications, herd variants.Formula) variants.Cost {
	return variants.Cost{Requests: requests, Writes: "2", FailedWrites: "0", Notifications: notifications, HerdMax: herd}
}

func join[L Lock](open func(*session.Session, string) L) variants.JoinFunc {
	return variants.JoinNew(open, func(l L, env variants.Env) variants.Participant { return newWorker(env, l.Acquire, l.Release) })
}

// The modes of newWorker's participant follow its role.
func newWorker(env variants.Env, acquire acquiring, release func(context.Context) error) variants.Participant {
	return exclusion.NewWorker(env, func(step int) exclusion.Operation {
		mode := role(env, step)
		return operation(env, mode, stamp(mode, 0), acquire, release)
	})
}

type acquiring = func(context.Context, Mode) (session.Grant, error)

func operation(
	env variants.Env, mode Mode, wanted int64, acquire acquiring, release func(context.Context) error,
) exclusion.Operation {
	return exclusion.Operation{Wanted: wanted, Release: release, Acquire: func(ctx context.Context) (session.Grant, error) {
		_, before := env.Session.Waiting()
		grant, err := acquire(ctx, mode)
		grant.Token, grant.Lost = stamp(mode, grant.Token), env.Session.Lost()
		if _, after := env.Session.Waiting(); err == nil && after != before {
			env.Record(waited, grant.Token)
		}
		return grant, err
	}}
}
