package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/pool"
)

// errStandstill is the cause that cancels a load that stands still: all clients wait, and none can ever proceed.
var errStandstill = errors.New("the load stands still: all clients wait for notifications, and none can come")

// standstillLook is the time between two checks of clients that complete no step. However short it is, their states show a standstill.
const standstillLook = time.Second

// mayStandStill reports whether the states of the clients can show that the load stands still. Loads with faults are left to
// watchProgress, because a lost session may still cause notifications when it expires.
func (m *measurement) mayStandStill() bool {
	threads := m.recipe.Threaded && m.plan.Pool.Size > 1
	notified := m.recipe.SingleThreaded && !threads
	if d := m.variant.Driver; d != nil {
		notified = d.Notified
	}
	return notified && !m.faulty() && m.scenario.Mode == scenarios.Closed
}

// watchStandstill watches a load until stop is called. If it stands still, its window ends, the breach is reported, the observer reports
// further violations, and the load is cancelled. From then on, the clients withdraw, which is not counted.
func (m *measurement) watchStandstill(ctx context.Context, cancel context.CancelCauseFunc) (stop func()) {
	if !m.mayStandStill() {
		return func() {}
	}
	last := int64(-1)
	return pool.Every(standstillLook, func() bool {
		now := m.crew.state().Steps
		if now != last {
			last = now
			return true
		}
		waiting := m.crew.standing(ctx)
		if len(waiting) > 0 {
			m.breached, _ = m.endWindow("stuck after", m.first.client)
			text := fmt.Sprintf("stuck: %d of %d clients wait for notifications, no request is under way, and no notification can come%s",
				len(waiting), m.clients, m.whatIsGone(ctx, waiting))
			m.stream.conclude(func(at time.Duration) { m.stream.recorder.Violation(results.Violation{At: at, Text: text}) })
			cancel(errStandstill)
		}
		return len(waiting) == 0
	})
}

// goneNamed bounds the missing znodes that a violation names.
const goneNamed = 3

// whatIsGone names clients that watch a znode that does not exist; empty without such clients, or if the servers do not answer.
func (m *measurement) whatIsGone(ctx context.Context, waiting []int) string {
	var gone []string
	for _, c := range waiting {
		for _, path := range list.Distinct(m.crew.watches(c)) {
			if len(gone) == goneNamed {
				break
			}
			if exists, _, err := m.root.Session().Exists(ctx, path); err == nil && !exists {
				gone = append(gone, fmt.Sprintf("; client %d watches %s, which is gone", c, strings.TrimPrefix(path, m.plan.Pool.Root+"/")))
			}
		}
	}
	return strings.Join(gone, "")
}
