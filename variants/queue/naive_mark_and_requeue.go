package queue

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/tickets"
)

// MarkAndRequeue is the queue in which a client writes its name into the item that it processes, and the marks of clients that have
// died are removed.
//
//  1. To join, create <dir>/consumers/<guid>, ephemeral, then requeue as in 6.
//  2. To put, create <dir>/item-, persistent and sequential, without a mark.
//  3. To take, list <dir>. If there is no item, there is nothing to take.
//  4. Read each item, the lowest first. If it is gone or marked, continue with the next one. Else set it to its data with the
//     client's GUID as the mark, on the condition that it has the version that was read. If it has another one, another client was
//     faster: continue with the next item.
//  5. When the item has been processed, delete it, on the condition that it has the version of the mark.
//  6. To requeue, watch and list <dir>/consumers, read all items, and list <dir>/consumers again. Each item whose mark is of a
//     client that is not there any more is set to its data without the mark, on the condition that it has the version that was
//     read. A client requeues before a take if its watch has fired.
//
// The second listing in 6 comes after the items: a client that had marked one of them by then had joined before, so that it has
// died if it is not in the list. The watch comes before them: a client that marks an item later and dies fires it.
//
// All clients do the clean-up job, because any one that was chosen for it may be idle, or may die. Their resets exclude each other
// by the version.
//
// Cost of a lockstep run, in which N clients put k = 10 items each, then take in turn, each holding its item until its next
// turn. At take t = 0 … Nk-1, the first min(t, N-1) of the listed items are marked by the other clients:
//
//	gets      Σ (min(t, N-1) + 1)  =  N(N+1)/2 + N²(k-1)
//	requests  those, and per item 1 put, 1 listing, 1 set and 1 delete
//	          per take: 4 + ((N+1)/2 + N(k-1))/k  =  4.05 + 0.95N
//
// When clients loop freely, a client scans in vain only if another client's mark was faster. So there are at most N scans per
// take, each with a get of up to N-1 marked items and the one that it takes, and each item costs any other client up to 2 gets
// and a set in vain. While no client joins or leaves, there is nothing to requeue:
//
//	requests  at most 1 put + N listings + N² + 2(N-1) gets + N sets + 1 delete  =  N² + 4N
//	writes    at most N + 2, of which N-1 fail
//
// The end of a session costs each of the other clients a notification, three listings, and a get of each item.
//
// Items are taken in the order in which they were put. An item survives its taker's death: it is requeued when the taker's session
// has ended. If the taker had processed it, it is processed again.
//
// Source: as written, but with every client for the clean-up job, and with the journal: Urlichs, comment 10 on Robinson, Building a
// distributed concurrent queue with Apache ZooKeeper (Cloudera).
type MarkAndRequeue struct {
	takequeue.Client
	consumers string
	me        string         // in consumers, and in the marks
	watch     *session.Watch // of consumers, as of the last clean-up
	version   int32          // of the item that is marked by this client
}

var _ variants.Refresher = (*MarkAndRequeue)(nil)

// NewMarkAndRequeue returns one client's end of the queue below an existing znode dir.
func NewMarkAndRequeue(ctx context.Context, s *session.Session, dir string) (*MarkAndRequeue, error) {
	q := &MarkAndRequeue{consumers: path.Join(dir, "consumers"), me: rand.Text()}
	err := errors.Join(s.Ensure(ctx, q.consumers, nil, 0), s.Ensure(ctx, path.Join(q.consumers, q.me), nil, zk.FlagEphemeral))
	if err != nil {
		return nil, err
	}
	if err := q.Open(ctx, tickets.New(s, dir, marker), q); err != nil {
		return nil, err
	}
	return q, errors.Join(q.requeue(ctx), s.Alive())
}

// The mark of an item that no client processes is empty.
func marked(mark string, data []byte) []byte { return append([]byte(mark+"\n"), data...) }

// Put implements [Queue].
func (q *MarkAndRequeue) Put(ctx context.Context, data []byte) error {
	return q.Client.Put(ctx, marked("", data))
}

type found struct {
	takequeue.Taken
	mark    string
	version int32
}

func (q *MarkAndRequeue) read(ctx context.Context, t tickets.Ticket) (*found, error) {
	content, stat, err := q.Session.Get(ctx, q.Path(t))
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", q.Path(t), err)
	}
	mark, data, ok := bytes.Cut(content, []byte("\n"))
	if !ok {
		return nil, nil
	}
	return &found{takequeue.Taken{Ticket: t, Item: takequeue.Item{Data: data}}, string(mark), stat.Version}, nil
}

