package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/items"
	"github.com/zkbench/zkbench/variants/line"
)

// claiming is what the variants share that claim an item by an ephemeral znode, and remove it when it has been
// processed. They differ in how they find one that nobody has claimed, and in how they remove it.
type claiming struct {
	items.Client
	claim func(line.Ticket) string // where an item's claim is
}

// claimRequest creates the claim of an item.
func (q *claiming) claimRequest(t line.Ticket) *zk.CreateRequest {
	return &zk.CreateRequest{Path: q.claim(t), Acl: variants.WorldACL(), Flags: zk.FlagEphemeral}
}

// unclaimRequest deletes it.
func (q *claiming) unclaimRequest(t line.Ticket) *zk.DeleteRequest {
	return &zk.DeleteRequest{Path: q.claim(t), Version: -1}
}

// readClaimed returns an item that this client has claimed. If that fails, or the item is gone, which is nil, the claim
// is given back.
func (q *claiming) readClaimed(ctx context.Context, t line.Ticket) (*items.Taken, error) {
	item := &items.Taken{Ticket: t, Lost: q.Lost}
	var found bool
	var err error
	item.Data, found, err = q.Read(ctx, t)
	if err == nil && found {
		return item, nil
	}
	ctx, cancel := variants.Cleanup(ctx)
	defer cancel()
	return nil, errors.Join(err, q.GiveBack(ctx, item))
}

// GiveBack deletes the claim.
func (q *claiming) GiveBack(ctx context.Context, t *items.Taken) error {
	if _, err := q.Journal.Do(ctx, q.unclaimRequest(t.Ticket)); err != nil {
		return fmt.Errorf("delete %s: %w", q.claim(t.Ticket), err)
	}
	return nil
}
