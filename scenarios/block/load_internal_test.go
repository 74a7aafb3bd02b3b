package block

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// A client that holds, such as the publisher that all others wait for, does not keep the others from starting.
func TestHoldingClientKeepsNoCrowdWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(variants.Recipe{}, variants.Variant{})
		b.Plan.Pool.Clients = scenarios.CrowdOfStarts
		for i := range scenarios.CrowdOfStarts {
			b.Clients = append(b.Clients, &pool.Client{ID: i, Life: pool.NewLife(0, time.Now(), i, nil)})
		}
		first := b.Clients[0]
		first.Session = session.NewSession(nil, nil)
		b.Plan.Scenario.Hold = time.Hour
		go func() { _ = b.hold(t.Context(), first, first.Life, nil) }()
		synctest.Wait()
		begun := time.Now()
		if err := b.paceStart(t.Context(), pool.Parallel); err != nil || time.Since(begun) > 0 {
			t.Errorf("a client starts %s after one that holds for an hour has begun to hold (%v)", time.Since(begun), err)
		}
		b.Clients[1].Session = session.NewSession(nil, nil) // has neither begun to wait nor completed anything
		if err := b.paceStart(t.Context(), pool.Parallel+1); err != nil || time.Since(begun) != settlesWithin {
			t.Errorf("behind one that polls, a client starts after %s (%v), want %s", time.Since(begun), err, settlesWithin)
		}
	})
}
