package enqueue

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// SessionPerPut opens a session for each item, and closes it when the item is in the queue.
//
//  1. Open a session.
//  2. Create <dir>/items/<key>-item-, sequential, in this session.
//  3. If the reply is lost, go to 2.
//  4. Close the session. After a lost reply, sync the first session, in which the workload looks for copies of the item.
//
// As with [BlindRetry], each reply that is lost after the create has taken effect leaves one more copy of the item. The
// sessions hold nothing: one that is kept open would do the same.
//
// Cost of one enqueue: 3 writes, one after another. Servers commit the opening and the closing of a session by a transaction each
// (createSession and closeSession), and both are counted as a request and a write. Not counted are the TCP handshake, and the
// participant's first session, which the audit uses: it is opened and closed once, outside of the window. The times contain the 3 MB of
// buffers that the client library reserves for each session. The workload's audit (see worker) adds a listing, a read and a delete:
// 6 requests, 4 of them writes, for every N, and no notification.
//
// Source: as written, but with a key in the item's name, and a create whose reply is lost is repeated where the source gives
// up: kropponline, My 1st ZooKeeper Recipe: Distributed Queue with Locking, CreateQueue. It connects, creates and closes for
// each item.
type SessionPerPut struct {
	producer
	dial variants.DialFunc
}

// NewSessionPerPut returns a producer for a queue below an existing znode dir. It creates the queue in the given session, and opens the
// others with dial.
func NewSessionPerPut(ctx context.Context, s *session.Session, dir string, dial variants.DialFunc) (*SessionPerPut, error) {
	p, err := open(ctx, s, dir)
	return &SessionPerPut{p, dial}, err
}

// Enqueue implements [Producer].
func (q *SessionPerPut) Enqueue(ctx context.Context, key string, data []byte) error {
	return q.session.DoWhileAlive(ctx, func(ctx context.Context) error {
		session, hangUp, err := q.dial(ctx)
		if err != nil {
			return fmt.Errorf("open a session for item %s: %w", key, err)
		}
		defer hangUp()
		if err := q.put(ctx, session, key, data); err != nil || session.Outages() == 0 {
			return err
		}
		// The workload counts the copies of the item in the first session, whose server may lag behind the other session's.
		return q.session.Sync(ctx, q.dir)
	}, nil)
}

func sessionPerPutVariant() variants.Variant {
	return variants.Variant{
		Name:     "session-per-put",
		Kind:     variants.Naive,
		Summary:  "open a session, create the item, close the session",
		BadAt:    "cost: three quorum writes for each item, one after another, and a connection; lost replies as with blind-retry",
		Forgoes:  []variants.Loss{variants.ItemsDoubled},
		Lockstep: costs("6", "4"),
		Free:     costs("6", "4"),
		Join: joinBy(enqueuing, func(ctx context.Context, env variants.Env) (*SessionPerPut, error) {
			return NewSessionPerPut(ctx, env.Session, env.Root, env.Dial)
		}),
	}
}
