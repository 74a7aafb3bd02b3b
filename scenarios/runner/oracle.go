package runner

import (
	"context"
	"errors"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
)

// snapshot holds the counters of the sessions and of the servers at a moment at which every session is at rest.
type snapshot struct {
	client        wire.Counts
	servers       []serverReading
	notifications int64 // sent by all servers since their start; only on an ensemble that zkbench owns
	zxid          int64 // the last transaction that any server has applied
	leader        int   // zero if no server reports to be the leader
	reconnects    int   // of all sessions
	err           error // why a server's counters are missing
}

// firstSnapshot takes the snapshot before the load. It is an error if a server's counters are missing.
func (m *measurement) firstSnapshot(ctx context.Context) (snapshot, error) {
	r, err := m.snapshotAtRest(ctx)
	return r, errors.Join(err, r.err)
}

// begin takes the first snapshot and opens the window.
func (m *measurement) begin(ctx context.Context) (snapshot, error) {
	r, err := m.firstSnapshot(ctx)
	m.stream.openWindow()
	return r, err
}

// snapshotAtRest waits until every session has caught up with the leader, and then takes a snapshot. No client may be at work.
// The snapshot records which server does not answer. That is not returned as an error, which would discard the measurement.
func (m *measurement) snapshotAtRest(ctx context.Context) (snapshot, error) {
	var r snapshot
	fence := m.pool.fence
	if m.faults != nil {
		fence = m.pool.fenceLiving
	}
	if err := fence(ctx); err != nil {
		return r, err
	}
	r.client, r.reconnects = m.pool.counts(), m.pool.reconnects()
	r.servers = readServers(ctx, m.ensemble)
	for _, s := range r.servers {
		r.add(s)
	}
	return r, ctx.Err()
}

// add includes a server's counters. The last transaction may be one that the leader has not applied yet: a follower can apply
// and answer a write before it does.
func (r *snapshot) add(s serverReading) {
	r.err = errors.Join(r.err, s.err)
	r.notifications += s.notifications
	r.zxid = max(r.zxid, s.status.Zxid)
	if s.status.Role == ensemble.Leader || s.status.Role == ensemble.Standalone {
		r.leader = s.ID
	}
}

// crossCheck compares the sessions' counts between two snapshots with a second oracle, the servers. Their counters of sent
// notifications are compared with the notifications received. The servers' transactions are compared with the writes, as they
// include the failed writes that other counters of the servers leave out.
func crossCheck(owned bool, begin, end snapshot) results.Oracle {
	client := end.client
	client.Sub(begin.client)
	writes, _ := client.Writes()
	o := results.Oracle{ClientNotifications: client.TotalNotifications(), ClientWrites: writes}
	switch {
	case !owned:
		o.Why = "other clients may use these servers, so that the servers' counters contain more than this run"
	case end.err != nil:
		o.Why = strings.ReplaceAll(end.err.Error(), "\n", ", ")
	case begin.leader != end.leader || begin.leader == 0:
		o.Why = "the leader changed, or there was none"
	case begin.reconnects != end.reconnects:
		o.Why = "a session had to reconnect: the servers' counters leave out notifications that are sent again, " +
			"and contain those that were lost with a connection"
	default:
		o.Checked = true
		o.ServerNotifications = end.notifications - begin.notifications
		o.ServerTransactions = end.zxid - begin.zxid
	}
	return o
}

// reconnects returns how many times the sessions moved to a new connection.
func (p *clientPool) reconnects() int {
	var total int
	for _, c := range p.clients {
		total += c.ledger.Reconnects()
	}
	return total
}
