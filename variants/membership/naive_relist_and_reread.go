package membership

import (
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// RelistAndReread is the group whose clients list it and read every member again whenever it changes.
//
//  1. To join, create <dir>/<guid>-member-, ephemeral and sequential, with the member's data. If the reply is lost, look
//     for the GUID.
//  2. List <dir> with a watch.
//  3. Read the data of each member. One that is gone has left since, and is not a member.
//  4. Use this view until the watch fires, then go to 2.
//  5. To leave, delete the client's own znode.
//
// Cost when one of N members leaves and joins again, each change coming when all others wait for their watches:
//
//	writes         a delete and a create
//	notifications  the delete notifies all N, the leaver included, whose watch is still armed; the create notifies the
//	               N-1 others  =  2N-1, of which one transaction sets off N
//	listings       N-1 after the delete; N after the create, the new member's own included  =  2N-1
//	reads          N-1 others read N-1 members; then N read N  =  (N-1)² + N²
//	requests       2 + (2N-1) + (N-1)² + N²  =  2N² + 2
//
// In closed mode, changes coalesce: there are no more listings than that, but all of them may find N members, which
// makes it at most 2 + (2N-1)(N+1) requests.
//
// Source: ours: an application that treats all notifications alike does this. The group of ephemeral znodes comes from
// the recipes page (Group Membership), which says nothing of how members learn of each other's data.
func RelistAndReread(s *session.Session, dir string) *Group { return newGroup(s, dir, false) }

func relistAndRereadVariant() variants.Variant {
	return variants.Variant{
		Name:     "relist-and-reread",
		Kind:     variants.Naive,
		Summary:  "after each change, list the group and read every member again",
		BadAt:    "groups of more than a few: each change of N members makes N clients read N znodes",
		Lockstep: variants.Cost{Requests: "2N²+2", Writes: "2", FailedWrites: "0", Notifications: "2N-1", HerdMax: "N"},
		Free:     variants.Cost{Requests: "2N²+N+1", Writes: "2", FailedWrites: "0", Notifications: "2N-1", HerdMax: "N"},
		Join:     join(RelistAndReread),
	}
}
