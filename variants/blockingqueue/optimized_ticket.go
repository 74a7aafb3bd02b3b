package blockingqueue

import (
	"context"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// Ticket is the queue in which the consumers stand in a line, and only the first of them watches the items.
//
//  1. To put, create <dir>/items/-item-, sequential.
//  2. To take, create <dir>/tickets/<guid>-ticket-, ephemeral and sequential. If the reply is lost, look for the GUID.
//  3. List <dir>/tickets. If the client's ticket is not the lowest, read the next lower one with a watch, wait for the
//     watch, and repeat 3: the owner of that ticket may have given up.
//  4. List <dir>/items. If there is none, list again, with a watch; if there is still none, wait and repeat 4.
//  5. Read the first item, and delete the item and the client's ticket in one multi: so the item goes and the next
//     consumer is first, or neither.
//
// The first listing in 4 sets no watch: if there are items, the watch would stay behind and fire at the client's own
// delete. As in [AllWatch] puts and deletes carry a write to the client's journal.
//
// Cost of one item in a lockstep run: each consumer takes a ticket and lists the tickets, and each but the first reads the one
// before its own. When its turn comes, it lists the tickets again, unless it is the first, then the items, then the items with a
// watch. The put wakes it, and it lists, reads and deletes, which wakes the next, if there is one:
//
//	notifications  1, and 1 for each but the last  =  2 - 1/(N-1)
//	requests       1 put + 2 + 2 + 3, and 2 for each but the first  =  10 - 2/(N-1)
//	writes         1 put + 1 ticket + 1 delete, none of which fails
//	herd           1
//
// A client that is alone puts, takes a ticket, lists the tickets and the items, reads and deletes: 6 requests, 3 of them
// writes. When clients loop freely, one take is at most a ticket, two listings of the tickets and one read of the
// predecessor, three listings of the items, a read and a delete, with the put 10 requests, 3 of them writes. The
// producer's check whether its last round has been taken (see worker) adds up to one request and one notification per
// round. An item that is put between the two listings leaves the watch of the second one armed. So a delete notifies up to
// three clients: the next in line, the producer, and the taker. Consumers are served in the order of their tickets.
//
// An item is lost if its taker dies or its session is lost before it knows the outcome of its claim. The other consumers wait
// for one that dies until its session has ended, and its ticket with it.
//
// Bound: on the path of the sojourn phase lie, for any algorithm that takes an item once, a write (the put), a notification to a consumer
// that waits, a read of the item, and a write (the claim). Here one read more lies between: the listing after the notification, which names
// the item. Consumers take turns, so that for each later item of a burst, a notification and two listings follow the claim before it.
//
// Source: ours: the line of the lock recipe (ZooKeeper recipes page) applied to the queue's consumers; Curator's and kazoo's
// semaphores let only one client watch their leases in the same way.
type Ticket struct{ turns }

// NewTicket returns one client's view of a queue below an existing znode dir.
func NewTicket(ctx context.Context, s *session.Session, dir string) (*Ticket, error) {
	line := tickets.New(s, path.Join(dir, ticketsDir), ticketMarker)
	t, err := openTurns(ctx, s, dir, line, deleting{line})
	return &Ticket{t}, err
}

// deleting is a place that a consumer gives up by deleting its ticket.
type deleting struct{ tickets.Line }

func (d deleting) GiveUp(mine tickets.Ticket) any {
	return &zk.DeleteRequest{Path: d.Path(mine), Version: -1}
}

func (d deleting) GivenUp(tickets.Ticket) {}

func ticketVariant() variants.Variant {
	return variants.Variant{
		Name:    "ticket",
		Kind:    variants.Optimized,
		Summary: "consumers stand in a line, only the first watches the items",
		BadAt:   "long queues: consumers take one after another, each with a ticket even if it need not wait",
		Forgoes: []variants.Loss{variants.ItemsLost},
		Lockstep: variants.Cost{
			Requests: "10 - 2/(N-1) (6 for N=1)", Writes: "3", FailedWrites: "0",
			Notifications: "2 - 1/(N-1) (0 for N=1)", HerdMax: "1 (0 for N=1)",
		},
		Free: variants.Cost{
			Requests: "10 + 1/(N-1) (6 for N=1)", Writes: "3", FailedWrites: "0",
			Notifications: "2 + 1/(N-1) (0 for N=1)", HerdMax: "3 (0 for N=1)",
		},
		Join: join(NewTicket, false),
	}
}
