package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/block"
)

// snapshot holds the counters of the sessions and of the servers at a moment at which every session is at rest.
type snapshot struct {
	client        wire.Counts
	background    wire.Counts
	servers       []serverReading
	notifications int64 // sent by all servers since their start, if they count them
	zxid          int64 // the last transaction that any server has applied
	sessions      int64 // the number of sessions that exist at that transaction
	leader        int   // zero if no server reports to be the leader
	err           error // why a server's counters are missing

	packets   int64 // received by all servers since their start
	commands  int64 // packets that were four-letter words, from the last ones of the previous snapshot on
	uncounted bool  // there may be more of them than commands
	answered  int64 // packets of zkbench's sessions that the servers had received before they were read
	sent      int64 // packets that zkbench's sessions had sent after that
}

// firstSnapshot takes the snapshot before the load, and then starts the background. Missing counters of a server are an error.
func (m *measurement) firstSnapshot(ctx context.Context) error {
	if err := m.crew.all(func(p block.Part) error { return p.Stand(ctx) }); err != nil {
		return err
	}
	r, err := m.snapshotAtRest(ctx)
	if err := errors.Join(err, r.err); err != nil {
		return err
	}
	m.first = r
	return m.background.Start(ctx)
}

// snapshotAtRest ends the background, waits until every session has caught up with the leader, and then takes a snapshot. No client may be
// at work. A server that does not answer is recorded in the snapshot: as an error, it would discard the measurement.
func (m *measurement) snapshotAtRest(ctx context.Context) (snapshot, error) {
	var r snapshot
	if err := m.background.Drain(ctx); err != nil {
		return r, err
	}
	m.stream.bystanders.Pause() // so that nearly all packets can be counted; no snapshot is in the window
	defer m.stream.bystanders.Resume()
	if err := m.crew.fence(ctx, block.Fence{Living: m.faulty()}); err != nil {
		return r, err
	}
	r.client, r.background = m.crew.state().Clients, m.background.Counts()
	for zxid := int64(-1); r.zxid != zxid && r.err == nil; { // a session may expire while the servers are read
		zxid = r.zxid
		r = snapshot{
			client: r.client, background: r.background, commands: r.commands, uncounted: r.uncounted, answered: m.allCounts().Answers,
		}
		r.servers = readServers(ctx, m.Ensemble, m.owned())
		sent := m.allCounts()
		r.sent = sent.Sent()
		for _, s := range r.servers {
			r.add(s)
		}
	}
	return r, ctx.Err()
}

// owned reports whether the servers' counters have nothing but this run.
func (m *measurement) owned() bool { return m.Dedicated || m.Ensemble.Owned() }

// allCounts returns the counts of all sessions that zkbench has on the servers during a load.
func (m *measurement) allCounts() wire.Counts {
	own := m.crew.state()
	all := own.Clients
	for _, c := range []wire.Counts{own.Beside, m.background.Counts(), m.stream.bystanders.Counts(), m.root.Ledger.Counts()} {
		all.Add(c)
	}
	return all
}

// add includes a server's counters. The leader may lack the last transaction yet: a follower can apply and answer a write before it.
func (r *snapshot) add(s serverReading) {
	r.err = errors.Join(r.err, s.err)
	r.notifications += s.notifications
	r.packets += s.counters["zk_packets_received"]
	r.commands += 2 // mntr and srvr
	r.uncounted = r.uncounted || s.unanswered
	if s.status.Zxid >= r.zxid {
		r.zxid, r.sessions = s.status.Zxid, s.counters["zk_global_sessions"]
	}
	if s.status.Role == ensemble.Leader || s.status.Role == ensemble.Standalone {
		r.leader = s.ID
	}
}

// crossCheck compares the counts of the sessions between two snapshots with the counters of the servers, a second oracle. The
// notifications that the servers sent are compared with the notifications that arrived, lost ones included. The servers'
// transactions are compared with the writes of clients and background, and with the sessions that were opened and ended.
// Transactions include failed writes, which other counters of the servers omit.
func crossCheck(owned bool, begin, end snapshot) results.Oracle {
	client, background := end.client, end.background
	client.Sub(begin.client)
	background.Sub(begin.background)
	writes, _ := client.Writes()
	beside, _ := background.Writes()
	all := client
	all.Add(background)
	o := results.Oracle{
		ClientNotifications: client.TotalNotifications(), LostNotifications: client.LostNotifications,
		ResentNotifications: client.ResentNotifications, UnknownNotifications: client.UnknownNotifications,
		ClientWrites: writes, BackgroundWrites: beside, UnknownTransactions: all.UnknownTransactions,
		SessionTransactions: sessionTransactions(all, end.sessions-begin.sessions),
	}
	if o.Why = whyUnchecked(owned, begin, end); o.Why != "" {
		return o
	}
	if o.Checked = true; o.Doubtful() {
		o.Why = fmt.Sprintf("connections ended at the servers before all had been counted: "+
			"up to %d notifications more may have been sent, and up to %d transactions fewer made",
			o.UnknownNotifications, o.UnknownTransactions)
	}
	o.ServerNotifications = end.notifications - begin.notifications
	o.ServerTransactions = end.zxid - begin.zxid
	return o
}

// sessionTransactions returns how many transactions opened and ended sessions, without those that are counted as writes of a recipe.
// Clients leave some sessions without closing them: the growth of the servers' number of sessions, grew, shows how many of these have
// expired. A counted close without a reply may not have taken effect; the ledger counts it as unknown.
func sessionTransactions(all wire.Counts, grew int64) int64 {
	ranOut := all.SessionsOpened - all.SessionsClosed - grew
	counted := all.Requests[wire.OpCreateSession] + all.Requests[wire.OpCloseSession]
	return max(all.SessionsOpened+all.SessionsClosed+max(ranOut, 0)-counted, 0)
}

// whyUnchecked returns why the servers' counters cannot be compared with the clients', or an empty text.
func whyUnchecked(owned bool, begin, end snapshot) string {
	switch {
	case !owned:
		why := "other clients may use these servers, so that the servers' counters contain more than this run"
		if i := slices.IndexFunc(end.servers, func(s serverReading) bool { return s.uncounted != nil }); i >= 0 {
			why += "; and " + end.servers[i].uncounted.Error()
		}
		return why
	case end.err != nil:
		return strings.ReplaceAll(end.err.Error(), "\n", ", ")
	case begin.leader != end.leader || begin.leader == 0:
		return "the leader changed, or there was none"
	}
	for i, s := range end.servers {
		if restarted(begin.servers[i], s) {
			return s.Name + " restarted or joined the others again, and lost its counters"
		}
	}
	return ""
}