// set replaces the mark of an item, and reports whether the item had the given version.
func (q *MarkAndRequeue) set(ctx context.Context, t tickets.Ticket, version int32, mark string, data []byte) (bool, error) {
	_, err := q.Journal.Do(ctx, &zk.SetDataRequest{Path: q.Path(t), Data: marked(mark, data), Version: version})
	if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, session.Attempted("set "+q.Path(t), err)
}

// TakeNext implements [takequeue.Strategy].
func (q *MarkAndRequeue) TakeNext(ctx context.Context) (*takequeue.Taken, error) {
	if err := q.cleanUp(ctx); err != nil {
		return nil, err
	}
	children, err := q.List(ctx)
	if err != nil {
		return nil, err
	}
	list := tickets.Sorted(children, marker)
	return takequeue.TryEach(ctx, &list, q.mark)
}

func (q *MarkAndRequeue) mark(ctx context.Context, t tickets.Ticket) (*takequeue.Taken, error) {
	item, err := q.read(ctx, t)
	if err != nil || item == nil || item.mark != "" {
		return nil, err
	}
	mine, err := q.set(ctx, t, item.version, q.me, item.Data)
	if err != nil || !mine {
		return nil, err
	}
	q.version, item.Lost = item.version+1, q.Session.Lost()
	return &item.Taken, nil
}

// Refresh implements [variants.Refresher].
func (q *MarkAndRequeue) Refresh(ctx context.Context) error { return q.Session.Do(ctx, q.cleanUp, nil) }

func (q *MarkAndRequeue) cleanUp(ctx context.Context) error {
	if !q.watch.Fired() {
		return nil
	}
	return q.requeue(ctx)
}

func (q *MarkAndRequeue) requeue(ctx context.Context) error {
	_, _, watch, err := q.Session.ChildrenW(ctx, q.consumers)
	if err != nil {
		return err
	}
	marked, err := q.allMarked(ctx)
	if err != nil {
		return err
	}
	alive, _, err := q.Session.Children(ctx, q.consumers)
	if err != nil {
		return err
	}
	for _, item := range marked {
		if slices.Contains(alive, item.mark) {
			continue
		}
		if _, err := q.set(ctx, item.Ticket, item.version, "", item.Data); err != nil {
			return err
		}
	}
	q.watch = watch
	return nil
}

func (q *MarkAndRequeue) allMarked(ctx context.Context) ([]*found, error) {
	children, err := q.List(ctx)
	if err != nil {
		return nil, err
	}
	var all []*found
	for _, t := range tickets.Sorted(children, marker) {
		item, err := q.read(ctx, t)
		if err != nil {
			return nil, err
		}
		if item != nil && item.mark != "" {
			all = append(all, item)
		}
	}
	return all, nil
}

// Finish implements [takequeue.Strategy].
func (q *MarkAndRequeue) Finish(ctx context.Context, t *takequeue.Taken) error {
	_, err := q.Journal.Do(ctx, &zk.DeleteRequest{Path: q.Path(t.Ticket), Version: q.version})
	return session.Attempted("delete "+q.Path(t.Ticket), err)
}

// GiveBack implements [takequeue.Strategy]: it removes the mark.
func (q *MarkAndRequeue) GiveBack(ctx context.Context, t *takequeue.Taken) error {
	_, err := q.set(ctx, t.Ticket, q.version, "", t.Data)
	return err
}

func markAndRequeueVariant() variants.Variant {
	return variants.Variant{
		Name:    "mark-and-requeue",
		Kind:    variants.Naive,
		Summary: "marks the item by a conditional set; the marks of dead clients are removed",
		BadAt: "many clients: each reads the items of all others, one after another, before it finds one without a mark; " +
			"and every death makes all of them read the whole queue",
		Forgoes:  []variants.Loss{variants.ItemsDoubled},
		Lockstep: variants.Cost{Requests: "4.05 + 0.95N", Writes: "3", FailedWrites: "0", Notifications: "0", HerdMax: "0"},
		Free:     variants.Cost{Requests: "N²+4N", Writes: "N+2", FailedWrites: "N-1", Notifications: "0", HerdMax: "0"},
		Join:     join(NewMarkAndRequeue),
	}
}
