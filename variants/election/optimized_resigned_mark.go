package election

import (
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// ResignedMark is the election whose leader resigns by writing to its own znode, so that its successor leads as soon as it is
// notified.
//
//  1. Create <dir>/<guid>-n_, ephemeral and sequential, and delete the znode of the client's last term in the same multi. If
//     the reply is lost, look for the GUID: both have happened if it is there, and neither if it is not.
//  2. List <dir>, without a watch. If its own znode is the smallest, the client leads.
//  3. Read, with a watch, the znode with the largest number below the client's own. If it is marked, the client leads. If
//     it is gone, go to 2.
//  4. Wait for the watch. If the znode's data has changed, the client leads. Otherwise go to 2: the znode is gone, because its
//     client has withdrawn or its session has ended.
//  5. To resign, mark the client's own znode, and leave it there. To withdraw, delete it.
//
// A mark is proof of a resignation for the same reason as in the lock released-mark: only the leader marks, and each znode before
// its own was marked or gone when it came to lead. A leader that dies or is cut off marks nothing. Its znode goes with its
// session, and the successor lists, as in predecessor-watch: this variant makes only resignations faster.
//
// Cost of one term: 3 requests alone (multi, getChildren, setData), 4 after a wait (and getData), 2 of them writes. A candidate
// that lists before a marked znode is deleted and reads after needs 2 more. So in lockstep, where N clients campaign and lead
// one after another, and all but the first wait:
//
//	notifications  N-1
//	requests       3N, and a getData for each wait  =  4N-1
//	herd           1
//
// Running free, several candidates may have read one marked znode in turn, because what stood between it and them was gone when they
// came. All of them are notified when it is deleted: rarely more than one, and N-1 at most.
//
// Bound: a clean failover needs one quorum write and one notification after it. This variant's has nothing else;
// predecessor-watch has a getChildren after them.
//
// Source: ours: predecessor-watch (ZooKeeper recipes page, Leader Election) with a resignation that is a write.
type ResignedMark struct{ *session.Exclusive }

// NewResignedMark returns the part of one client in the elections below an existing znode dir.
func NewResignedMark(s *session.Session, dir string) ResignedMark {
	line := tickets.Marking{Line: tickets.New(s, dir, marker)}
	return ResignedMark{tickets.NewExclusive(s, &line, line.AwaitTurn)}
}

func resignedMarkVariant() variants.Variant {
	return variants.Variant{
		Name:     "resigned-mark",
		Kind:     variants.Optimized,
		Summary:  "as predecessor-watch, but a leader resigns by writing to its znode, so that its successor need not list",
		BadAt:    "leaders that never stand again: each leaves one marked znode until its session ends",
		Lockstep: tickets.LockstepCost("(4N-1)/N", "2"),
		Free:     variants.Cost{Requests: "6 (3 for N=1)", Writes: "2", FailedWrites: "0", Notifications: "1 (0 for N=1)", HerdMax: "N-1"},
		Join:     exclusion.Join(NewResignedMark),
	}
}
