package queue

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
)

type driven struct {
	variants.Driven
	claims bool   // an item that is taken is claimed, and deleted when it is done; otherwise it is deleted when it is taken
	held   []byte // the item taken last; nil if it is done
	unsure bool   // more may have happened in the last call than its result says
}

func (q *driven) Unsure() bool { return q.unsure }

// call puts or takes. If the connection is lost during the call, the library may repeat a request whose reply was lost, or give up.
func (q *driven) call(ctx context.Context, verb string) (result string, err error) {
	before := q.Reconnects()
	result, err = q.Call(ctx, verb)
	over := errors.Is(err, session.ErrSessionLost) || ctx.Err() != nil
	q.unsure = !over && (err != nil || q.Reconnects() != before)
	return result, err
}

func (q *driven) Put(ctx context.Context, data []byte) error {
	_, err := q.call(ctx, "put "+hex.EncodeToString(data))
	return err
}

func (q *driven) Take(ctx context.Context) (takequeue.Item, bool, error) { return q.Scan(ctx) }

// A library does not say whether it has found an empty queue or lost the race for all items.
func (q *driven) Scan(ctx context.Context) (takequeue.Item, bool, error) {
	if q.held != nil {
		return takequeue.Item{}, false, takequeue.ErrHeld
	}
	text, err := q.call(ctx, "take")
	if err != nil || text == "" {
		return takequeue.Item{}, false, err
	}
	item := takequeue.Item{}
	if item.Data, err = hex.DecodeString(text); err != nil {
		return takequeue.Item{}, false, fmt.Errorf("the driver's answer to take, %.100q, is not an item: %w", text, err)
	}
	if q.held = item.Data; q.claims {
		item.Lost = q.Lost()
	}
	return item, true, nil
}

func (q *driven) Done(ctx context.Context) error {
	held := q.held
	if q.held = nil; held == nil || !q.claims {
		return nil
	}
	return q.Do(ctx, "done")
}

// Without claims, the only way to return an item to these libraries' queues is to put it again, behind all others.
func (q *driven) Return(ctx context.Context) error {
	held := q.held
	if q.held = nil; held == nil {
		return nil
	}
	if !q.claims {
		return q.Put(ctx, held)
	}
	return q.Do(ctx, "return")
}

func joinDriven(claims bool) variants.JoinFunc {
	return variants.JoinBy(func(ctx context.Context, env variants.Env) (Queue, error) {
		client, err := variants.NewDriven(ctx, env)
		return &driven{Driven: client, claims: claims}, err
	}, newWorker)
}

// CuratorSimple is SimpleDistributedQueue of Apache Curator. It uses the algorithm of [ListAndDelete], without the
// journal.
//
//  1. To put, create <dir>/qn-, persistent and sequential.
//  2. To take, list <dir>. If there is no item, there is nothing to take.
//  3. Read the lowest item. If it is gone, continue with the next one; after the last, there is nothing to take.
//  4. Delete it. If it is gone, another client was faster: continue with the next one; after the last, there is nothing to take.
//
// Cost of an item: 1 create, 1 listing, 1 get and 1 delete alone. Among N clients at most one listing, one get and one delete
// by each, of which N-1 deletes fail.
//
// Items are taken in the order in which they were put. An item is lost if its taker dies before it has processed the item,
// and if the reply to a delete is lost: Curator repeats the delete, finds no znode, and takes that for another client's
// success. If the reply to a create is lost, Curator repeats it, and the item is there twice.
//
// Source: as written: SimpleDistributedQueue in Apache Curator 5.4.
func CuratorSimple() variants.Variant {
	return variants.WithDriver(variants.Driver{Program: "drivers/CuratorQueue.java"}, joinDriven(false), variants.Variant{
		Name:    "curator-simple",
		Summary: "SimpleDistributedQueue of Apache Curator: every take lists the queue, then reads and deletes the first item",
		BadAt:   "lost replies: a create that is repeated puts the item twice, a delete that is repeated loses it",
		Forgoes: []variants.Loss{variants.ItemsLost, variants.ItemsDoubled},
		Free:    listAndDeleteVariant().Free,
	})
}

