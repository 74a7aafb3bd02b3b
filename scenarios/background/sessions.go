package background

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/scenarios/pool"
)

type session struct {
	conn   *zk.Conn
	ledger *wire.Ledger
	server int
}

type sessions struct{ each []session }

// Counts returns the sum of the counts of all sessions.
func (s sessions) Counts() wire.Counts {
	var total wire.Counts
	for _, one := range s.each {
		total.Add(one.ledger.Counts())
	}
	return total
}

// openSessions opens sessions that are distributed over the servers in turn.
func openSessions(ctx context.Context, epoch time.Time, servers []ensemble.Server, n int) ([]session, error) {
	ctx, cancel := context.WithTimeout(ctx, pool.ConnectTimeout)
	defer cancel()
	var each []session
	for i := range n {
		server, ledger := servers[i%len(servers)], wire.NewLedger(epoch)
		conn, err := ensemble.Connect(ctx, server, ledger, nil)
		if err != nil {
			closeAll(each)
			return nil, fmt.Errorf("session %d: %w", i, err)
		}
		each = append(each, session{conn, ledger, server.ID})
	}
	return each, nil
}

// closeAll closes sessions at the same time, because each may take a second.
func closeAll(each []session) {
	var closing sync.WaitGroup
	for _, s := range each {
		closing.Go(s.conn.Close)
	}
	closing.Wait()
}

// schedule is an open-loop arrival plan: request i is due at start + i·interval, even if earlier requests have not been
// answered. A request that is sent late is still timed from when it was due. Timing it from when it was sent would leave out
// the waiting that a user would have seen (coordinated omission).
type schedule struct {
	start    time.Duration
	interval time.Duration
}

// newSchedule returns a schedule of rate requests per second. The offset, a share of the interval between 0 and 1, keeps
// several schedules from being due at the same moments.
func newSchedule(start time.Duration, rate int, offset float64) schedule {
	interval := time.Second / time.Duration(rate)
	return schedule{start: start + time.Duration(offset*float64(interval)), interval: interval}
}

func (s schedule) due(i int) time.Duration { return s.start + time.Duration(i)*s.interval }
