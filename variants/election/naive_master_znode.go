package election

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/session"
)

// MasterZnode is the election that is a race: the client that creates one znode leads, and all others wait for its deletion.
//
//  1. Create <dir>/master, ephemeral. If that succeeds, the client leads.
//  2. If it exists, watch it with exists. If it is gone meanwhile, go to 1 at once.
//  3. Wait for the watch, then go to 1, together with every other candidate.
//  4. To resign, delete <dir>/master.
//
// The create travels in one multi with a set of <dir>/fence, whose version is the epoch. The delete travels with a check
// of that version, so that it cannot end the term of a successor. Either is one request and one transaction.
//
// Cost in lockstep, where N clients campaign and lead one after another. A resignation with m candidates left notifies
// all m. Each tries again, and one succeeds. A create that fails is proposed to the quorum like any other write:
//
//	notifications  Σ m for m = N-1 … 0  =  N(N-1)/2
//	writes         N creates by new candidates, N(N-1)/2 by notified ones, and N deletes; N creates succeed, N(N-1)/2 fail
//	requests       those, and one exists for each that failed  =  2N + N(N-1)
//	herd           N-1 notifications from the first resignation
//
// Running free, one term costs at most 2N requests, of which N+1 are writes, and N-1 notifications. The comment of lock/znode,
// which is the same race, derives these bounds. Nothing is fair, and a candidate may starve. For an office that is seldom
// vacant it does not matter.
//
// Source: as written, but with a fence, whose version is the epoch, in one multi with the create, and checked by the delete:
// Junqueira and Reed, ZooKeeper, chapter 4, the backup masters.
type MasterZnode struct{ *session.Exclusive }

// NewMasterZnode returns the part of one client in the elections below an existing znode dir, and makes sure that the
// fence exists.
func NewMasterZnode(ctx context.Context, s *session.Session, dir string) (MasterZnode, error) {
	node := master(s, dir)
	held, err := node.Exclusive(ctx, node.Win)
	return MasterZnode{held}, err
}

func masterZnodeVariant() variants.Variant {
	return variants.Variant{
		Name:     "master-znode",
		Kind:     variants.Naive,
		Summary:  "one znode; all candidates watch it and race when it goes",
		BadAt:    "many candidates: every failover sets off a race that all but one lose, with a quorum write each",
		Lockstep: variants.Cost{Requests: "N+1", Writes: "2 + (N-1)/2", FailedWrites: "(N-1)/2", Notifications: "(N-1)/2", HerdMax: "N-1"},
		Free:     variants.Cost{Requests: "2N", Writes: "N+1", FailedWrites: "N-1", Notifications: "N-1", HerdMax: "N-1"},
		Join:     exclusion.JoinIn(NewMasterZnode),
	}
}
