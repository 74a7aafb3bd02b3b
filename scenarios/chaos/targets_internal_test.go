package chaos

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants/session"
)

// A client that two faults have made deaf hears again when both are over.
func TestDeafnessOfTwoFaults(t *testing.T) {
	c := &pool.Client{ID: 3, Life: pool.NewLife(0, time.Now(), 3, nil)}
	targets := NewTargets(&pool.Pool{Epoch: time.Now(), Clients: []*pool.Client{c}})
	for range 2 {
		targets.deafen([]*pool.Client{c})
	}
	over := targets.deaf[3].over
	if targets.Hear([]int{3}); session.IsClosed(over) {
		t.Error("it hears when the first fault is over")
	}
	if targets.Hear([]int{3}); !session.IsClosed(over) || len(targets.deaf) > 0 {
		t.Error("it does not hear when both faults are over")
	}
}
