package queue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/tickets"
)

// MatchedTicket is the queue in which ticket k belongs to item k, so that no client competes with another.
//
//  1. To put, create <dir>/items/item-, persistent and sequential.
//  2. To take, create <dir>/tickets/<guid>-ticket-, ephemeral and sequential. If the reply is lost, look for the GUID. If the
//     number is a multiple of ten, do 5.
//  3. Read the item with the ticket's number. If it is there, it is the client's.
//  4. Otherwise ask for it by exists with a watch, and do 5. If no item was moved, there is nothing to take: wait for the watch, for
//     2 s at most, and repeat 3. The client keeps its ticket until it has an item or leaves.
//  5. List <dir>/tickets, then <dir>/items. An item whose number is lower than the client's own and that has no ticket is an
//     orphan. Move each behind the others: read it, and in one multi delete it and create it anew.
//  6. When the item has been processed, delete the item and the ticket in one multi.
//
// Why the numbers match: a server numbers sequential znodes by the creates in their directory, without a gap, as a create that fails is
// not counted, nor are deletes. So the k-th item and the k-th ticket have the same number, and exactly one client has ticket k. As long as
// the client's session lives, no other client touches item k. After the last number, 2³¹-1, a server stops counting: tickets and
// items need a fresh directory before that, which 1,500 items per second reach after 16 days.
//
// Why an orphan is one: the first listing in 5 shows the client's own ticket, and so has each lower ticket that still exists. A
// ticket that is gone does not come back. The second listing is not older than the first. So an item in it whose ticket is missing in the
// first one has lost its client: a client that has processed its item deletes both at once. If two clients move one orphan, the
// delete of one of them fails, and its create with it. A moved item may get a number whose ticket is gone, too. Then it is an
// orphan again, and a client that waits moves it again.
//
// Cost of an item when all consumers live: 1 put, 1 ticket, 1 get, 1 multi and a tenth of two listings, for any number of clients.
// A client whose server has acknowledged its ticket reads an item that was put before that:
//
//	requests  4.2
//	writes    3, none of which fails
//
// No client is notified unless it waits for an item that has not been put, and then of this item alone. The listings have O(items + N)
// bytes. A client that waits makes 2 listings every 2 s.
//
// A consumer that dies holds its item back until its session has ended. From then on the item is taken after at most ten further
// tickets, or after 2 s if a client waits, for 2 requests to move it and a listing by the next holder of a multiple of ten. If the
// consumer had processed the item, it is processed again. The item of a consumer that withdraws before it has one waits likewise. A client
// that holds a ticket and neither takes nor leaves holds one item back for as long as its session lives, as does a client that was
// told that there is nothing to take: it must take again, or call Return.
//
// Items go to clients in the order of their puts, as tickets do in the order of their creates: a client that has its ticket first gets
// the item that was put first, and may read it later than its neighbour reads the next one. An item that was given back, or whose
// consumer died, goes behind all others.
//
// Bound: as for multi-claim, an item needs a write in the take, which others can see, a read, and a write that removes it. On this
// variant's path lie one of each.
//
// Source: ours. Ticket locks match a counter of tickets with one of grants in this way; no ZooKeeper recipe known to us does.
type MatchedTicket struct {
	takequeue.Client // of the items
	line             tickets.Line
	mine             tickets.Ticket // without a name while the client has none
	watch            *session.Watch // of the item of the ticket, while it has not been put
}

const (
	itemsDir = "items"
	// sweepEvery is how many tickets there are for each that looks for orphans. It divides the items of a batch, so that the formula is exact.
	sweepEvery = 10
	// sweepPause is the time after which a client that waits looks for orphans again: session timeouts are longer.
	sweepPause = 2 * time.Second
)

var errLastTicket = errors.New("the numbers of tickets are used up: use a queue in a fresh directory")

// NewMatchedTicket returns one client's end of the queue below an existing znode dir.
func NewMatchedTicket(ctx context.Context, s *session.Session, dir string) (*MatchedTicket, error) {
	q := &MatchedTicket{}
	return q, q.open(ctx, s, dir, q)
}

func (q *MatchedTicket) open(ctx context.Context, s *session.Session, dir string, strategy takequeue.Strategy) error {
	q.line = tickets.New(s, path.Join(dir, "tickets"), ticketMarker)
	items := tickets.New(s, path.Join(dir, itemsDir), marker)
	for _, d := range []string{q.line.Dir, items.Dir} {
		if err := s.Ensure(ctx, d, nil, 0); err != nil {
			return err
		}
	}
	return q.OpenBeside(ctx, items, path.Join(dir, "journals"), strategy)
}

// TakeNext implements [takequeue.Strategy]. If it returns nothing, the client keeps its ticket.
func (q *MatchedTicket) TakeNext(ctx context.Context) (*takequeue.Taken, error) {
	err := q.enter(ctx)
	var item *takequeue.Taken
	if err == nil {
		item, err = q.matched(ctx)
	}
	if err != nil {
		err = q.withdraw(ctx, err)
	}
	return item, err
}

func (q *MatchedTicket) enter(ctx context.Context) (err error) {
	if q.mine.Name != "" {
		return nil
	}
	if q.mine, err = q.line.Enter(ctx); err != nil {
		return err
	}
	q.watch = nil
	if q.mine.Seq == math.MaxInt32 {
		return errLastTicket
	}
	if q.mine.Seq%sweepEvery == 0 {
		_, err = q.rescue(ctx)
	}
	return err
}

