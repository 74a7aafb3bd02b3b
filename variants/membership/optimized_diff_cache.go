package membership

import (
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// DiffCache is the group whose clients remember its members, and read only those that are new.
//
//  1. To join, create <dir>/<guid>-member-, ephemeral and sequential, with the member's data. If the reply is lost, look
//     for the GUID.
//  2. List <dir> with a watch.
//  3. Compare the listing with the view so far: forget the members that are not listed any more, and read the data of the
//     new ones. One that is gone by then has left, and is not a member.
//  4. Use this view until the watch fires, then go to 2.
//  5. To leave, delete the client's own znode.
//
// The cache can be trusted because no name is used twice: a member that came back under its old name, between two
// listings, would be taken for the one that left.
//
// Cost when one of N members leaves and joins again, each change coming when all others wait for their watches:
//
//	writes         a delete and a create
//	notifications  the delete notifies all N, the leaver included, whose watch is still armed; the create notifies the
//	               N-1 others  =  2N-1, of which one transaction sets off N
//	listings       N-1 after the delete; N after the create, the new member's own included  =  2N-1
//	reads          none after the delete; after the create, N read the one that is new
//	requests       2 + (2N-1) + N  =  3N + 1
//
// In closed mode, changes coalesce, and these are upper bounds. The listings remain O(N) bytes each.
//
// Grows: with the members, because each of them must learn of each change: a join or a leave is an operation of the group. Each member's
// own share is at most 3 requests, plus the 2 writes of the one that changes.
//
// Bound: in the phase converge, one quorum write, one notification, one listing and, after a join, one read must lie one after
// another: a notification names no member, and a listing carries no data. As many lie on this path. If several members join at
// once, their reads follow one another. A persistent recursive watch (ZooKeeper 3.6) would name the member, and save the listing.
//
// Source: as written, but with the members' data and with a GUID in the name: Junqueira and Reed, ZooKeeper, chapter 4 (Master
// Waits for Changes to the List of Workers, ChildrenCache), where the master remembers the last list to see who has gone.
func DiffCache(s *session.Session, dir string) *Group { return newGroup(s, dir, true) }

func diffCacheVariant() variants.Variant {
	v := relistAndRereadVariant()
	v.Name, v.Kind = "diff-cache", variants.Optimized
	v.Summary = "after each change, list the group and read only the members that are new"
	v.BadAt = "groups of thousands that change often: each change still makes every client list them all"
	v.Lockstep.Requests, v.Free.Requests = "3N+1", "3N+1"
	v.Join = join(DiffCache)
	return v
}
