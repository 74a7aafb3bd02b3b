package lock

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// Relay is [ReleasedMark] for clients that come back: one that releases the lock asks for it again in the same transaction.
//
//  1. The first time, create <dir>/<guid>-lock-, ephemeral and sequential. If the reply is lost, look for the GUID.
//  2. List, read, and wait as in steps 2 to 4 of released-mark. If the next lower znode is the client's own of last time, do not read it.
//  3. To pass the lock on, delete its own znode of last time, write "released" to the present one, which must not have been written
//     before, and create the next one, in one multi. If the reply is lost, look for the GUID: all three have happened if it is there,
//     and none if it is not. The next acquire begins with 2.
//  4. A client that does not come back releases without the create. To withdraw, or to leave, it deletes its znode.
//
// Why a mark is enough is said at released-mark. Turns go round. The fencing token is the sequence number.
//
// A client that passes the lock on and does not come back stops the line: when its turn comes, all behind it wait until it
// acquires and releases, leaves, or its session ends. One that comes back late delays them. So this lock is not for clients in general.
//
// Cost of one acquire and release: 2 requests alone (getChildren, multi), 3 after a wait (and getData), 1 of them a write. In lockstep
// all but the first of N clients wait: 3N-1 requests. The create of the first time is not in these numbers. A client's next lower znode
// stays until the client has had its turn, unless other clients leave or die. One multi notifies up to two clients: the next holder,
// and one that has read the mark of the deleted znode. Each client sets one watch per operation.
//
// Bound: between two holders lies at least one quorum write, and an operation writes nothing else here.
//
// Source: ours: released-mark with a release and the next request in one transaction.
type Relay struct {
	*session.Exclusive
	line tickets.Marking
	mine tickets.Ticket // of the present or last turn
}

// NewRelay returns the lock of one client below an existing znode dir.
func NewRelay(s *session.Session, dir string) *Relay {
	l := &Relay{line: tickets.Marking{Line: tickets.New(s, dir, marker)}}
	l.Exclusive = tickets.NewExclusive(s, &l.line, func(ctx context.Context, mine tickets.Ticket) error {
		l.mine = mine
		return l.line.AwaitTurn(ctx, mine)
	})
	return l
}

// Pass is Release and Stand in one. After an error other than session.ErrSessionLost, call Pass again and not Release.
func (l *Relay) Pass(ctx context.Context) error {
	return l.ReleaseBy(ctx, func(ctx context.Context) error { return l.line.Pass(ctx, l.mine) })
}

// Stand stands in line for the next Acquire, which must follow soon.
func (l *Relay) Stand(ctx context.Context) error { return l.Do(ctx, l.line.Stand) }

// Leave gives up the place in line of a client that does not come back after all.
func (l *Relay) Leave(ctx context.Context) error { return l.Do(ctx, l.line.Unstand) }

// returning passes the lock on if another step follows. It implements [variants.Standing].
type returning struct {
	*exclusion.Worker
	lock  *Relay
	again bool
}

func newReturning(l *Relay, env variants.Env) variants.Participant {
	r := &returning{lock: l}
	r.Worker = exclusion.NewWorker(env, func(int) exclusion.Operation {
		return exclusion.Operation{Acquire: l.Acquire, Release: r.release}
	})
	return r
}

func (r *returning) release(ctx context.Context) error {
	if r.again {
		return r.lock.Pass(ctx)
	}
	return r.lock.Release(ctx)
}

func (r *returning) Stand(ctx context.Context) error { return r.lock.Stand(ctx) }
func (r *returning) Returns(again bool)              { r.again = again }

// Leave implements [variants.Participant].
func (r *returning) Leave(ctx context.Context) error {
	return errors.Join(r.lock.Release(ctx), r.lock.Leave(ctx))
}

func relayVariant() variants.Variant {
	return variants.Variant{
		Name:     "relay",
		Kind:     variants.Optimized,
		Summary:  "as released-mark, but a release is the next request, too: one write per operation, for clients that come back at once",
		BadAt:    "clients that are busy between two operations: when the turn of one comes meanwhile, all behind it wait for it",
		Lockstep: tickets.LockstepCost("(3N-1)/N", "1"),
		Free: variants.Cost{Requests: "3 (2 for N=1)", Writes: "1", FailedWrites: "0", Notifications: "1 (0 for N=1)",
			HerdMax: "2 (0 for N=1)"},
		Join: variants.JoinThreads(variants.JoinNew(NewRelay, newReturning)),
	}
}