// Contrib is DistributedQueue of ZooKeeper's own recipes. It uses the algorithm of [ListAndDelete], without the journal.
//
//  1. To put, create <dir>/qn-, persistent and sequential.
//  2. To take, list <dir>. If there is no item, there is nothing to take.
//  3. Read the lowest item. If it is gone, continue with the next one; after the last, go to 2.
//  4. Delete it. If it is gone, another client was faster: continue with the next one; after the last, go to 2.
//
// Cost of an item: 1 create, 1 listing, 1 get and 1 delete alone. Among N clients at most one listing, one get and one delete
// by each, of which N-1 deletes fail.
//
// Items are taken in the order in which they were put. An item is lost if its taker dies before it has processed the item. If
// a connection is lost, the error is the application's, which cannot know whether the item was put or taken.
//
// Source: as written: DistributedQueue in ZooKeeper's recipes.
func Contrib() variants.Variant {
	return variants.WithDriver(variants.Driver{Program: "drivers/ZooKeeperQueue.java"}, joinDriven(false), variants.Variant{
		Name:    "contrib",
		Summary: "DistributedQueue of ZooKeeper's recipes: every take lists the queue, then reads and deletes the first item",
		BadAt:   "lost connections: it leaves them to the application, which cannot know what has become of the item",
		Forgoes: []variants.Loss{variants.ItemsLost},
		Free:    listAndDeleteVariant().Free,
	})
}

// Kazoo is Queue of kazoo, the ZooKeeper client for Python. It uses the algorithm of [CachedList], but a client that was
// too late for an item drops its list, and waits before it lists again.
//
//  1. To put, create <dir>/entry-<priority>-, persistent and sequential.
//  2. To take, if the list is empty, list <dir>. If there is no item, there is nothing to take.
//  3. Read the first item of the list, and delete it.
//  4. If it is gone, drop the list, wait for 60 to 140 ms, twice as long each time in a row, and go to 2.
//
// Cost of an item: 1 create, 1 get, 1 delete and a tenth of a listing alone. Among N clients at most one listing, one get
// and one delete by each, of which N-1 deletes fail. A client loses only time.
//
// Items are taken in the order in which they were put. An item is lost if its taker dies before it has processed the item, and if the reply
// to a delete is lost: kazoo repeats step 3, finds no znode, and takes that for another client's success.
//
// Source: as written: Queue in kazoo 2.8.
func Kazoo() variants.Variant {
	driver := variants.Driver{Program: "drivers/kazoo_queue.py", Args: []string{"deleting"}}
	return variants.WithDriver(driver, joinDriven(false), variants.Variant{
		Name:    "kazoo",
		Summary: "Queue of kazoo: lists the queue again when its list is exhausted, and after a pause when another client was faster",
		BadAt:   "several consumers: one that was too late for an item sleeps for 60 to 140 ms, then twice as long, and so on",
		Forgoes: []variants.Loss{variants.ItemsLost},
		Free:    cachedListVariant().Free,
	})
}

// KazooLocking is LockingQueue of kazoo, whose items are claimed first, and deleted when they have been processed.
//
//  1. To put, create <dir>/entries/entry-<priority>-, persistent and sequential.
//  2. To take, list <dir>/entries and <dir>/taken, both with a watch.
//  3. Create <dir>/taken/<name>, ephemeral, for the first item that has none.
//  4. If it exists, or all items are taken, wait for any of the watches, then go to 2.
//  5. Read the item. If it is gone, delete <dir>/taken/<name>, wait for any of the watches, and go to 2.
//  6. To finish, sync, read <dir>/taken/<name>, and delete it and the item in one multi, if the claim is the client's own.
//
// Watches stay when a client has found an item. So each put, each claim and each finished item may notify all clients, those
// that process an item included, and each one that waits lists both directories and tries the first item, which one of them
// gets.
//
// Cost of an item: 1 create to put, 2 listings, 1 create and 1 get to take, and 1 sync, 1 get and 1 multi to finish, which is
// 8 requests alone, with 2 notifications. Among N clients, the 4 changes of each item notify each client at most, and each
// notification costs at most 2 listings, a create, a get and a delete.
//
// A claim ends with the session of its client: the item is free again, and is processed twice if that client goes on with it.
// If the reply to the create of step 3 is lost, the item stays claimed as long as the client lives, and no get returns it. If
// no watch has fired before, get fails, but its watches remain: the next notification makes the client claim another item
// that no get returns. The same goes for the delete of step 5.
//
// Source: as written: LockingQueue in kazoo 2.8.
func KazooLocking() variants.Variant {
	driver := variants.Driver{Program: "drivers/kazoo_queue.py", Args: []string{"locking"}}
	return variants.WithDriver(driver, joinDriven(true), variants.Variant{
		Name:    "kazoo-locking",
		Summary: "LockingQueue of kazoo: clients that wait watch the items and the claims, and all race for the first free item",
		BadAt:   "many consumers: each change of the queue notifies all of them, and all but one list both directories in vain",
		Forgoes: []variants.Loss{variants.ItemsLost, variants.ItemsDoubled},
		Free: variants.Cost{
			Requests: "20N+9 (8 for N=1)", Writes: "8N+4 (3 for N=1)", FailedWrites: "4N+1 (0 for N=1)",
			Notifications: "4N (2 for N=1)", HerdMax: "2N (1 for N=1)",
		},
	})
}
