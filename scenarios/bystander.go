package scenarios

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
	conns []*zk.Conn
	stop  context.CancelFunc
	wait  sync.WaitGroup

	mu     sync.Mutex
	reads  []results.BystanderRead
	late   []time.Duration // how late each was sent
	failed int
}

// startBystanders opens a session to each server and reads path there until stopped.
func startBystanders(ctx context.Context, servers []ensemble.Server, path string, rate int, epoch time.Time) (*bystanders, error) {
	b := &bystanders{epoch: epoch}
	connect, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for _, s := range servers {
		conn, err := ensemble.Connect(connect, s.Addr, wire.NewLedger(epoch), nil)
		if err != nil {
			b.closeAll()
			return nil, err
		}
		b.conns = append(b.conns, conn)
	}
	ctx, b.stop = context.WithCancel(ctx)
	start := time.Since(epoch)
	for i, conn := range b.conns {
		plan := newSchedule(start, rate, float64(i)/float64(len(servers)))
		b.wait.Go(func() { b.read(ctx, conn, path, servers[i].ID, plan) })
	}
	return b, nil
}

// read sends one session's reads when they are due, whatever became of those before: a bystander that waited for its
// own slow reads would send fewer just when there is something to see, or count its own backlog.
func (b *bystanders) read(ctx context.Context, conn *zk.Conn, path string, server int, plan schedule) {
	for i := 0; ; i++ {
		due := plan.due(i)
		if sleep(ctx, due-time.Since(b.epoch)) != nil {
			return
		}
		b.wait.Go(func() {
			sent := time.Since(b.epoch)
			_, _, err := conn.Get(path)
			back := time.Since(b.epoch)
			if ctx.Err() == nil {
				b.book(results.BystanderRead{At: due, Service: back - sent, Response: back - due, Server: server}, sent-due, err)
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
	for _, conn := range b.conns {
		closing.Go(conn.Close)
	}
	closing.Wait()
}
