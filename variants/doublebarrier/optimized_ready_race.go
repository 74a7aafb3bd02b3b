package doublebarrier

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// ReadyRace is the double barrier of the recipes page, in which each client that counts enough znodes creates ready.
//
//  1. To enter, do steps 1 and 2 of [ReadyNode].
//  2. List the directory. If it has at least N znodes of clients, create ready: all have entered, even if another client has created it
//     before.
//  3. Otherwise wait for the watch.
//  4. To leave, do steps 5 to 9 of [ReadyNode].
//
// All clients that list the directory after the last znode was created race to create ready. All but one of them fail, each with a write of
// the whole ensemble. In ready-node, sequence numbers show which client is the N-th, and it alone creates ready.
//
// This differs from the page, whose barrier is for one use, in what the rounds after the first need: sequence numbers in the names of the
// clients' znodes, which the page calls after processes, the wait for a round that is under way, and the deletion of ready by the last to
// leave. A client that finds ready in step 2 reads it, to see whether its round is the client's own, where the page counts it as
// a child and creates it in vain. When it leaves, the page asks for "no children", and ready is a child that stays, so that no client
// could ever leave: its text speaks of process nodes. And the page deletes the client's own znode before it looks for the lowest:
// whether the last to leave then still finds that, and is notified, is a matter of chance.
//
// Cost of one round in lockstep, as with ready-node: 7N+1 requests, 2N+1 writes and 2N notifications, or 6 and 1 alone,
// as only the last client to list finds N znodes. In closed mode up to N clients create ready, of which N-1 fail. The
// lowest may be notified by each of the others, if the highest is always the next to leave.
//
// Bound: to enter and to leave, any algorithm needs one write of the last client and one notification of all others. If a
// client is to be notified only when all have entered, the last one must first learn that it is the last, and then say
// so: two writes and a read. This variant has the path of ready-node. The failed writes are not on it, but each goes
// through the leader.
//
// Source: as written, but with sequence numbers, process nodes where the page has children, the deletion of ready by the last to leave, and
// the watch before the delete: ZooKeeper recipes page, Double Barriers.
func ReadyRace(ctx context.Context, s *session.Session, group Group) (*ReadyNode, error) {
	b, err := NewReadyNode(ctx, s, group)
	b.race = true
	return b, err
}

func readyRaceVariant() variants.Variant {
	v := readyNodeVariant()
	v.Name = "ready-race"
	v.Summary = "as ready-node, but each client that counts enough znodes tries to create ready"
	v.BadAt = "clients that enter at the same time: up to N-1 of them fail to create ready, each with a write of the whole ensemble"
	v.Free.Writes, v.Free.FailedWrites = "3", "(N-1)/N"
	v.Join = join(ReadyRace)
	return v
}
