package runner

import (
	"context"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
)

// bystanderBytes is the size of the znode that bystanders read.
const bystanderBytes = 64

// bystanders are sessions that take no part in the recipe: one per server, each reading a small znode at a fixed low rate.
// Their latencies show what the load costs other applications on the same ensemble.
type bystanders struct {
	epoch time.Time
	path  string // the znode that they read
	rate  int    // per second and server

	each []bystander
	stop context.CancelFunc
	wait sync.WaitGroup

	mu     sync.Mutex
	reads  []results.BystanderRead // completed since they were last taken
	late   results.LiveHistogram   // how late each was sent
	failed int
}

// bystander is a session that reads from one server.
type bystander struct {
	conn   *zk.Conn
	server int
	plan   schedule
}

// start opens a session to each server and reads there until finish.
func (b *bystanders) start(ctx context.Context, servers []ensemble.Server) error {
	connect, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for _, s := range servers {
		conn, err := ensemble.Connect(connect, s, wire.NewLedger(b.epoch), nil)
		if err != nil {
			b.closeAll()
			return err
		}
		b.each = append(b.each, bystander{conn: conn, server: s.ID})
	}
	ctx, b.stop = context.WithCancel(ctx)
	start := time.Since(b.epoch)
	for i, one := range b.each {
		one.plan = newSchedule(start, b.rate, float64(i)/float64(len(servers)))
		b.wait.Go(func() { b.read(ctx, one) })
	}
	return nil
}

// read sends one session's reads when they are due, even if earlier ones have not been answered. A bystander that waited for
// its own slow reads would send fewer of them just when the ensemble is slow.
func (b *bystanders) read(ctx context.Context, one bystander) {
	for i := 0; ; i++ {
		due := one.plan.due(i)
		if sleep(ctx, due-time.Since(b.epoch)) != nil {
			return
		}
		b.wait.Go(func() {
			sent := time.Since(b.epoch)
			_, _, err := one.conn.Get(b.path)
			if ctx.Err() == nil {
				b.record(one.server, due, sent, err)
			}
		})
	}
}

// record keeps a read that has just completed until take. The time is taken under the mutex, so that take returns every read
// that completed before it was called.
func (b *bystanders) record(server int, due, sent time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.failed++
		return
	}
	back := time.Since(b.epoch)
	b.reads = append(b.reads, results.BystanderRead{At: due, Service: back - sent, Response: back - due, Server: server})
	b.late.Add(sent - due)
}

// take appends the reads that have completed since the last call to dst, and forgets them.
func (b *bystanders) take(dst []results.BystanderRead) []results.BystanderRead {
	b.mu.Lock()
	defer b.mu.Unlock()
	dst = append(dst, b.reads...)
	b.reads = b.reads[:0]
	return dst
}

// finish stops the reads and closes the sessions. Afterwards, take returns the reads that were not taken yet.
func (b *bystanders) finish() {
	b.stop()
	b.closeAll() // unblocks the reads under way
	b.wait.Wait()
}

func (b *bystanders) closeAll() {
	var closing sync.WaitGroup
	for _, one := range b.each {
		closing.Go(one.conn.Close)
	}
	closing.Wait()
}

// examine adds the failed reads and the lateness so far to the health.
func (b *bystanders) examine(h *results.Health) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	lateness, err := b.late.Encode()
	if err != nil {
		return err
	}
	decoded, err := lateness.Decode()
	if err != nil {
		return err
	}
	h.LatenessP99, h.BystanderErrors = time.Duration(decoded.ValueAtPercentile(99)), b.failed
	return nil
}
