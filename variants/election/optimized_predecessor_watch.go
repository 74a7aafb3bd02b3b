package election

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/line"
)

// PredecessorWatch is the election in which each candidate watches only the znode just before its own.
//
//  1. Create <dir>/<guid>-n_, ephemeral and sequential. If the reply is lost, look for the GUID.
//  2. List <dir>, without a watch. If the own znode is the smallest, the client leads.
//  3. Read, with a watch, the znode with the largest number that is smaller than the own. If it is gone, go to 2.
//  4. Wait for the watch, then go to 2: the predecessor may have been a candidate that gave up, not the leader.
//  5. To resign, or to withdraw, delete the own znode.
//
// The pseudo code of the recipes page for ZooKeeper 3.4 says in step 3, twice, the smallest number below the own. That
// is the leader's znode, and so the herd that the paragraph above it sets out to avoid by watching "the next znode down
// on the sequence" (see LeaderWatch). It means the largest, as later editions say.
//
// Cost of one term: 3 requests alone (create, getChildren, delete), 5 after a wait (and getData and getChildren), 2 of
// them writes. One resignation notifies one candidate, which lists once; so in a drain, where N clients campaign and
// lead one after another:
//
//	notifications  N-1
//	requests       N deletes + N-1 listings  =  2N-1
//	herd           1
//
// The listing is O(N) bytes all the same. Candidates lead in the order of their creates. The epoch is the sequence
// number, which grows as long as <dir> lives, for 2^31 creates.
//
// Source: ZooKeeper recipes page (Leader Election).
type PredecessorWatch struct{ sequential }

var _ Election = (*PredecessorWatch)(nil)

// NewPredecessorWatch returns the part of one client in the elections below an existing znode dir. lost is closed when
// the session is.
func NewPredecessorWatch(session variants.Session, dir string, lost <-chan struct{}) *PredecessorWatch {
	p := &PredecessorWatch{}
	p.init(session, dir, lost, func(ctx context.Context, mine line.Ticket) error { return p.AwaitFirst(ctx, mine) })
	return p
}

func predecessorWatchVariant() variants.Variant {
	return variants.Variant{
		Name:    "predecessor-watch",
		Type:    "PredecessorWatch",
		Kind:    variants.Optimized,
		Summary: "sequential znodes, each candidate watches the one just before its own",
		Source:  "ZooKeeper recipes page, Leader Election",
		BadAt:   "telling everybody who leads: whoever is far back in the line is not notified of a failover",
		Lockstep: variants.Cost{
			Requests:      "(2N-1)/N",
			Writes:        "1",
			FailedWrites:  "0",
			Notifications: "(N-1)/N",
			HerdMax:       "1 (0 for N=1)",
		},
		Free: variants.Cost{
			Requests:      "5 (3 for N=1)",
			Writes:        "2",
			FailedWrites:  "0",
			Notifications: "1 (0 for N=1)",
			HerdMax:       "1 (0 for N=1)",
		},
		Join: join(func(_ context.Context, s variants.Session, env variants.Env) (Election, error) {
			return NewPredecessorWatch(s, env.Root, env.Lost), nil
		}),
	}
}
