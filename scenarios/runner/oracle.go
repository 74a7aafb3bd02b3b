package runner

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
)

// reading is the state of all accounts at a moment at which every session was at rest.
type reading struct {
	at            time.Duration
	client        wire.Counts
	servers       []serverReading
	notifications int64 // sent by all servers since their start; only if the ensemble is ours
	zxid          int64 // last transaction of the leader
	leader        int   // zero if none said that it is
	reconnects    int   // of all sessions
	err           error // why a server's account is missing
}

// begin reads the accounts at the moment from which on everything counts. All of them must be there.
func (m *measurement) begin(ctx context.Context) (reading, error) {
	r, err := m.quiesce(ctx)
	r.at = m.crowd.since()
	return r, errors.Join(err, r.err)
}

// quiesce lets every session catch up with the leader, then reads the accounts. No member may be at work. A server that
// does not answer is no error: a whole measurement would be lost for it.
func (m *measurement) quiesce(ctx context.Context) (reading, error) {
	r := reading{at: m.crowd.since()}
	if err := m.crowd.fence(ctx); err != nil {
		return r, err
	}
	r.client, r.reconnects = m.crowd.counts(), m.crowd.reconnects()
	r.servers = readServers(ctx, m.ensemble)
	for _, s := range r.servers {
		r.err = errors.Join(r.err, s.err)
		r.notifications += s.notifications
		if s.status.Role == ensemble.Leader || s.status.Role == ensemble.Standalone {
			r.leader, r.zxid = s.ID, s.status.Zxid
		}
	}
	return r, ctx.Err()
}

// consult compares what happened between two readings by both accounts.
//
// The second account has two entries: the servers' counters of the notifications they sent, and the leader's
// transactions, which include the failed writes that other server counters leave out.
func consult(owned bool, begin, end reading) results.Oracle {
	client := end.client
	client.Sub(begin.client)
	writes, _ := client.Writes()
	o := results.Oracle{ClientNotifications: client.TotalNotifications(), ClientWrites: writes}
	switch {
	case !owned:
		o.Why = "other sessions may be on these servers, so that their counters are not ours alone"
	case end.err != nil:
		o.Why = strings.ReplaceAll(end.err.Error(), "\n", ", ")
	case begin.leader != end.leader || begin.leader == 0:
		o.Why = "the leader changed, or there was none"
	case begin.reconnects != end.reconnects:
		o.Why = "a session had to reconnect: the servers' counters leave out notifications that are sent again, and contain those that were lost with a connection"
	default:
		o.Checked = true
		o.ServerNotifications = end.notifications - begin.notifications
		o.ServerTransactions = end.zxid - begin.zxid
	}
	return o
}

// reconnects returns how often sessions were re-attached over a new connection.
func (c *crowd) reconnects() int {
	var total int
	for _, m := range c.members {
		total += m.ledger.Reconnects()
	}
	return total
}
