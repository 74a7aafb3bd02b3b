package pool

import (
	"context"
	"errors"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants/session"
)

// Witness looks at what participants hold, through a session that takes no part in the load; see [variants.Env].
type Witness struct {
	ledger *wire.Ledger
	open   func() *session.Session // returns a new handle
	Close  func()
}

// Witness returns a witness on the session that owns the root, which stays open.
func (r *Root) Witness() Witness { return Witness{r.Ledger, r.Session, func() {}} }

// OpenWitness opens a session for a witness.
func OpenWitness(ctx context.Context, server ensemble.Server) (Witness, error) {
	link, monitor := ensemble.NewLink(wire.NewLedger(time.Now())), session.NewMonitor(ensemble.SessionTimeout)
	conn, err := ensemble.OpenSession(ctx,
		ensemble.SessionConfig{Servers: []ensemble.Server{server}, Link: link, Observe: monitor.Observe})
	if err != nil {
		return Witness{}, err
	}
	monitor.Guard(conn)
	closeIt := func() { monitor.Dismiss(); conn.Close() }
	return Witness{link.Ledger(), func() *session.Session { return newSession(conn, monitor, server) }, closeIt}, nil
}

// Counts returns the counts of the session.
func (w Witness) Counts() wire.Counts { return w.ledger.Counts() }

// Look returns the session when it has seen a transaction. One sync is not always enough, see [ensemble.Fence].
func (w Witness) Look(ctx context.Context, zxid int64) (*session.Session, error) {
	s := w.open()
	for w.ledger.LastZxid() < zxid {
		if err := errors.Join(s.Sync(ctx, wire.FencePath), Sleep(ctx, SettlePoll)); err != nil {
			return nil, err
		}
	}
	return s, nil
}
