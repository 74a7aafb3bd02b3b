package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// SettlePoll is the time between two checks whether a client is at rest, and between two syncs of a fence.
const SettlePoll = 100 * time.Microsecond

// Sleep waits for d or for ctx, whichever is first.
func Sleep(ctx context.Context, d time.Duration) error { return variants.WaitFor(ctx, d, nil, nil) }

// Fence returns when each session has received all notifications of the transactions that any session had seen before.
func (p *Pool) Fence(ctx context.Context) error { return p.FenceTo(ctx, p.Latest()) }

// FenceTo returns when each session has received all notifications of the transactions up to one.
func (p *Pool) FenceTo(ctx context.Context, zxid int64) error {
	return p.Each(func(c *Client) error { return c.Fence(ctx, zxid) })
}

// EndLives ends all lives that are over, in a load in which clients fail, and returns when their counts are final. The servers notify others
// of these ends.
func (p *Pool) EndLives(ctx context.Context) {
	_ = p.Each(func(c *Client) error {
		c.endLives(ctx)
		return c.Link.Settle(ctx) // an error leaves counts in doubt, as the ledger says
	})
}

// FenceLiving is FenceTo for the clients whose lives are not over. again is true if a life has ended meanwhile, and has to be ended by
// EndLives.
func (p *Pool) FenceLiving(ctx context.Context, zxid int64) (again bool, err error) {
	err = p.Each(func(c *Client) error {
		if c.gone() {
			return nil
		}
		if err := c.Fence(ctx, zxid); !errors.Is(err, session.ErrSessionLost) {
			return err
		}
		return nil
	})
	return slices.ContainsFunc(p.Clients, func(c *Client) bool { return c.gone() && !session.IsClosed(c.ended) }), err
}

// Look is what a look at clients of a load shows, which may stand still.
type Look struct {
	Waiting []int   // the ids of those that have not taken all their steps, if each of them waits for a watch
	Waits   []int64 // a number for each client that grows when it begins to wait again
	Moving  bool    // a client does not wait, or its session is lost
}

// Look returns what the clients do. A load stands still if two looks, before and after a fence of all sessions, are equal, and clients
// wait in both.
//
// Each client that has not taken all its steps waits for a watch, before and after a fence, and has begun no other wait in
// between. So all of them waited at the same time, with no request under way, and the fence proves that no notification is
// under way either. In a recipe that is [variants.Recipe.SingleThreaded], nothing else could make a client proceed. How
// long this takes does not matter.
//
// Of a client in a driver, only the frames are known. It counts as waiting if it has not answered, has set a watch, has no
// request under way, and sends none until it has sent a ping, which is seconds later. It could still be about to proceed,
// if its thread did not run all that time while the thread that pings did. So this is for libraries that are known to stand
// still, see [variants.Driver].
func (p *Pool) Look() Look {
	look := Look{Waits: list.Map(p.Clients, (*Client).waits)}
	for _, c := range p.Clients {
		switch {
		case !c.Over() && c.Stopped.Load():
		case c.Over() || !c.AtRest():
			return Look{Moving: true}
		default:
			look.Waiting = append(look.Waiting, c.ID)
		}
	}
	if !slices.Equal(look.Waits, list.Map(p.Clients, (*Client).waits)) {
		return Look{Moving: true}
	}
	return look
}

// FenceWaiting fences all sessions up to a transaction. Clients in a driver cannot sync while they wait, but the replies to their pings
// show the same.
func (p *Pool) FenceWaiting(ctx context.Context, zxid int64) error {
	if p.config.driver != nil {
		return p.awaitPings(ctx, zxid)
	}
	return p.FenceTo(ctx, zxid)
}

// awaitPings waits until each session has sent another ping, and a reply shows that its server has applied the last
// transaction, so that the notifications of that transaction have arrived. It takes the place of Fence, but sends nothing:
// it waits up to a third of the session timeout. A session that is so busy that it needs no ping within
// [ensemble.SessionTimeout] makes it fail.
func (p *Pool) awaitPings(ctx context.Context, zxid int64) error {
	ctx, cancel := context.WithTimeout(ctx, ensemble.SessionTimeout)
	defer cancel()
	const exchange = 2           // frames
	until := map[*Client]int64{} // frames of housekeeping
	for _, c := range p.Clients {
		until[c] = c.Ledger.Counts().Housekeeping + exchange
	}
	return p.Each(func(c *Client) error {
		for c.Ledger.Counts().Housekeeping < until[c] || c.Ledger.LastZxid() < zxid {
			if c.Ledger.Over() {
				return session.ErrSessionLost
			}
			if err := Sleep(ctx, SettlePoll); err != nil {
				return err
			}
		}
		return nil
	})
}

// Fence sends syncs until the session's server has applied the transaction. One sync is not always enough: a leader may answer
// the syncs of its own sessions before it has applied a transaction that followers have applied.
func (c *Client) Fence(ctx context.Context, zxid int64) error {
	for deadline := time.Now().Add(ensemble.SessionTimeout); ; {
		_, err := c.Session.Retry(ctx, func(session.Conn) error { return c.Own.Fence() })
		if err != nil || c.Ledger.LastZxid() >= zxid {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("its server did not apply transaction %#x within %s, but others did", zxid, ensemble.SessionTimeout)
		}
		if err := Sleep(ctx, SettlePoll); err != nil {
			return err
		}
	}
}

// Latest returns the last transaction that any session has seen. While no client is at work, no later one exists: each
// transaction comes from a client's request, and all requests have been answered.
func (p *Pool) Latest() int64 {
	var zxid int64
	for _, c := range p.Clients {
		zxid = max(zxid, c.Ledger.LatestZxid())
	}
	return zxid
}

// Refresh lets each participant act on the notifications that it has received.
func (p *Pool) Refresh(ctx context.Context) error {
	return p.Each(func(c *Client) error {
		if r, ok := c.Participant.(variants.Refresher); ok {
			return r.Refresh(ctx)
		}
		return nil
	})
}
