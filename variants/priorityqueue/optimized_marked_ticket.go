package priorityqueue

import (
	"cmp"
	"context"
	"fmt"
	"path"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/tickets"
)

// MarkedTicket is the priority queue whose takers stand in a line, so that they never race for an item.
//
//  1. To put, create <dir>/queue-<priority>-, persistent and sequential, with a priority of two digits. That needs no turn.
//  2. To take, create <dir>/tickets/<guid>-ticket-, ephemeral and sequential, and delete the client's ticket of last time in the
//     same multi. If the reply is lost, look for the GUID: both have happened if it is there, and neither if it is not.
//  3. List <dir>/tickets. If the client's ticket is the lowest, it has its turn.
//  4. Read the next lower ticket with a watch. If it says "released", the client has its turn. If it is gone, go to 3.
//  5. Wait for the watch. If the ticket's data has changed, the client has its turn. Otherwise go to 3: the ticket is gone, because
//     its owner has withdrawn or its session has ended.
//  6. List <dir>, the lowest priority first and then the lowest sequence number. If there is no item, write "released" to the
//     client's ticket: there is nothing to take.
//  7. Read the first item, and in one multi delete the item and write "released" to the client's ticket. So the item goes and the next
//     client has its turn, or neither. If the item is gone, delete the ticket and go to 2.
//
// A mark is proof that a turn has ended for the same reason as in the lock released-mark. A server that shows it no longer has the item,
// because both are parts of one transaction. So while a client has its turn, no other one takes, and its list lacks only items that are
// put meanwhile. The list is made after the reply to step 2, a write of the client's own, so that it has every item that the client must
// know of: no take is a priority inversion. An item can be gone in step 7 only if the session has moved to a server that lags behind.
//
// Cost of a lockstep run, in which N clients put k-1 = 9 ordinary items each, then take in turn, then put one urgent item each, and
// take the rest in turn. None waits, as each take ends before the next begins. Each but the very first finds the ticket of the one
// before it, which is marked, and leaves a watch on it, which fires when that client takes its next ticket:
//
//	requests       1 put + 2 listings + 2 gets + 2 multis for each of Nk takes, but 1 get less for the first  =  7 - 1/10N
//	writes         1 put + 2 multis, none of which fails
//	notifications  1 for each ticket that is replaced, which the last one of each client is not  =  (k-1)/k  =  0.9
//	herd           1
//
// A client that is alone finds no other ticket: 6 requests and no notification. When clients loop freely, one that lists before a marked
// ticket is deleted and reads after must list and read again. Among those that have not read their predecessor yet, no two have the same
// one, so that a deleted ticket costs one client 2 requests at most:
//
//	requests       at most 7 + 2
//	writes         3, none of which fails
//	notifications  at most 1, as a client reads one ticket that is there per take
//	herd           rarely more than 1, and at most the N-1 others, which have read one marked ticket in turn
//
// An item is lost if its taker dies after step 7 and before it has processed the item. The clients behind one that dies in the line
// wait until its session has ended, and its ticket with it. A client whose session is lost before step 7 takes nothing, as its ticket and
// its journal are gone. One whose context ends deletes its ticket, and the next client lists. If that happens after step 7 was sent, it
// finds out whether it has the item, and gives it back by a create under the old name, which needs no turn.
//
// Bound: a take needs one read that shows which item is the most urgent, as any client may have put a more urgent one, and then one
// quorum write, which decides between the clients. Here, a write, a listing and a get of the ticket lie before these, and a get after
// the listing, which shows no data. From one client's take to the next one's lie a notification, two reads and a write.
//
// Source: ours: invalidated-list (ZooKeeper recipes page, Priority Queues) with the line of the blocking queue marked-ticket in place
// of the watch.
type MarkedTicket struct {
	takequeue.Deleting
	turns tickets.Marking
}

const ticketMarker = "-ticket-"

// NewMarkedTicket returns one client's end of the queue below an existing znode dir.
func NewMarkedTicket(ctx context.Context, s *session.Session, dir string) (*MarkedTicket, error) {
	q := &MarkedTicket{turns: tickets.Marking{Line: tickets.New(s, path.Join(dir, "tickets"), ticketMarker)}}
	return q, q.Open(ctx, tickets.New(s, dir, marker), q, q.turns.Dir)
}

// Put implements [Queue].
func (q *MarkedTicket) Put(ctx context.Context, p Priority, data []byte) error {
	return put(ctx, &q.Client, p, data)
}

// TakeNext implements [takequeue.Strategy].
func (q *MarkedTicket) TakeNext(ctx context.Context) (*takequeue.Taken, error) {
	mine, err := tickets.Take(ctx, &q.turns, q.turns.AwaitTurn)
	if err != nil {
		return nil, fmt.Errorf("wait in %s: %w", q.turns.Dir, err)
	}
	item, err := q.takeFirst(ctx, mine)
	if err != nil {
		return nil, q.turns.Withdraw(ctx, mine, err)
	}
	return item, nil
}

// takeFirst takes the most urgent item, if there is one, and ends the client's turn. After an error the turn has not ended.
func (q *MarkedTicket) takeFirst(ctx context.Context, mine tickets.Ticket) (*takequeue.Taken, error) {
	children, err := q.List(ctx)
	if err != nil {
		return nil, err
	}
	items := byUrgency(children)
	if len(items) == 0 {
		return nil, q.turns.Leave(ctx, mine)
	}
	data, found, err := q.Session.Find(ctx, q.Path(items[0]))
	if err != nil || !found {
		return nil, cmp.Or(err, takequeue.ErrScanAgain)
	}
	item, err := q.Delete(ctx, items[0], data, q.turns.GiveUp(mine))
	if err != nil || item == nil {
		return nil, cmp.Or(err, takequeue.ErrScanAgain)
	}
	q.turns.GivenUp(mine)
	return item, nil
}

func markedTicketVariant() variants.Variant {
	return variants.Variant{
		Name:    "marked-ticket",
		Kind:    variants.Optimized,
		Summary: "takers stand in a line, and each takes the most urgent item and ends its turn in one transaction",
		BadAt: "clients that seldom compete: each item costs three quorum writes instead of two; " +
			"and one that dies in the line stops all behind it until its session has ended",
		Forgoes: []variants.Loss{variants.ItemsLost},
		Lockstep: variants.Cost{Requests: "7 - 1/10N (6 for N=1)", Writes: "3", FailedWrites: "0", Notifications: "0.9 (0 for N=1)",
			HerdMax: "1 (0 for N=1)"},
		Free: variants.Cost{Requests: "9 (6 for N=1)", Writes: "3", FailedWrites: "0", Notifications: "1 (0 for N=1)", HerdMax: "N-1"},
		Join: variants.JoinIn(NewMarkedTicket, func(q *MarkedTicket, env variants.Env) variants.Participant {
			return newWorker(q, env)
		}),
	}
}
