package lock

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// WriteLock is the lock that comes with ZooKeeper, in its recipes. It is known to be broken: a waiter whose predecessor goes at the
// wrong moment waits for ever, and so do all behind it.
//
//  1. Ask whether <dir> exists, and create it if not.
//  2. List <dir>. If a znode of this session is there, an earlier attempt has left it: take it as the client's own, go to 4.
//  3. Create <dir>/<session id>-lock-, ephemeral and sequential. If the reply is lost, sync, then go to 2.
//  4. List <dir>, without a watch. If its own znode has the lowest number, the client holds the lock.
//  5. Ask with exists whether the next lower znode is there, with a watch, and wait for the watch, even if it is gone.
//  6. When the watch has fired, do 1, then go to 4.
//  7. To release, or to withdraw, delete the client's own znode.
//
// The mistake is in step 5. If the predecessor has gone since the listing, exists leaves a watch that fires when that znode is created.
// This never happens, because the server gives each number once. The recipe says to list again in this case.
//
// Cost of one acquire and release: 5 requests alone (exists, getChildren, create, getChildren, delete), 8 after a wait (and exists
// with a watch, exists and getChildren), 2 of them writes. In lockstep, where N clients come and then release one after another,
// each predecessor is there when it is asked for, so that no client waits for ever:
//
//	notifications  one for each release but the last  =  N-1
//	requests       5 of each client, and 3 for each wait of all but the first  =  5N + 3(N-1)
//	herd           1 notification from one release      (0 for N = 1)
//
// Source: as written, but its callback when the lock is acquired is the end of a wait, and a client that finds its znode after a
// lost reply can become the holder: WriteLock.java in ZooKeeper's recipes, to which Leberknight part 5 refers. There, such a client
// keeps the name of its znode without the directory and compares it with a whole path, so that it never holds the lock. The
// mistake of step 5 is in that file to this day, and is known from its port to C# (shayhatsor/zookeeper issue 26).
type WriteLock struct {
	*session.Exclusive
	tickets.Line
}

// NewWriteLock returns the lock of one session below a znode dir. The session must not have another lock there.
func NewWriteLock(s *session.Session, dir string) *WriteLock {
	l := &WriteLock{Line: tickets.New(s, dir, marker)}
	l.Mark = tickets.SessionID
	l.Exclusive = tickets.NewExclusive(s, l, l.wait)
	return l
}

// Enter implements [tickets.Place]. It makes sure first that the directory exists.
func (l *WriteLock) Enter(ctx context.Context) (tickets.Ticket, error) {
	if err := l.ensureDir(ctx); err != nil {
		return tickets.Ticket{}, err
	}
	return l.Line.Enter(ctx)
}

func (l *WriteLock) ensureDir(ctx context.Context) error {
	exists, _, err := l.Session.Exists(ctx, l.Dir)
	if exists || err != nil {
		return session.Attempted("look for "+l.Dir, err)
	}
	return l.Session.Ensure(ctx, l.Dir, nil, zk.FlagPersistent)
}

// wait returns when the client's znode is the lowest, unless a predecessor goes just before it is watched.
func (l *WriteLock) wait(ctx context.Context, mine tickets.Ticket) error {
	return l.AwaitEachBy(ctx, l.Before(mine), func(ctx context.Context, predecessor tickets.Ticket) (over bool, err error) {
		// Note: that it ignores whether the predecessor exists is the mistake that this variant is here for.
		_, _, watch, err := l.Session.ExistsW(ctx, l.Path(predecessor))
		if err != nil {
			return false, err
		}
		if err := l.Session.Await(ctx, watch); err != nil {
			return false, err
		}
		return false, l.ensureDir(ctx)
	})
}

func writeLockVariant() variants.Variant {
	return variants.Variant{
		Name:     "writelock",
		Kind:     variants.Naive,
		Summary:  "the lock of ZooKeeper's recipes: session ids in the names, and exists on the znode just below its own",
		BadAt:    "any contention: a waiter whose predecessor goes just before it is watched waits for ever, and all behind it do",
		Broken:   "no client holds the lock and some wait for ever, because one watches a znode that went just before",
		Lockstep: tickets.LockstepCost("(8N-3)/N", "2"),
		Free:     tickets.FreeCost("8 (5 for N=1)", "2"),
		Join:     join(NewWriteLock),
	}
}
