package pool

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
)

// Parallel bounds how many sessions are opened, fenced or closed at once. It paces the connection storm of a large
// measurement: each session asks its servers for a transaction.
const Parallel = 64

// ConnectTimeout is how long the sessions of a measurement may make no progress: within it, at least one more must be
// established. All of them together may take longer.
const ConnectTimeout = 30 * time.Second

// joinAllowance is added to ConnectTimeout for each unit of the scenario's size, with which the work of joining grows.
const joinAllowance = 100 * time.Millisecond

// watchConnecting cancels the opening of the pool's sessions if none is established for ConnectTimeout and the allowance. The caller
// ends it with stop.
func (p *Pool) watchConnecting(at Config, cancel context.CancelCauseFunc) (stop func()) {
	patience := ConnectTimeout + time.Duration(at.Size)*joinAllowance
	return WhileGrowing(p.ready.Load, patience, func(done int64) {
		cancel(fmt.Errorf("%d of %d sessions are established, and no further one within %s "+
			"(do the servers allow so many from one address? see maxClientCnxns)", done, len(p.Clients), patience))
	})
}

// WhileGrowing watches a number until stop is called, see [Every]. It calls stuck once when the number has not grown for the
// patience, after up to twice that time.
func WhileGrowing(number func() int64, patience time.Duration, stuck func(n int64)) (stop func()) {
	last := number()
	return Every(patience, func() bool {
		before := last
		if last = number(); last == before {
			stuck(last)
		}
		return last != before
	})
}

// Every calls do at intervals in a goroutine of its own, until do returns false or stop is called. stop waits for that goroutine.
func Every(interval time.Duration, do func() bool) (stop func()) {
	done := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() {
		for tick := time.Tick(interval); ; {
			select {
			case <-done:
				return
			case <-tick:
				if !do() {
					return
				}
			}
		}
	})
	return func() { close(done); working.Wait() }
}

// Connection returns how long the pool's sessions took to be established, from the pool's epoch and each by itself.
func (p *Pool) Connection() *results.Connect {
	each := list.Map(p.Clients, func(c *Client) time.Duration { return c.established })
	return &results.Connect{Total: p.connected, Each: results.NewHistogram(each)}
}
