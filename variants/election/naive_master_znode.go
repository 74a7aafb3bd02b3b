package election

import (
	"context"

	"github.com/zkbench/zkbench/variants"
)

// MasterZnode is the election that is a race: whoever creates one znode leads, and all others wait for its deletion.
//
//  1. Create <dir>/master, ephemeral. If that succeeds, the client leads.
//  2. If it exists, watch it with exists. If it is gone meanwhile, go to 1 at once.
//  3. Wait for the watch, then go to 1, together with every other candidate.
//  4. To resign, delete <dir>/master.
//
// The create travels in one multi with a set of <dir>/fence, whose version is the epoch. The delete travels with a check
// of that version, so that it cannot end the term of a successor. Either is one request and one transaction.
//
// Cost of a drain, where N clients campaign and lead one after another. A resignation with m candidates left notifies
// all m; each tries again, one succeeds, and m-1 failing creates are proposed to the quorum like any other write:
//
//	notifications  Σ m for m = N-1 … 0  =  N(N-1)/2
//	writes         N deletes + N(N-1)/2 creates, of which (N-1)(N-2)/2 fail
//	requests       those, and one exists for each that failed  =  N + (N-1)²
//	herd           N-1 notifications from the first resignation
//
// Looping freely, one term costs at most:
//
//	failed creates  each client at most once against each term: after a failure it creates again only when it has seen,
//	                by a notification or by an exists that finds nothing, that this term is over  =  N-1
//	exists          one after each failed create  =  N-1
//	notifications   each uses up a watch, which one exists has set  =  N-1
//	writes          those creates, the one that succeeds, and the delete  =  N + 1
//	requests        writes and exists  =  2N
//	herd            N-1: the client that made the last delete has not watched since, as its next create comes first
//
// An exists that finds the znode missing leaves its watch behind, which fires at the next creation, meaningless. That adds
// no notification: the watch is the one that this exists has set, and does not fire again at the deletion. Nothing is
// fair, and a candidate may starve; for an office that is seldom vacant it does not matter.
//
// Source: Junqueira and Reed, ZooKeeper, chapter 4, the backup masters.
type MasterZnode struct{ master }

var _ Election = (*MasterZnode)(nil)

// NewMasterZnode returns the part of one client in the elections below an existing znode dir, and makes sure that the
// fence exists. lost is closed when the session is.
func NewMasterZnode(ctx context.Context, session variants.Session, dir string, lost <-chan struct{}) (*MasterZnode, error) {
	m := &MasterZnode{}
	if err := m.init(ctx, session, dir, lost, m.campaign); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *MasterZnode) campaign(ctx context.Context) (epoch int64, err error) { return m.claim.Win(ctx) }

func masterZnodeVariant() variants.Variant {
	return variants.Variant{
		Name:    "master-znode",
		Type:    "MasterZnode",
		Kind:    variants.Naive,
		Summary: "one znode; all candidates watch it and race when it goes",
		Source:  "Junqueira and Reed, ZooKeeper, chapter 4",
		BadAt:   "many candidates: every failover sets off a race that all but one lose, with a quorum write each",
		Lockstep: variants.Cost{
			Requests:      "(N + (N-1)²)/N",
			Writes:        "1 + (N-1)/2",
			FailedWrites:  "(N-1)(N-2)/2N",
			Notifications: "(N-1)/2",
			HerdMax:       "N-1",
		},
		Free: variants.Cost{
			Requests:      "2N",
			Writes:        "N+1",
			FailedWrites:  "N-1",
			Notifications: "N-1",
			HerdMax:       "N-1",
		},
		Join: join(func(ctx context.Context, s variants.Session, env variants.Env) (Election, error) {
			return NewMasterZnode(ctx, s, env.Root, env.Lost)
		}),
	}
}