// matched returns the item of the client's ticket, or nil if it has not been put and there are no orphans.
func (q *MatchedTicket) matched(ctx context.Context) (*takequeue.Taken, error) {
	item := q.item(q.mine.Seq)
	for {
		data, found, err := q.Session.Find(ctx, q.Path(item))
		if err != nil || found {
			return taken(item, data, q.Session, err)
		}
		there, err := q.watchFor(ctx, item)
		if err != nil {
			return nil, err
		}
		if there {
			continue
		}
		if moved, err := q.rescue(ctx); err != nil || !moved {
			return nil, err
		}
	}
}

func taken(t tickets.Ticket, data []byte, s *session.Session, err error) (*takequeue.Taken, error) {
	if err != nil {
		return nil, err
	}
	return &takequeue.Taken{Ticket: t, Item: takequeue.Item{Data: data, Lost: s.Lost()}}, nil
}

func (q *MatchedTicket) item(number int32) tickets.Ticket {
	return tickets.Ticket{Name: fmt.Sprintf("%s%010d", marker, number), Seq: number}
}

// watchFor watches an item that is not there yet, unless the client's last watch of it is still set.
func (q *MatchedTicket) watchFor(ctx context.Context, item tickets.Ticket) (there bool, err error) {
	if q.watch == nil || q.watch.Fired() {
		there, _, q.watch, err = q.Session.ExistsW(ctx, q.Path(item))
	}
	return there, err
}

// rescue moves all orphans before the client's ticket behind the other items, and reports whether there was one.
func (q *MatchedTicket) rescue(ctx context.Context) (moved bool, err error) {
	held, err := q.line.List(ctx)
	if err != nil {
		return false, err
	}
	items, err := q.List(ctx)
	if err != nil {
		return false, err
	}
	owned := map[int32]bool{}
	for _, t := range tickets.Sorted(held, ticketMarker) {
		owned[t.Seq] = true
	}
	for _, item := range tickets.Sorted(items, marker) {
		if owned[item.Seq] || !item.Before(q.mine) {
			continue
		}
		data, found, err := q.Session.Find(ctx, q.Path(item))
		if err == nil && found {
			err = session.Unless(zk.ErrNoNode, "move "+q.Path(item), q.move(ctx, item, data))
		}
		if err != nil {
			return false, err
		}
		moved = true
	}
	return moved, nil
}

// move puts an item behind all others, and makes these writes in the same transaction.
func (q *MatchedTicket) move(ctx context.Context, item tickets.Ticket, data []byte, writes ...any) error {
	writes = append(writes, &zk.DeleteRequest{Path: q.Path(item), Version: -1}, q.PutRequest(marker, data))
	_, err := q.Journal.Do(ctx, writes...)
	return err
}

// Finish implements [takequeue.Strategy].
func (q *MatchedTicket) Finish(ctx context.Context, t *takequeue.Taken) error {
	_, err := q.Journal.Do(ctx, &zk.DeleteRequest{Path: q.Path(t.Ticket), Version: -1}, q.leaveRequest())
	return q.left("delete "+q.Path(t.Ticket)+" and its ticket", err)
}

// GiveBack implements [takequeue.Strategy]: it puts the item behind all others.
func (q *MatchedTicket) GiveBack(ctx context.Context, t *takequeue.Taken) error {
	return q.left("give "+q.Path(t.Ticket)+" back", q.move(ctx, t.Ticket, t.Data, q.leaveRequest()))
}

func (q *MatchedTicket) leaveRequest() any {
	return &zk.DeleteRequest{Path: q.line.Path(q.mine), Version: -1}
}

// left notes that the client has no ticket any more, unless the transaction that deletes it has failed.
func (q *MatchedTicket) left(attempted string, err error) error {
	if err == nil {
		q.mine = tickets.Ticket{}
	}
	return session.Attempted(attempted, err)
}

// Return implements [takequeue.Taker]. It also gives up the ticket of a client that was told that there is nothing to take.
func (q *MatchedTicket) Return(ctx context.Context) error {
	return errors.Join(q.Client.Return(ctx), q.Session.Do(ctx, func(ctx context.Context) error { return q.withdraw(ctx, nil) }, nil))
}

// withdraw gives the client's ticket up, if there is one, after err.
func (q *MatchedTicket) withdraw(ctx context.Context, err error) error {
	if q.mine.Name == "" {
		return err
	}
	mine := q.mine
	q.mine = tickets.Ticket{}
	return q.line.Withdraw(ctx, mine, err)
}

// AwaitChange implements [takequeue.Notified]. It returns when the client's item has been put, or when it is time to look for orphans.
func (q *MatchedTicket) AwaitChange(ctx context.Context) error {
	until, cancel := context.WithTimeout(ctx, sweepPause)
	defer cancel()
	err := q.Session.Await(until, q.watch)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// Stands implements [takequeue.Standing].
func (q *MatchedTicket) Stands() bool { return q.mine.Name != "" }

func matchedTicketVariant() variants.Variant {
	return variants.Variant{
		Name:     "matched-ticket",
		Kind:     variants.Optimized,
		Summary:  "the k-th ticket belongs to the k-th item, so that no client competes with another",
		BadAt:    "a consumer that stops with a ticket in hand, which holds one item back; and order after a death, which puts an item behind all others",
		Forgoes:  []variants.Loss{variants.ItemsDoubled},
		Lockstep: matchedCost(),
		Free:     matchedCost(),
		Join:     joinMatched(NewMatchedTicket),
	}
}

func joinMatched[Q Queue](open func(context.Context, *session.Session, string) (Q, error)) variants.JoinFunc {
	return variants.JoinIn(open, func(q Q, env variants.Env) variants.Participant {
		env.Record(takequeue.Behind, sweepEvery)
		return newWorker(q, env)
	})
}

func matchedCost() variants.Cost {
	return variants.Cost{Requests: "4.2", Writes: "3", FailedWrites: "0", Notifications: "0", HerdMax: "0"}
}
