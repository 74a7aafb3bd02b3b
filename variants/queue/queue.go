// Package queue compares ten ways for many clients to take items from one queue.
//
// The promise that all of them must keep: an item whose put was acknowledged is taken, and it is taken once. If its taker
// dies or its session is lost before it is done, the variants that claim it or mark it hand it to another client, which may
// process it again (at least once), while those that delete it first lose it (at most once). No variant finishes an item twice.
// Items are taken in the order in which they were put, by any client, except by offset-cached-list, and except for an item whose
// client failed, gave it back or withdrew in matched-ticket and matched-delete. A client whose server lags behind the leader may find
// nothing although other clients have put items already.
//
//	variant             znodes                                 cost of one take among N clients, its done included
//	list-and-delete     <dir>/item-<seq>                       1 listing, 1 get, 1 delete; a lost race costs a delete
//	queue-wide-lock     and <dir>/tickets/<guid>-ticket-<seq>  1 notification, 5 reads, 3 writes, one client at a time
//	wake-and-scan       and <dir>/locks/item-<seq>             up to 2N notifications, N exists or more, 1 get, 2 writes
//	lock-and-claim      and <dir>/claims/item-<seq>            up to 2N notifications, 1 listing, N exists, 1 get, 3 writes
//	mark-and-requeue    and <dir>/consumers/<guid>             1 listing, N gets, 2 writes
//	cached-list         <dir>/item-<seq>                       1 get, 1 delete, N-1 gets of items that others took first
//	offset-cached-list  <dir>/item-<seq>                       1 get, 1 delete
//	multi-claim         and <dir>/item-<seq>-claim             1 listing, 1 get, 2 writes
//	matched-delete      <dir>/items/item-<seq>, <dir>/tickets/<guid>-ticket-<seq>  2 writes, 1 get, a tenth of 2 listings
//	matched-ticket      the same                               2 writes, 1 get, a tenth of 2 listings
//
// A scan is a walk over a list of the items, or over what is left of one. It is in vain if the client is at the end of the list
// and has no item; the share of these is a metric, in-vain/scan.
//
// Every write of an item or a claim travels in one multi with a set of <dir>/journals/<guid>, an ephemeral znode of the client,
// which shows after a lost reply whether the write has taken effect: see [session.Journal]. That costs no request. Where the
// source of a variant is said to differ by the journal, it is this.
package queue

import (
	"context"
	"embed"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/takequeue"
)

//go:embed naive_*.go optimized_*.go library_*.go drivers
var code embed.FS

// Queue is one client's end of a queue.
type Queue interface {
	takequeue.Taker
	// Put appends an item. If ctx has ended, the item may have been put nevertheless.
	Put(ctx context.Context, data []byte) error
}

// marker starts the names of items.
const marker = "item-"

// Recipe returns the queue recipe with its variants, naive ones first.
func Recipe() variants.Recipe {
	return variants.Recipe{
		Name:    "queue",
		Summary: "each item is taken once, the oldest first",
		Source: "ZooKeeper recipes page, Queues; Robinson, Building a distributed concurrent queue with Apache ZooKeeper; " +
			"kropponline, My 1st ZooKeeper Recipe",
		Variants: []variants.Variant{
			listAndDeleteVariant(), queueWideLockVariant(), wakeAndScanVariant(), lockAndClaimVariant(), markAndRequeueVariant(),
			cachedListVariant(), offsetCachedListVariant(), multiClaimVariant(), matchedDeleteVariant(), matchedTicketVariant(),
		},
		Libraries:     []variants.Variant{CuratorSimple(), Contrib(), Kazoo(), KazooLocking()},
		JoinDriven:    joinDriven(false),
		DrivenForgoes: []variants.Loss{variants.ItemsLost}, // it deletes an item before it is processed
		Phases:        phases(),
		Operation:     takequeue.PhaseTake,
		Workload:      variants.Workload{Batch: batch},
		Losses:        []variants.Loss{variants.ItemsLost, variants.ItemsDoubled},
		Events:        takequeue.Events(),
		Calls:         takequeue.Calls(),
		NewObserver: func(out variants.Findings) variants.Observer {
			return append(takequeue.Spans(out, phases()), takequeue.NewObserver(out, &fifo{}))
		},
		Code: code,
		Bound: variants.Bound{Phase: takequeue.PhaseTake, Writes: "2", Reads: "1", Notifications: "0",
			Why: "A put is a write; a take is a write that decides between the takers, after a read, as no listing has the data " +
				"of an item"},
	}
}
