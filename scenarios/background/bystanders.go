package background

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/pool"
)

// Bystanders are sessions that take no part in the recipe: one per server, each reading a small znode at a fixed low rate.
// Their latencies show what the load costs other applications on the same ensemble.
type Bystanders struct {
	Epoch time.Time
	Path  string // the znode that they read
	Rate  int    // per second and server

	paused atomic.Int64 // since the epoch; reads that are due then or later are left out; 0 means none

	sessions
	stop context.CancelFunc
	wait sync.WaitGroup

	mu     sync.Mutex
	reads  []results.BystanderRead // completed since the last Take
	late   results.LiveHistogram   // how late each read was sent
	failed int
}

// Start opens a session to each server and reads there until Finish.
func (b *Bystanders) Start(ctx context.Context, servers []ensemble.Server) (err error) {
	if b.each, err = openSessions(ctx, b.Epoch, servers, len(servers)); err != nil {
		return fmt.Errorf("bystanders: %w", err)
	}
	ctx, b.stop = context.WithCancel(ctx)
	start := time.Since(b.Epoch)
	for i, one := range b.each {
		plan := newSchedule(start, b.Rate, float64(i)/float64(len(servers)))
		b.wait.Go(func() { b.read(ctx, one, plan) })
	}
	return nil
}

// Pause leaves out the reads that become due from now on, until Resume. Reads that were due before are sent, however late.
func (b *Bystanders) Pause() { b.paused.Store(max(int64(time.Since(b.Epoch)), 1)) }

// Resume ends a pause.
func (b *Bystanders) Resume() { b.paused.Store(0) }

// read sends one session's reads when they are due, even if earlier ones have not been answered. A bystander that waited for
// its own slow reads would send fewer of them just when the ensemble is slow.
func (b *Bystanders) read(ctx context.Context, one session, plan schedule) {
	for i := 0; ; i++ {
		due := plan.due(i)
		if pool.Sleep(ctx, due-time.Since(b.Epoch)) != nil {
			return
		}
		if paused := b.paused.Load(); paused != 0 && due >= time.Duration(paused) {
			continue
		}
		b.wait.Go(func() {
			sent := time.Since(b.Epoch)
			_, _, err := one.conn.Get(b.Path)
			if ctx.Err() == nil {
				b.record(one.server, due, sent, err)
			}
		})
	}
}

// record keeps a completed read until Take. The time is taken under the mutex, so that Take returns every read that completed before.
func (b *Bystanders) record(server int, due, sent time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.failed++
		return
	}
	back := time.Since(b.Epoch)
	b.reads = append(b.reads, results.BystanderRead{At: due, Service: back - sent, Response: back - due, Server: server})
	b.late.Add(sent - due)
}

// Take returns the reads that have completed since the last call, and forgets them.
func (b *Bystanders) Take() []results.BystanderRead {
	b.mu.Lock()
	defer b.mu.Unlock()
	reads := b.reads
	b.reads = nil
	return reads
}

// Finish stops the reads and closes the sessions. Afterwards, Take returns the reads that were not taken yet.
func (b *Bystanders) Finish() {
	b.stop()
	closeAll(b.each) // unblocks the reads under way
	b.wait.Wait()
}

// Examine stores the failed reads and the 99th percentile of the lateness in h.
func (b *Bystanders) Examine(h *results.Health) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h.LatenessP99, h.BystanderErrors = time.Duration(b.late.Encode().Decode().ValueAtPercentile(99)), b.failed
}
