package runner

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
)

// parallel bounds how many sessions are opened, fenced or closed at once. It paces the connection storm of a large
// measurement: each session asks its servers for a transaction.
const parallel = 64

// connectTimeout is the longest time in which none of the sessions of a measurement is established. All of them together may
// take longer.
const connectTimeout = 30 * time.Second

// joinAllowance is added to connectTimeout for each unit of the scenario's size: a client does more when it joins then.
const joinAllowance = 100 * time.Millisecond

// connectShown is the time between two reports of how many sessions are established.
const connectShown = 2 * time.Second

// watchConnecting cancels the opening of the pool's sessions if none is established for connectTimeout and the allowance,
// and reports how many are. The caller ends the watching with stop.
func (p *clientPool) watchConnecting(at setting, cancel context.CancelCauseFunc) (stop func()) {
	patience := connectTimeout + time.Duration(at.size)*joinAllowance
	shown := time.NewTicker(connectShown)
	unstuck := whileGrowing(p.ready.Load, growth{patience: patience, shown: shown.C,
		show: func(done int64) {
			if at.connecting != nil {
				at.connecting(int(done), len(p.clients))
			}
		},
		stuck: func(done int64) {
			cancel(fmt.Errorf("%d of %d sessions are established, and no further one within %s "+
				"(do the servers allow so many from one address? see maxClientCnxns)", done, len(p.clients), patience))
		},
	})
	return func() { unstuck(); shown.Stop() }
}

// growth says what is done while a number grows, and when it does not.
type growth struct {
	patience time.Duration
	shown    <-chan time.Time // when show is called; nil means never
	show     func(n int64)
	stuck    func(n int64) // called once when the number has not grown for the patience, after up to twice that time
}

// whileGrowing watches a number until stop is called.
func whileGrowing(number func() int64, g growth) (stop func()) {
	done := make(chan struct{})
	last := number()
	var watching sync.WaitGroup
	watching.Go(func() {
		ticker := time.NewTicker(g.patience)
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
					g.stuck(now)
					return
				}
				last = now
			}
		}
	})
	return func() { close(done); watching.Wait() }
}

// settlesWithin is how long the pacing of starts waits for a client that may never wait for a watch, such as one that polls.
const settlesWithin = time.Second

// paceStart waits before a client of a crowd begins its first operation, until no more than parallel clients before it are between
// their beginning and their first wait. If 10,000 clients enter a line at once, each of them lists all others at the same time:
// that takes gigabytes in zkbench and in the servers, and silences sessions until they are lost.
func (m *measurement) paceStart(ctx context.Context, client int) error {
	if m.faults != nil || m.isOpen() || len(m.pool.clients) < scenarios.CrowdOfStarts || client < parallel {
		return ctx.Err()
	}
	before := m.pool.clients[client-parallel]
	for begun := time.Now(); ctx.Err() == nil && !before.settled.Load() && !before.atRest() && time.Since(begun) < settlesWithin; {
		if err := sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// connection returns how long the pool's sessions took to be established.
func (p *clientPool) connection() (*results.Connect, error) {
	var each []time.Duration
	for _, c := range p.clients {
		each = append(each, c.established)
	}
	histogram, err := results.NewHistogram(each)
	return &results.Connect{Total: p.connected, Each: histogram}, err
}
