package tickets

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
)

// Matching is a line in which ticket k belongs to item k of another directory. A client has one ticket at most. An item that has lost its
// ticket is an orphan, which other clients put behind the other items. The queue matched-ticket explains why that is right. A Matching must
// not be copied. Its journal may be used for other writes, but not at the same time.
type Matching struct {
	Line                     // of the tickets
	Items   Line             // whose names are their marker and their number
	Journal *session.Journal // of the writes to items
	Every   int32            // one client in so many looks for orphans when it takes its ticket; zero if only clients that wait look
	mine    Ticket           // without a name while the client has none
	watch   *session.Watch   // of the item of the ticket, while it has not been put
	looked  time.Time        // when the client has taken its ticket, or has looked for orphans since
}

// orphanPause is the time after which a client that waits looks for orphans. It adds to the session timeout of a client that has died.
const orphanPause = 5 * time.Second

var errLastTicket = errors.New("the numbers of tickets are used up: use a queue in a fresh directory")

// Stands reports whether the client has a ticket.
func (m *Matching) Stands() bool { return m.mine.Name != "" }

// stand takes a ticket unless the client has one. A look for orphans costs two listings more.
func (m *Matching) stand(ctx context.Context) (err error) {
	if m.Stands() {
		return nil
	}
	if m.mine, err = m.Enter(ctx); err != nil {
		return err
	}
	m.watch, m.looked = nil, time.Now()
	if m.mine.Seq < 0 || m.mine.Seq == math.MaxInt32 {
		return errLastTicket
	}
	if m.Every > 0 && m.mine.Seq%m.Every == m.Every-1 {
		_, _, err = m.rescue(ctx)
	}
	return err
}

// Find takes a ticket unless the client has one, and reads its item. If that has not been put, the client watches for it, and found is
// false. If it has been there and is gone, because another program has deleted it or has taken its number, the client takes another ticket.
func (m *Matching) Find(ctx context.Context) (item Ticket, data []byte, found bool, err error) {
	if err := m.stand(ctx); err != nil {
		return Ticket{}, nil, false, err
	}
	for {
		item = m.item()
		if data, found, err = m.Items.Session.Find(ctx, m.Items.Path(item)); err != nil || found {
			return item, data, found, err
		}
		if again, err := m.lacks(ctx, item); err != nil || !again {
			return item, nil, false, err
		}
	}
}

func (m *Matching) item() Ticket {
	return Ticket{Name: fmt.Sprintf("%s%010d", m.Items.Marker, m.mine.Seq), Seq: m.mine.Seq}
}

// lacks watches an item that has just not been there, and looks for orphans when the time has come. It returns true if the item of the
// client's ticket, which may be another one then, may be there now.
func (m *Matching) lacks(ctx context.Context, item Ticket) (again bool, err error) {
	if m.watch == nil || m.watch.Fired() {
		again, _, m.watch, err = m.Items.Session.ExistsW(ctx, m.Items.Path(item))
	}
	switch {
	case err != nil || again:
		return again, err
	case time.Since(m.looked) < orphanPause:
		return false, nil
	}
	m.looked = time.Now()
	again, items, err := m.rescue(ctx)
	if err != nil || again || !items.created(item) {
		return again, err
	}
	if !slices.Contains(items.names, item.Name) {
		err = errors.Join(m.GiveUp(ctx), m.stand(ctx))
	}
	return true, err
}

// listing is what a directory held.
type listing struct {
	names []string
	dir   *zk.Stat
}

func (l Line) listing(ctx context.Context) (all listing, err error) {
	all.names, all.dir, err = l.Session.Children(ctx, l.Dir)
	return all, err
}

// created reports whether the znode with a number had been created by then. The number counts creates.
func (l listing) created(t Ticket) bool {
	return (uint32(l.dir.Cversion)+uint32(l.dir.NumChildren))/2 > uint32(t.Seq)
}

// Await returns when the item of the client's ticket has been put, or when it is time to look for orphans: call Find again.
func (m *Matching) Await(ctx context.Context) error {
	_, err := m.await(ctx, m.watch, m.looked.Add(orphanPause))
	return err
}

func (m *Matching) await(ctx context.Context, watch *session.Watch, until time.Time) (late bool, err error) {
	limited, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	err = m.Session.Await(limited, watch)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return true, nil
	}
	return false, err
}

