package election

import (
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// PredecessorWatch is the election in which each candidate watches only the znode just before its own.
//
//  1. Create <dir>/<guid>-n_, ephemeral and sequential. If the reply is lost, look for the GUID.
//  2. List <dir>, without a watch. If its own znode is the smallest, the client leads.
//  3. Read, with a watch, the znode with the largest number below the client's own. If it is gone, go to 2.
//  4. Wait for the watch, then go to 2: the predecessor may have been a candidate that withdrew, not the leader.
//  5. To resign, or to withdraw, delete the client's own znode.
//
// The pseudo code of the recipes page for ZooKeeper 3.4 says in step 3, twice, the smallest number below the client's own.
// That is the leader's znode, and so the herd that the paragraph above it sets out to avoid by watching "the next znode down
// on the sequence" (see LeaderWatch). It means the largest, as later editions say.
//
// Cost of one term: 3 requests alone (create, getChildren, delete), 5 after a wait (and getData and getChildren), 2 of
// them writes. One resignation notifies one candidate, which lists once. So in lockstep, where N clients campaign and
// lead one after another, and all but the first wait:
//
//	notifications  N-1
//	requests       3N, and a getData and a listing for each wait  =  5N-2
//	herd           1
//
// Each listing is O(N) bytes all the same. Candidates lead in the order of their creates. The epoch is the sequence number,
// which grows as long as <dir> lives, for 2^31 creates.
//
// Bound: in a failover (phase failover-clean), the resignation must be written and one candidate must be notified: 1 quorum write
// and 1 notification. This variant has 1 and 1, and 1 read in between: the candidate lists, as the one before it may have
// withdrawn.
//
// Source: as written, but watching the largest number below its own, where the pseudo code says the smallest: ZooKeeper recipes
// page, Leader Election, as its text and later editions have it.
type PredecessorWatch struct{ *session.Exclusive }

// NewPredecessorWatch returns the part of one client in the elections below an existing znode dir.
func NewPredecessorWatch(s *session.Session, dir string) PredecessorWatch {
	line := tickets.New(s, dir, marker)
	return PredecessorWatch{tickets.NewExclusive(s, line, line.AwaitTurn)}
}

func predecessorWatchVariant() variants.Variant {
	return variants.Variant{
		Name:     "predecessor-watch",
		Kind:     variants.Optimized,
		Summary:  "sequential znodes, each candidate watches the one just before its own",
		BadAt:    "announcing the leader: a candidate far back in the line is not notified of a failover",
		Lockstep: tickets.LockstepCost("(5N-2)/N", "2"),
		Free:     tickets.FreeCost("5 (3 for N=1)", "2"),
		Join:     exclusion.Join(NewPredecessorWatch),
	}
}
