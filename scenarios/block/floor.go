package block

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

// The limits of each half of a floor. Without pauses, a half takes a quarter of a second on three containers. It ends after a second,
// but a slow ensemble gets more time for the least number of rounds. On the embedded server a half has only these, because its
// times cannot be compared with the times of other servers.
const (
	FloorMostRounds  = 100
	FloorLeastRounds = 10
	floorMostPause   = 10 * time.Millisecond // leaves a half of a second enough rounds for a median
	floorLength      = time.Second
	floorPatience    = 3 * time.Second  // for the least number of rounds
	floorTimeout     = 10 * time.Second // for a half; a measurement in which it takes longer has no floor
)

// floorMeter measures how long single operations take on the idle ensemble, before and after the load. It has its own
// sessions, two on each server. Each session owns an ephemeral znode beside the participants' root. The rounds go to all pairs
// of servers in turn, a server paired with itself included, because a lock passes between any two clients:
//
//  1. A session on the first server reads its znode.
//  2. A session on the second server reads the same znode with a watch.
//  3. Both pause for as long as the scenario's clients hold, but for floorMostPause at most: after a pause, CPUs and servers answer later
//     than in a busy loop.
//  4. The first session writes its znode. The reply ends a write, and the notification of the second one ends a handoff. As
//     in a lock's handoff, the watch is set before, and setting it is not timed.
//
// Both halves lie outside of the time that the cross-check compares: when the first half ends, every server has applied all
// its transactions.
type floorMeter struct {
	rounds   int // the largest number of rounds in each half
	at       pool.Config
	path     string // the prefix of the paths of the znodes; the number of the session follows
	sessions *pool.Pool
	created  bool // the sessions have their znodes
	floor    results.Floor
	working  sync.WaitGroup
}

// newFloorMeter returns a meter of the floor of clients that hold so long.
func newFloorMeter(rounds int, recipe variants.Recipe, at pool.Config, hold time.Duration) *floorMeter {
	own := pool.Config{Servers: at.Servers, Clients: 2 * len(at.Servers)}
	f := &floorMeter{rounds: rounds, at: own, path: fmt.Sprintf("%s-floor-%d-", at.Root, at.Block.Index)}
	f.floor.Phases, f.floor.Pause = map[string]string{}, min(hold, floorMostPause)
	for _, p := range recipe.Phases {
		if p.Floor != "" {
			f.floor.Phases[p.Name] = string(p.Floor)
		}
	}
	return f
}

// before opens the sessions and measures the first half. A failure is recorded in the floor and does not fail the measurement.
//
// Note: these sessions have the same time limit to open as the participants' sessions. With a shorter limit, a silent server
// could create a session after it was given up here. That session would expire during the time that the cross-check compares.
func (f *floorMeter) before(ctx context.Context) {
	f.open(ctx)
	f.floor.Before = f.half(ctx)
}

// open records a failure in the floor.
func (f *floorMeter) open(ctx context.Context) {
	var err error
	idle := variants.Variant{Join: func(context.Context, variants.Env) (variants.Participant, error) { return nil, nil }}
	f.sessions, err = pool.Connect(ctx, f.at, idle)
	if err != nil {
		f.floor.Why = err.Error()
	}
}

// renew replaces the sessions, which servers that failed may have ended. Their znodes may outlive them for a while.
func (f *floorMeter) renew(ctx context.Context) {
	f.close(ctx)
	f.path += "again-"
	f.created = false
	if f.floor.Why == "" {
		f.open(ctx)
	}
}

// half returns the histograms of one half. It returns nil if the half fails or takes too long, or if something has failed before.
// The client library's operations take no context: one that is still under way then is left alone until the sessions are closed
// after the measurement, because closing a session is a transaction.
func (f *floorMeter) half(ctx context.Context) map[string]results.Histogram {
	if f.floor.Why != "" {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, floorTimeout, fmt.Errorf("the ensemble did not answer within %s", floorTimeout))
	defer cancel()
	var half map[string]results.Histogram
	done := make(chan error, 1)
	f.working.Go(func() {
		var err error
		half, err = f.measure(ctx)
		done <- err
	})
	select {
	case err := <-done:
		if err != nil {
			f.floor.Why = err.Error()
		}
		return half
	case <-ctx.Done():
		f.floor.Why = context.Cause(ctx).Error()
		return nil
	}
}

