package blockingqueue

import (
	"context"
	"path"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// MarkedTicket is the queue in which the consumers stand in a line, and each ends its turn by writing to its ticket, so that the
// next one looks for an item as soon as it is notified.
//
//  1. To put, create <dir>/items/-item-, sequential.
//  2. To take, create <dir>/tickets/<guid>-ticket-, ephemeral and sequential, and delete the client's ticket of last time in the
//     same multi. If the reply is lost, look for the GUID: both have happened if it is there, and neither if it is not.
//  3. List <dir>/tickets. If the client's ticket is the lowest, it has its turn.
//  4. Read the next lower ticket with a watch. If it says "released", the client has its turn. If it is gone, go to 3.
//  5. Wait for the watch. If the ticket's data has changed, the client has its turn. Otherwise go to 3: the ticket is gone, because
//     its owner has withdrawn or its session has ended.
//  6. List <dir>/items. If there is none, list again, with a watch; if there is still none, wait and repeat 6.
//  7. Read the first item, and in one multi delete the item and write "released" to the client's ticket: so the item goes and
//     the next consumer has its turn, or neither. To withdraw, delete the ticket.
//
// A mark is proof that a turn has ended for the same reason as in the lock released-mark: only a client that has its turn marks, and
// each ticket before its own was marked or gone then. A server that shows the mark no longer has the item, because they are parts of one
// transaction. A client that dies before the transaction marks nothing: its ticket goes with its session, and the
// next one lists, as in [Ticket]. A client whose session has ended cannot claim, because its ticket and its journal are gone. As in
// [AllWatch] puts and claims carry a write to the client's journal, which shows whether a claim whose reply was lost has taken effect.
//
// Cost of one item in a lockstep run: each consumer takes a ticket and lists the tickets, and each but the first reads the one
// before its own. When its turn comes, it lists the items, then the items with a watch. The put wakes it, and it lists, reads and
// claims, which wakes the next, if there is one:
//
//	notifications  1, and 1 for each but the last  =  2 - 1/(N-1)
//	requests       1 put + 2 + 2 + 3, and 1 for each but the first  =  9 - 1/(N-1)
//	writes         1 put + 1 ticket + 1 claim, none of which fails
//	herd           1
//
// A client that is alone puts, takes a ticket, lists the tickets and the items, reads and claims: 6 requests, 3 of them
// writes. When clients loop freely, one take is at most a ticket, a listing of the tickets, a read of the predecessor,
// three listings of the items, a read and a claim, with the put 9 requests, 3 of them writes. A consumer that lists before a marked
// ticket is deleted and reads after must list and read again. Among those that have not read their predecessor yet, no two have the same
// one, so that a deleted ticket costs one consumer 2 requests at most: 11 with these. The producer's check whether its last round has
// been taken (see worker) adds up to one request and one notification per round. Consumers are served in the order of their tickets.
//
// Running free, a claim notifies up to three clients, as in [Ticket]. Several consumers may have read one marked ticket in turn, because
// what stood between it and them was gone when they came. All of them are notified when it is deleted: rarely more than one, and the N-2
// other consumers at most. A consumer reads one ticket that is there per take, so that it gets no more notifications than in [Ticket].
//
// An item is lost if its taker dies or its session is lost before it knows the outcome of its claim. The other consumers wait
// for one that dies until its session has ended, and its ticket with it.
//
// Bound: on the path of the sojourn phase lie, for any algorithm that takes an item once, a write (the put), a
// notification to a consumer that waits, a read of the item, and a write (the claim). Here one read more lies between:
// the listing after the notification, which names the item. Consumers take turns, so that for each later item of a burst,
// a notification and one listing follow the claim before it; ticket has two listings there, one of them by every waiting
// consumer.
//
// Source: ours: ticket with a turn that ends by a write, as in the lock released-mark.
type MarkedTicket struct{ turns }

// NewMarkedTicket returns one client's view of a queue below an existing znode dir.
func NewMarkedTicket(ctx context.Context, s *session.Session, dir string) (*MarkedTicket, error) {
	line := tickets.Marking{Line: tickets.New(s, path.Join(dir, ticketsDir), ticketMarker)}
	t, err := openTurns(ctx, s, dir, line.Line, &line)
	return &MarkedTicket{t}, err
}

func markedTicketVariant() variants.Variant {
	v := ticketVariant()
	v.Name = "marked-ticket"
	v.Summary = "as ticket, but a consumer ends its turn by writing to its ticket, so that the next one need not list the tickets"
	v.BadAt = "consumers that rarely come back: each leaves one released ticket until its next take or the end of its session"
	v.Lockstep.Requests, v.Free.Requests = "9 - 1/(N-1) (6 for N=1)", "11 + 1/(N-1) (6 for N=1)"
	v.Free.HerdMax = "max(3, N-2) (0 for N=1)"
	v.Join = join(NewMarkedTicket, false)
	return v
}
