package blockingqueue

import (
	"context"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// AllWatch is the queue in which every waiting consumer watches the directory of the items.
//
//  1. To put, create <dir>/items/-item-, sequential.
//  2. To take, list <dir>/items and set a watch on it. If there is no item, wait for the watch, then list again.
//  3. Read the first item of the listing. If it is gone, continue with the next.
//  4. Delete it. If it is gone, another client has taken it: continue with the next one in 3.
//  5. If none is left, go to 2: items may have been put since.
//
// A put or a delete travels in one multi with a write to the client's journal, so that it takes effect once even if its
// reply is lost: a consumer that finds an item gone on its second attempt could not know otherwise which client took it. A
// multi is one request and one transaction.
//
// Cost of one item in a lockstep run, with m consumers waiting, each of which has listed once. The put wakes all of them; each
// lists, which arms its watch again, and reads the item. They claim one after another. The first takes the item, and its delete
// fires the watches of all, its own included. Each of the others fails, with a quorum write, lists again, finds nothing and waits:
//
//	notifications  2m
//	requests       1 put + m listings + m reads + m deletes + m-1 listings  =  4m
//	writes         1 put + m deletes, of which m-1 fail
//	herd           m
//
// Over the N-1 items of a round m falls from N-1 to 1, so that one take costs N notifications, 2N requests and the first
// listing, and 1 + N/2 writes on average. A client that is alone lists after it has put and is notified of its own delete only.
//
// When clients loop freely, a put and a delete notify up to N-1 each. A consumer reads and tries to delete each item at
// most once, and lists when it begins and at most once for each put and each delete: up to 4(N-1) + 2 requests. The
// producer's check whether its last round has been taken (see worker) adds up to one request and one notification per
// round.
//
// An item is lost if its taker dies or its session is lost before it knows the outcome of its claim. A client that dies
// keeps no other one from an item.
//
// Source: as written, but with a GUID in the item's name and a journal: Robinson, Building a distributed concurrent queue with Apache
// ZooKeeper, Blocking reads.
type AllWatch struct{ scan }

// NewAllWatch returns one client's view of a queue below an existing znode dir.
func NewAllWatch(ctx context.Context, s *session.Session, dir string) (*AllWatch, error) {
	c, err := open(ctx, s, dir)
	return &AllWatch{scan{client: c, refill: c.watched}}, err
}

func allWatchVariant() variants.Variant {
	return variants.Variant{
		Name:    "all-watch",
		Kind:    variants.Naive,
		Summary: "every waiting consumer watches the items' directory",
		BadAt:   "many consumers: each item wakes all of them twice, and all but one make a quorum write in vain",
		Forgoes: []variants.Loss{variants.ItemsLost},
		Lockstep: variants.Cost{
			Requests: "2N+1 (4 for N=1)", Writes: "1 + N/2 (2 for N=1)", FailedWrites: "(N-2)/2 (0 for N=1)",
			Notifications: "N", HerdMax: "N-1 (1 for N=1)",
		},
		Free: variants.Cost{
			Requests: "4N-2 + 1/(N-1) (4 for N=1)", Writes: "N (2 for N=1)", FailedWrites: "N-2 (0 for N=1)",
			Notifications: "2(N-1) + 1/(N-1) (1 for N=1)", HerdMax: "N",
		},
		Join: join(NewAllWatch, false),
	}
}
