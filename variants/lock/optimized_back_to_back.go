package lock

import (
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
	"github.com/zkbench/zkbench/variants/tickets"
)

// BackToBack is [PredecessorWatch] with the first listing sent right behind the create, without waiting for its reply.
//
//  1. Create <dir>/<guid>-lock-, ephemeral and sequential. When the request is on its way, list <dir>, without a watch.
//     Then wait for both replies. If the reply to the create is lost, look for the GUID.
//  2. If the listing failed, or the client's own znode is missing in it, list <dir> again.
//  3. If its own znode is the lowest, the client holds the lock.
//  4. Read the next lower znode with a watch. If it is gone, list <dir>, without a watch, and go to 3.
//  5. Wait for the watch, list <dir>, without a watch, and go to 3: the predecessor may have withdrawn rather than released.
//  6. To release, or to withdraw, delete the client's own znode.
//
// Servers serve the requests of a session in their order, so that the listing has the client's own znode. That saves a round
// trip, not a request. The lock does not rely on the order: a listing with the client's own znode is later than its create, and
// step 2 makes another one if it is not.
//
// Cost of one acquire and release: 3 requests alone (create, getChildren, delete), 5 after a wait (and getData and
// getChildren), 2 of them writes. One release notifies one client. These are the costs of predecessor-watch.
//
// The client library has no request without a wait for its reply, and does not keep the order of two goroutines. So the create runs
// in a goroutine, and the listing begins when the network connection has seen the create (see [session.SendAwaiter]).
// Without that, the listing waits for the reply, as in predecessor-watch.
//
// Bound: an acquire of a free lock takes at least one write, so that no other client takes it too. Here it takes one round trip
// with one write and one read, which the server answers from memory after the write. znode needs no read; predecessor-watch has
// the read in a round trip of its own. A handoff takes at least one write and one notification. Here a listing follows, because
// the predecessor may have withdrawn before its turn.
//
// Source: ours: predecessor-watch (ZooKeeper recipes page, Locks) in a pipeline.
type BackToBack struct{ *session.Exclusive }

// NewBackToBack returns the lock of one client below an existing znode dir.
func NewBackToBack(s *session.Session, dir string) BackToBack {
	line := tickets.BackToBack{Line: tickets.New(s, dir, marker)}
	return BackToBack{tickets.NewExclusive(s, &line, line.AwaitTurn)}
}

func backToBackVariant() variants.Variant {
	v := predecessorWatchVariant()
	v.Name = "back-to-back"
	v.Summary = "as predecessor-watch, with its create and its first listing in one round trip"
	v.BadAt = "servers in the same process, where starting a goroutine takes longer than a round trip; and long lines, as predecessor-watch"
	v.Join = join(NewBackToBack)
	return v
}
