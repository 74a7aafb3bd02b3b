package doublebarrier

import (
	"context"
	"errors"

	"github.com/zkbench/zkbench/variants"
)

type driven struct {
	variants.Driven
	round int64
}

// A client that gives up stays inside: its driver enters later.
func (b *driven) Enter(ctx context.Context) error { return b.Do(ctx, "enter") }

func (b *driven) Leave(ctx context.Context) error {
	err := b.Do(ctx, "leave")
	if err == nil {
		b.round++
	}
	return err
}

// What the client has ends with its session, which is closed next.
func (b *driven) Close(context.Context) error { return nil }

func (b *driven) Round() int64 { return b.round }

func joinDriven() variants.JoinFunc {
	return func(ctx context.Context, env variants.Env) (variants.Participant, error) {
		if env.Life > 0 {
			return nil, errors.New("a client of this library that was lost cannot come back: nothing tells it which round the others are in")
		}
		client, err := variants.NewDriven(ctx, env)
		if err != nil {
			return nil, err
		}
		env.Record(joined, stamp(0, int64(env.Clients)))
		return &participant{barriers: []Barrier{&driven{Driven: client}}, env: env}, nil
	}
}

// Curator is DistributedDoubleBarrier of Apache Curator. A barrier object is good for one round. Its znode is good for another one when all
// have left, so that the driver uses two znodes in turns.
//
//  1. To enter, look for <dir>/ready with a watch.
//  2. Create <dir>/<guid>, ephemeral. If ready existed in step 1, all have entered.
//  3. List <dir>. If there are N znodes, create ready, which another client may have done: all have entered.
//  4. Otherwise wait for a notification, even if one has come before step 3: all have entered.
//  5. To leave, list <dir>. If there is no client's znode, go to 8. If there is one, delete it if it is the client's own, and go to 8.
//  6. If its own znode is the lowest, look for the highest with a watch. Otherwise look for the lowest with a watch, and delete its own one
//     unless that has been done.
//  7. If the znode that it looked for exists, wait for a notification. Go to 5.
//  8. Delete ready, which another client may have done.
//
// A client that created ready in step 3 may be notified of that when it waits in step 7, as all its watches wake the same
// wait. If all but one have deleted their znodes by then, it finds a single one in step 5, which is not its own, and leaves
// although that client is still inside. And a client that is notified before step 3, and lists when others have already left,
// waits for ever, and all others wait for it.
//
// Cost of one round: 7 requests alone. With N clients:
//
//	requests       N looks for ready, N creates, N lists, at most N creates of ready; to leave, N deletes and N deletes of ready, and a list
//	               and a look for each of at most 3N-2 notifications and for each client  =  at most 14N-4
//	notifications  N of ready, N-1 of the lowest, and at most N-1 of the highest  =  at most 3N-2
//
// Source: as written, but with two znodes in turns: DistributedDoubleBarrier in Apache Curator 5.4.
func Curator() variants.Variant {
	return variants.WithDriver(variants.Driver{Program: "drivers/CuratorDoubleBarrier.java", Notified: true}, joinDriven(), variants.Variant{
		Name:    "curator",
		Summary: "DistributedDoubleBarrier of Apache Curator: clients that see that all have entered create a znode that says so",
		BadAt:   "short rounds: a client that is notified late of the beginning may leave before the others have finished",
		Broken: "a client may leave before another has finished, because a late notification of the beginning wakes it when " +
			"it waits for the end, or all wait for ever, because one was notified before it began to wait",
		Free: variants.Cost{
			Requests: "(14N-4)/N (7 for N=1)", Writes: "4", FailedWrites: "2(N-1)/N", Notifications: "(3N-2)/N", HerdMax: "N",
		},
	})
}

// Kazoo is DoubleBarrier of kazoo, the ZooKeeper client for Python. Its znode is good for another round when all have left, so that the
// driver uses two znodes in turns.
//
//  1. To enter, create <dir>/<guid>, ephemeral.
//  2. Look for <dir>/ready with a watch.
//  3. List <dir>. If there are N znodes, look for ready and for <dir>, and create ready, which another client may have done:
//     all have entered.
//  4. Otherwise wait until ready is created.
//  5. To leave, delete ready, which another client may have done.
//  6. List <dir>. If there is no znode, all have left. If the client's own one is the only one, delete it: all have left.
//  7. If its own znode is the lowest, look for the highest with a watch. Otherwise delete its own one, and look for the
//     lowest with a watch.
//  8. If the znode that it looked for exists, wait until it is gone. Go to 6. If its own one is to be deleted again in step 7, it has left.
//
// A client that is slow between steps 1 and 3 may find ready in step 2, or none as others have deleted it, and in step 3
// fewer than N znodes, as others have left. It then waits for ever, and all others wait for it.
//
// Cost of one round: 9 requests alone. With N clients:
//
//	requests       N creates, N looks, N lists, at most 3N to create ready; to leave, N deletes of ready and N deletes, and a list and a look
//	               for each of at most 2N notifications and for each client  =  at most 14N
//	notifications  at most N of ready, N-1 of the lowest, and N of the highest, which may be a ready that is created late
//
// Source: as written, but with two znodes in turns: DoubleBarrier in kazoo 2.8.
func Kazoo() variants.Variant {
	return variants.WithDriver(variants.Driver{Program: "drivers/kazoo_double_barrier.py", Notified: true}, joinDriven(), variants.Variant{
		Name:    "kazoo",
		Summary: "DoubleBarrier of kazoo: clients that see that all have entered create a znode that says so, and each deletes it first",
		BadAt:   "short rounds: a client that looks late whether all have entered waits for ever",
		Broken:  "all wait for ever, because a client looks whether all have entered when others have already left",
		Free: variants.Cost{
			Requests: "14 (9 for N=1)", Writes: "4", FailedWrites: "2(N-1)/N", Notifications: "3 (1 for N=1)", HerdMax: "N",
		},
	})
}
