package block_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/ensembletest"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/block"
)

// A server that is silent for too long ends the floor, which can still be closed.
func TestAFloorThatGetsNoAnswer(t *testing.T) {
	for _, nth := range []int{1, 15} {
		t.Run(fmt.Sprintf("held at request %d", nth), func(t *testing.T) {
			ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
				trap := e.Inject(embedded.Fault{Op: wire.OpSetData, Do: embedded.HoldReply, Nth: nth})
				floor := block.MeasureFloor(t.Context(), e.Servers(), "/held", 0)
				<-trap.Fired()
				trap.Release()
				if floor.Why != "the ensemble did not answer within 10s" || floor.After != nil {
					t.Errorf("floor %+v", floor)
				}
				ensembletest.AwaitNoZnodes(t, e.Servers()) // a session whose close request is not answered in time ends later
			})
		})
	}
}

// The writes of a floor come after a pause as long as the hold, which is capped, so that a half ends. Time is virtual.
func TestFloorPausesLikeAHolder(t *testing.T) {
	for hold, want := range map[time.Duration]time.Duration{0: 0, 5 * time.Millisecond: 5 * time.Millisecond, time.Minute: 10 * time.Millisecond} {
		ensembletest.Bubble(t, embedded.Config{}, func(t *testing.T, e *embedded.Ensemble) {
			begun := time.Now()
			floor := block.MeasureFloor(t.Context(), e.Servers(), "/paused", hold)
			rounds := floor.Before[results.FloorHandoff].Samples + floor.After[results.FloorHandoff].Samples
			if floor.Why != "" || floor.Pairs != results.FloorAllPairs || floor.Pause != want {
				t.Errorf("hold %s: floor %+v", hold, floor)
			}
			if paused := time.Duration(rounds) * want; rounds < 20 || time.Since(begun) < paused {
				t.Errorf("hold %s: %d rounds in %s, want pauses of %s in all", hold, rounds, time.Since(begun), paused)
			}
		})
	}
}
