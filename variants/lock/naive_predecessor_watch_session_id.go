package lock

import (
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// PredecessorWatchSessionID is the lock that recovers from lost replies by the session id in its znode's name. It is
// PredecessorWatch in everything else.
//
//  1. List <dir>. If a znode of this session is there, an earlier attempt has left it: take it as the client's own, go to 3.
//  2. Create <dir>/<session id>-lock-, ephemeral and sequential. If the reply is lost, sync, then go to 1.
//  3. List <dir>, without a watch. If its own znode has the lowest number, the client holds the lock.
//  4. Read the next lower znode with a watch. If it is gone, go to 3.
//  5. Wait for the watch, then go to 3: the predecessor may have withdrawn rather than released.
//  6. To release, or to withdraw, delete the client's own znode.
//
// The name is the same at each attempt, so it must be looked for before every create, whether or not a reply was lost. A
// GUID is new for each attempt, and has to be looked for after a lost reply only.
//
// Cost of one acquire and release: 4 requests alone (getChildren, create, getChildren, delete), 6 after a wait (and
// getData and getChildren), 2 of them writes. That is one listing of O(N) bytes more than with a GUID. In lockstep all but
// the first of N clients wait: 6N-2 requests.
//
// Two locks of one session in one <dir> take each other's znode for their own, and both are granted: each needs a session
// of its own. Their fencing token is the same. `zkbench run lock-threads` shows it.
//
// Source: as written, but it reads the predecessor with getData instead of exists, looks before every create, and syncs before it
// looks after a lost reply: Leberknight part 5. A remark there on two threads of one session prefers a GUID. WriteLock, to which
// the article refers, looks before every create, too. It waits for ever if its predecessor goes just before it is watched,
// which is not repeated here; see WriteLock in this package.
type PredecessorWatchSessionID struct{ *session.Exclusive }

// NewPredecessorWatchSessionID returns the lock of one session below an existing znode dir. The session must not have
// another lock there.
func NewPredecessorWatchSessionID(s *session.Session, dir string) PredecessorWatchSessionID {
	line := tickets.New(s, dir, marker)
	line.Mark = tickets.SessionID
	return PredecessorWatchSessionID{tickets.NewExclusive(s, line, line.AwaitTurn)}
}

func predecessorWatchSessionIDVariant() variants.Variant {
	v := predecessorWatchVariant()
	v.Name = "predecessor-watch-session-id"
	v.Kind = variants.Naive
	v.Summary = "as predecessor-watch, but looks for its session id in the names before every create"
	v.BadAt = "two locks on one session, which take each other's znode for their own and are both granted; and every acquire lists once more"
	v.Lockstep.Requests, v.Free.Requests = "(6N-2)/N", "6 (4 for N=1)"
	v.Join = join(NewPredecessorWatchSessionID)
	return v
}
