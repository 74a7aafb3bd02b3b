package pool

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/results"
)

// Parallel bounds how many sessions are opened, fenced or closed at once. It paces the connection storm of a large
// measurement: each session asks its servers for a transaction.
const Parallel = 64

// ConnectTimeout is how long the sessions of a measurement may make no progress: within it, at least one more must be
// established. All of them together may take longer.
const ConnectTimeout = 30 * time.Second

// joinAllowance is added to ConnectTimeout for each unit of the scenario's size, with which the work of joining grows.
const joinAllowance = 100 * time.Millisecond

const connectShown = 2 * time.Second

// watchConnecting cancels the opening of the pool's sessions if none is established for ConnectTimeout and the allowance,
// and reports how many are. The caller ends it with stop.
func (p *Pool) watchConnecting(at Config, cancel context.CancelCauseFunc) (stop func()) {
	patience := ConnectTimeout + time.Duration(at.Size)*joinAllowance
	shown := time.NewTicker(connectShown)
	unstuck := WhileGrowing(p.ready.Load, Growth{Patience: patience, shown: shown.C,
		show: func(done int64) {
			if at.Connecting != nil {
				at.Connecting(int(done), len(p.Clients))
			}
		},
		Stuck: func(done int64) {
			cancel(fmt.Errorf("%d of %d sessions are established, and no further one within %s "+
				"(do the servers allow so many from one address? see maxClientCnxns)", done, len(p.Clients), patience))
		},
	})
	return func() { unstuck(); shown.Stop() }
}

// Growth configures [WhileGrowing].
type Growth struct {
	Patience time.Duration
	shown    <-chan time.Time // when show is called; nil means never
	show     func(n int64)
	Stuck    func(n int64) // called once when the number has not grown for the patience, after up to twice that time
}

// WhileGrowing watches a number in a goroutine of its own, until stop is called. stop waits for that goroutine.
func WhileGrowing(number func() int64, g Growth) (stop func()) {
	done := make(chan struct{})
	last := number()
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(g.Patience)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-g.shown:
				g.show(number())
			case <-ticker.C:
				now := number()
				if now == last {
					g.Stuck(now)
					return
				}
				last = now
			}
		}
	})
	return func() { close(done); watching.Wait() }
}

// Connection returns how long the pool's sessions took to be established, from the pool's epoch and each by itself.
func (p *Pool) Connection() *results.Connect {
	var each []time.Duration
	for _, c := range p.Clients {
		each = append(each, c.established)
	}
	return &results.Connect{Total: p.connected, Each: results.NewHistogram(each)}
}
