package election

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// LeaderWatch is the election in which all candidates watch the leader.
//
//  1. Create <dir>/<guid>-n_, ephemeral and sequential. If the reply is lost, look for the GUID.
//  2. List <dir>, without a watch. If its own znode is the smallest, the client leads.
//  3. Read the smallest znode, which is the leader's, with a watch. If it is gone, go to 2.
//  4. Wait for the watch, then go to 2, together with every other candidate.
//  5. To resign, or to withdraw, delete the client's own znode.
//
// There is no race, because the line decides which candidate is next. But all candidates are woken, and all but one learn
// that another one leads.
//
// Cost in lockstep, where N clients campaign and lead one after another. A resignation with m candidates left notifies
// all m. Each lists m children, and all but the new leader read its znode to watch it. So each notification follows a read and
// leads to a listing:
//
//	notifications  Σ m for m = N-1 … 0  =  N(N-1)/2
//	requests       N creates, N listings, N deletes, and a read and a listing for each notification  =  3N + N(N-1)
//	writes         N creates, N deletes  =  2N
//	herd           N-1 notifications from the first resignation
//
// Running free, a term costs a create, a listing and a delete, and up to N-1 times a read and a listing, one for each
// leader before it. The epoch is the sequence number, which grows as long as <dir> lives, for 2^31 creates.
//
// Source: as written: ZooKeeper recipes page, Leader Election, which calls it the trivial solution and warns of its herd. Its
// pseudo code, to the letter, is this, too.
type LeaderWatch struct{ *session.Exclusive }

// NewLeaderWatch returns the part of one client in the elections below an existing znode dir.
func NewLeaderWatch(s *session.Session, dir string) LeaderWatch {
	line := tickets.New(s, dir, marker)
	return LeaderWatch{tickets.NewExclusive(s, line, func(ctx context.Context, mine tickets.Ticket) error {
		return line.AwaitEach(ctx, func(children []string) (leader tickets.Ticket, waiting bool, err error) {
			if _, waiting, err := line.Predecessor(mine, children); err != nil || !waiting {
				return tickets.Ticket{}, false, err
			}
			return tickets.Sorted(children, marker)[0], true, nil
		})
	})}
}

func leaderWatchVariant() variants.Variant {
	return variants.Variant{
		Name:     "leader-watch",
		Kind:     variants.Naive,
		Summary:  "sequential znodes, every candidate watches the leader's",
		BadAt:    "many candidates: every failover wakes all of them, each to list all of them",
		Lockstep: variants.Cost{Requests: "N+2", Writes: "2", FailedWrites: "0", Notifications: "(N-1)/2", HerdMax: "N-1"},
		Free:     variants.Cost{Requests: "2N+1", Writes: "2", FailedWrites: "0", Notifications: "N-1", HerdMax: "N-1"},
		Join:     exclusion.Join(NewLeaderWatch),
	}
}
