package queue

import (
	"context"
	"errors"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/takequeue"
	"github.com/zkbench/zkbench/variants/tickets"
)

// claiming is the common part of the variants that claim an item with an ephemeral znode and remove it when it has been
// processed. They differ in how they find an unclaimed item, and in how they remove it.
type claiming struct {
	takequeue.Client
	claim func(tickets.Ticket) string // the path of an item's claim
}

// claimsIn gives each item's claim the item's name in another directory.
func claimsIn(dir string) func(tickets.Ticket) string {
	return func(t tickets.Ticket) string { return path.Join(dir, t.Name) }
}

func (q *claiming) claimRequest(t tickets.Ticket) *zk.CreateRequest {
	return &zk.CreateRequest{Path: q.claim(t), Flags: zk.FlagEphemeral}
}

func (q *claiming) unclaimRequest(t tickets.Ticket) *zk.DeleteRequest {
	return &zk.DeleteRequest{Path: q.claim(t), Version: -1}
}

// lock looks for an item's claim and creates it if there is none. It returns nil if another client has the item.
func (q *claiming) lock(ctx context.Context, t tickets.Ticket) (*takequeue.Taken, error) {
	claimed, _, err := q.Session.Exists(ctx, q.claim(t))
	if err != nil || claimed {
		return nil, err
	}
	_, err = q.Journal.Do(ctx, q.claimRequest(t))
	switch {
	case err == nil:
		return q.readClaimed(ctx, t)
	case errors.Is(err, zk.ErrNodeExists):
		return nil, nil
	default:
		return nil, fmt.Errorf("create %s: %w", q.claim(t), err)
	}
}

// readClaimed returns an item that this client has claimed. If the item is gone, it gives the claim back and returns
// nil. After an error, it gives the claim back, too.
func (q *claiming) readClaimed(ctx context.Context, t tickets.Ticket) (*takequeue.Taken, error) {
	data, found, err := q.Session.Find(ctx, q.Path(t))
	item := &takequeue.Taken{Ticket: t, Item: takequeue.Item{Data: data, Lost: q.Session.Lost()}}
	if err == nil && found {
		return item, nil
	}
	ctx, cancel := session.Cleanup(ctx)
	defer cancel()
	return nil, errors.Join(err, q.GiveBack(ctx, item))
}

func (q *claiming) GiveBack(ctx context.Context, t *takequeue.Taken) error {
	_, err := q.Journal.Do(ctx, q.unclaimRequest(t.Ticket))
	return session.Attempted("delete "+q.claim(t.Ticket), err)
}

// Finish leaves the claim behind.
func (q *claiming) Finish(ctx context.Context, t *takequeue.Taken) error {
	_, err := q.Journal.Do(ctx, &zk.DeleteRequest{Path: q.Path(t.Ticket), Version: -1})
	return session.Attempted("delete "+q.Path(t.Ticket), err)
}
