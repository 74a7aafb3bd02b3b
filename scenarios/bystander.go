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

	mu    sync.Mutex
	reads []results.BystanderRead
	late  []time.Duration // how late reads were sent although their predecessor was back in time
	err   error
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

// read sends one session's reads when they are due, or as soon as the one before is back.
func (b *bystanders) read(ctx context.Context, conn *zk.Conn, path string, server int, plan schedule) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for i := 0; ; i++ {
		due := plan.due(i)
		wait := due - time.Since(b.epoch)
		if wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
		sent := time.Since(b.epoch)
		_, _, err := conn.Get(path)
		back := time.Since(b.epoch)
		if ctx.Err() != nil {
			return
		}
		b.mu.Lock()
		if err != nil && b.err == nil {
			b.err = err
		}
		b.reads = append(b.reads, results.BystanderRead{At: due, Service: back - sent, Response: back - due, Server: server})
		if wait > 0 {
			b.late = append(b.late, sent-due)
		}
		b.mu.Unlock()
	}
}

// finish stops the reads, closes the sessions and returns what was read.
func (b *bystanders) finish() (reads []results.BystanderRead, late []time.Duration, err error) {
	b.stop()
	b.closeAll() // unblocks a read under way
	b.wait.Wait()
	return b.reads, b.late, b.err
}

func (b *bystanders) closeAll() {
	var closing sync.WaitGroup
	for _, conn := range b.conns {
		closing.Go(conn.Close)
	}
	closing.Wait()
}
