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

// bystanders are sessions that have nothing to do with the recipe: one per server, each reading a small znode at a
// fixed low rate. What the load costs everybody else shows in their latencies, and nowhere else.
type bystanders struct {
	epoch time.Time
	path  string // what they read
	rate  int    // per second and server

	each []bystander
	stop context.CancelFunc
	wait sync.WaitGroup

	mu     sync.Mutex
	reads  []results.BystanderRead
	late   []time.Duration // how late each was sent
	failed int
}

// bystander is one of them.
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
		conn, err := ensemble.Connect(connect, s.Addr, wire.NewLedger(b.epoch), nil)
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

// read sends one session's reads when they are due, whatever became of those before: a bystander that waited for its
// own slow reads would send fewer just when there is something to see, or count its own backlog.
func (b *bystanders) read(ctx context.Context, one bystander) {
	for i := 0; ; i++ {
		due := one.plan.due(i)
		if sleep(ctx, due-time.Since(b.epoch)) != nil {
			return
		}
		b.wait.Go(func() {
			sent := time.Since(b.epoch)
			_, _, err := one.conn.Get(b.path)
			back := time.Since(b.epoch)
			if ctx.Err() == nil {
				b.book(results.BystanderRead{At: due, Service: back - sent, Response: back - due, Server: one.server}, sent-due, err)
			}
		})
	}
}

func (b *bystanders) book(read results.BystanderRead, late time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.failed++
		return
	}
	b.reads = append(b.reads, read)
	b.late = append(b.late, late)
}

// finish stops the reads and closes the sessions; what was read is there afterwards.
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