// createZnodes creates an ephemeral znode for each session, and returns when every server has applied them all.
func (f *floorMeter) createZnodes(ctx context.Context) error {
	err := f.sessions.Each(func(m *pool.Client) error {
		_, err := m.Session.Conn().Create(f.znode(m), make([]byte, pool.BystanderBytes), zk.FlagEphemeral, m.Session.ACL())
		return err
	})
	if err != nil {
		return err
	}
	return f.sessions.Fence(ctx)
}

func (f *floorMeter) znode(m *pool.Client) string { return fmt.Sprintf("%s%d", f.path, m.ID) }

// close closes the sessions, which ends the operations that are still under way.
func (f *floorMeter) close(ctx context.Context) {
	if f.sessions != nil {
		f.sessions.CloseAll(ctx)
	}
	f.working.Wait()
}

func (f *floorMeter) measure(ctx context.Context) (map[string]results.Histogram, error) {
	if !f.created {
		if err := f.createZnodes(ctx); err != nil {
			return nil, err
		}
		f.created = true
	}
	took := map[string]*results.LiveHistogram{results.FloorRead: {}, results.FloorWrite: {}, results.FloorHandoff: {}}
	start, rounds := time.Now(), 0
	for ; !f.enough(rounds, time.Since(start)); rounds++ {
		from, to := f.pair(rounds)
		if err := f.round(ctx, from, to, took); err != nil {
			return nil, err
		}
	}
	if servers := len(f.sessions.Clients) / 2; rounds >= servers*servers {
		f.floor.Pairs = results.FloorAllPairs
	}
	if err := f.sessions.Fence(ctx); err != nil {
		return nil, err
	}
	half := map[string]results.Histogram{}
	for operation, live := range took {
		half[operation] = live.Encode()
	}
	return half, nil
}

// pair returns the sessions of a round: one of the first half writes, and one of the other half watches. Each half has all servers.
func (f *floorMeter) pair(round int) (from, to *pool.Client) {
	clients := f.sessions.Clients
	servers := len(clients) / 2
	return clients[round%servers], clients[servers+(round+round/servers)%servers]
}

func (f *floorMeter) enough(rounds int, spent time.Duration) bool {
	switch {
	case rounds == 0:
		return false
	case rounds < FloorLeastRounds:
		return spent > floorPatience
	default:
		return rounds >= f.rounds || spent > floorLength
	}
}

// round lets one session read and write its znode, and another one be notified of it.
func (f *floorMeter) round(ctx context.Context, from, to *pool.Client, took map[string]*results.LiveHistogram) error {
	start := time.Now()
	if _, _, err := from.Session.Conn().Get(f.znode(from)); err != nil {
		return from.Explain(fmt.Errorf("read: %w", err))
	}
	took[results.FloorRead].Add(time.Since(start))
	_, _, events, err := to.Session.Conn().GetW(f.znode(from))
	if err != nil {
		return to.Explain(fmt.Errorf("set a watch: %w", err))
	}
	var arrived time.Time
	notified := make(chan error, 1)
	f.working.Go(func() {
		select {
		case e := <-events:
			arrived = time.Now()
			notified <- e.Err
		case <-ctx.Done():
			notified <- context.Cause(ctx)
		}
	})
	if err := pool.Sleep(ctx, f.floor.Pause); err != nil {
		return err
	}
	start = time.Now()
	if _, err := from.Session.Conn().Set(f.znode(from), make([]byte, pool.BystanderBytes), -1); err != nil {
		return from.Explain(fmt.Errorf("write: %w", err))
	}
	took[results.FloorWrite].Add(time.Since(start))
	if err := <-notified; err != nil {
		return to.Explain(err)
	}
	took[results.FloorHandoff].Add(arrived.Sub(start))
	return nil
}
