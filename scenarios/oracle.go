package scenarios

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
)

// reading is the state of all accounts at a moment at which every session was at rest.
type reading struct {
	at            time.Duration
	client        wire.Counts
	notifications int64 // sent by all servers since their start; only if the ensemble is ours
	zxid          int64 // last transaction of the leader
	leader        int
}

// quiesce lets every session catch up with the leader, then reads the accounts. No member may be at work.
func (m *measurement) quiesce(ctx context.Context) (reading, error) {
	r := reading{at: m.crowd.since()}
	if err := m.crowd.fence(ctx); err != nil {
		return r, err
	}
	r.client = m.crowd.counts()
	for _, s := range m.ensemble.Servers() {
		if m.ensemble.Owned() {
			sent, err := ensemble.NotificationsSent(ctx, s.Addr)
			if err != nil {
				return r, fmt.Errorf("read the counters of %s: %w", s.Name, err)
			}
			r.notifications += sent
		}
		status, err := ensemble.Probe(ctx, s.Addr)
		if err != nil {
			return r, fmt.Errorf("read the state of %s: %w", s.Name, err)
		}
		if status.Role == ensemble.Leader || status.Role == ensemble.Standalone {
			r.leader, r.zxid = s.ID, status.Zxid
		}
	}
	return r, nil
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
	case begin.leader != end.leader || begin.leader == 0:
		o.Why = "the leader changed, or there was none"
	default:
		o.Checked = true
		o.ServerNotifications = end.notifications - begin.notifications
		o.ServerTransactions = end.zxid - begin.zxid
	}
	return o
}