// AwaitGone returns when an item is gone or moved, or may be after a reconnect, as [Line.AwaitWatch] does. A client without a ticket may
// call it, and looks for orphans meanwhile: the item may be one.
func (m *Matching) AwaitGone(ctx context.Context, item Ticket) error {
	_, _, watch, err := m.Items.Session.GetW(ctx, m.Items.Path(item))
	for err == nil && !watch.Fired() {
		var late bool
		if late, err = m.await(ctx, watch, time.Now().Add(orphanPause)); late {
			_, _, err = m.rescue(ctx)
		}
	}
	return session.Unless(zk.ErrNoNode, "read "+m.Items.Path(item), err)
}

// rescue moves all orphans behind the other items. It reports whether there was one, and which items there were. A number whose ticket is
// known to be gone is passed over at once, as clients that withdraw one after another may be ahead of the items by any number of tickets.
func (m *Matching) rescue(ctx context.Context) (moved bool, items listing, err error) {
	held, err := m.listing(ctx)
	if err != nil {
		return false, items, err
	}
	if items, err = m.Items.listing(ctx); err != nil {
		return false, items, err
	}
	owned := map[int32]bool{}
	for _, t := range Sorted(held.names, m.Marker) {
		owned[t.Seq] = true
	}
	orphan := func(item Ticket) bool { return item.Name != "" && !owned[item.Seq] && held.created(item) }
	for _, item := range Sorted(items.names, m.Items.Marker) {
		if !orphan(item) {
			continue
		}
		data, found, err := m.Items.Session.Find(ctx, m.Items.Path(item))
		for place := item; err == nil && found && orphan(place); {
			place, err = m.move(ctx, place, data)
		}
		if err = session.Unless(zk.ErrNoNode, "move "+m.Items.Path(item), err); err != nil {
			return false, items, err
		}
		moved = true
	}
	return moved, items, nil
}

// move puts an item behind all others, and makes further writes in the same transaction. It returns the item's new place, without a name
// if the reply is lost.
func (m *Matching) move(ctx context.Context, item Ticket, data []byte, writes ...any) (place Ticket, err error) {
	writes = append(writes, &zk.DeleteRequest{Path: m.Items.Path(item), Version: -1}, m.Items.AppendRequest(data))
	results, err := m.Journal.Do(ctx, writes...)
	if len(results) > 0 {
		place, _ = Parse(path.Base(results[len(results)-1].String), m.Items.Marker)
	}
	return place, err
}

// Finish deletes the item that Find has found, and the ticket. It returns false if another program has deleted the item: the client then
// has no ticket any more, either.
func (m *Matching) Finish(ctx context.Context, item Ticket) (found bool, err error) {
	_, err = m.Journal.Do(ctx, &zk.DeleteRequest{Path: m.Items.Path(item), Version: -1}, m.leaveRequest(m.mine))
	return m.left(ctx, "delete "+m.Items.Path(item)+" and its ticket", err)
}

// GiveBack puts the item that Find has found behind all others unless another program has deleted it, and deletes the ticket.
func (m *Matching) GiveBack(ctx context.Context, item Ticket, data []byte) error {
	_, err := m.move(ctx, item, data, m.leaveRequest(m.mine))
	_, err = m.left(ctx, "give "+m.Items.Path(item)+" back", err)
	return err
}

func (m *Matching) leaveRequest(mine Ticket) any {
	return &zk.DeleteRequest{Path: m.Path(mine), Version: -1}
}

// left ends a transaction that deletes an item and the client's ticket. It deletes the ticket alone if the item was gone.
func (m *Matching) left(ctx context.Context, attempted string, err error) (found bool, _ error) {
	gone := errors.Is(err, zk.ErrNoNode)
	if gone {
		err = m.Leave(ctx, m.mine)
	}
	if err != nil {
		return false, session.Attempted(attempted, err)
	}
	m.mine = Ticket{}
	return !gone, nil
}

// GiveUp is StandBack without an error before.
func (m *Matching) GiveUp(ctx context.Context) error { return m.StandBack(ctx, nil) }

// StandBack deletes the client's ticket, if it has one, after err. It puts the item of the ticket behind all others, if it is there. If it
// is put at this very moment, it becomes an orphan.
func (m *Matching) StandBack(ctx context.Context, err error) error {
	if !m.Stands() {
		return err
	}
	mine, item := m.mine, m.item()
	m.mine = Ticket{}
	return session.Withdraw(ctx, err, func(ctx context.Context) error {
		data, found, err := m.Items.Session.Find(ctx, m.Items.Path(item))
		if err == nil && found {
			_, err = m.move(ctx, item, data, m.leaveRequest(mine))
		}
		if err == nil && !found || errors.Is(err, zk.ErrNoNode) { // its producer may have withdrawn it meanwhile
			err = m.Leave(ctx, mine)
		}
		return err
	})
}
