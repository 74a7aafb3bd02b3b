package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios"
)

// errStandstill is the cause of the end of a load that stands still: all clients wait, and none can ever go on.
var errStandstill = errors.New("the load stands still: all clients wait for notifications, and none can come")

// breached is what was known of a load when a breach of the promise ended it.
type breached struct {
	what        string      // how the load ended, such as "stuck after"
	window, all wire.Counts // in the window, and since the load began
}

// cutShort ends the window of a load that a breach of the promise ends.
func (m *measurement) cutShort(what string) {
	_, window, _ := m.stream.cutWindow()
	m.breached = &breached{what: what, window: window, all: m.pool.counts()}
	m.breached.all.Sub(m.first.client)
}

// standstillLook is the time between two looks at clients that complete no step. It decides nothing: the states of the clients do.
const standstillLook = time.Second

// mayStandStill reports whether the states of the clients can show that the load stands still. Where clients may fail, a session that is
// lost may still notify others when it runs out, so that such loads are left to watchProgress.
func (m *measurement) mayStandStill() bool {
	threads := m.recipe.Threaded && m.setting.size > 1
	notified := m.recipe.SingleThreaded && !threads
	if d := m.variant.Driver; d != nil {
		notified = d.Notified
	}
	return notified && m.faults == nil && m.scenario.Mode == scenarios.Closed
}

// watchStandstill ends a load that stands still. The caller ends the watching with stop.
func (m *measurement) watchStandstill(ctx context.Context, steps *atomic.Int64, cancel context.CancelCauseFunc) (stop func()) {
	if !m.mayStandStill() {
		return func() {}
	}
	ctx, end := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		for last := int64(-1); sleep(ctx, standstillLook) == nil; {
			now := steps.Load()
			if now != last {
				last = now
				continue
			}
			if waiting := m.standing(ctx); len(waiting) > 0 {
				m.conclude(ctx, waiting)
				cancel(errStandstill)
				return
			}
		}
	})
	return func() { end(); watching.Wait() }
}

// standing returns the clients of a load that stands still; none if a client may go on.
//
// Each client that has not taken all its steps waits for a watch, before and after a fence, and has begun no other wait in between.
// So all of them waited at the same time, with no request under way, and the fence proves that no notification is on its way either. In
// a recipe that is [variants.Recipe.SingleThreaded], nothing else could make a client go on. How long this takes does not
// matter.
//
// Of a client in a driver, only its frames are known. It counts as waiting if it has not answered, has a watch set, no request under way, and
// sends none until it has sent a ping, which is seconds later. It could still be about to go on, if its thread did not run all that time while
// the one that pings did. So this is for libraries that are known to stand still, see [variants.Driver].
func (m *measurement) standing(ctx context.Context) []*client {
	before := m.waits()
	waiting := m.allAtRest()
	if len(waiting) == 0 || m.fence(ctx) != nil {
		return nil
	}
	if !slices.Equal(m.allAtRest(), waiting) || !slices.Equal(m.waits(), before) {
		return nil
	}
	return waiting
}

// fence fences all sessions. Clients in a driver cannot send a sync while they wait, but the replies to their pings show the same.
func (m *measurement) fence(ctx context.Context) error {
	if m.setting.driver != nil {
		return m.pool.awaitPings(ctx)
	}
	return m.pool.fence(ctx)
}

// waits returns how many waits each client has begun.
func (m *measurement) waits() []int64 {
	var all []int64
	for _, c := range m.pool.clients {
		all = append(all, c.waits())
	}
	return all
}

// allAtRest returns the clients that have not taken all their steps, if all of these are at rest and no session is lost.
func (m *measurement) allAtRest() []*client {
	var waiting []*client
	for _, c := range m.pool.clients {
		switch {
		case c.over():
			return nil
		case c.stopped.Load():
		case !c.atRest():
			return nil
		default:
			waiting = append(waiting, c)
		}
	}
	return waiting
}

// conclude ends the window of a load that stands still, reports the breach, and lets the observer report what else it shows. What the
// clients do from now on, to withdraw, is not counted.
func (m *measurement) conclude(ctx context.Context, waiting []*client) {
	m.cutShort("stuck after")
	text := fmt.Sprintf("stuck: %d of %d clients wait for notifications, no request is under way, and no notification can come%s",
		len(waiting), len(m.pool.clients), m.whatIsGone(ctx, waiting))
	m.stream.judge(func(at time.Duration) { m.stream.recorder.Violation(results.Violation{At: at, Text: text}) })
}

// goneNamed is how many znodes that are gone a violation names.
const goneNamed = 3

// whatIsGone names clients that watch a znode that does not exist. It is empty if there are none, or if the servers do not answer.
func (m *measurement) whatIsGone(ctx context.Context, waiting []*client) string {
	var gone []string
	for _, c := range waiting {
		for _, path := range c.ledger.Watched() {
			if len(gone) == goneNamed {
				break
			}
			if exists, _, err := m.onlooker.Exists(ctx, path); err == nil && !exists {
				gone = append(gone, fmt.Sprintf("; client %d watches %s, which is gone", c.id, strings.TrimPrefix(path, m.setting.root+"/")))
			}
		}
	}
	return strings.Join(gone, "")
}

// unfinishedBy returns the observation of a load that a breach of the promise has ended.
func (m *measurement) unfinishedBy(s *breached) observation {
	u := &results.Unfinished{Breach: s.what, Requests: s.all.TotalRequests(), Notifications: s.all.TotalNotifications()}
	if m.scenario.Duration == 0 {
		u.Done = min(m.done.Load(), m.operations()-1)
	}
	return observation{counts: s.window, unfinished: u}
}
