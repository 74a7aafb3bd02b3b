package simulation_test

import (
	"math/rand/v2"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// deal gives each client to one of several workers, whose clocks are wrong by up to skew, and returns the records of
// each.
func deal(random *rand.Rand, events []variants.Placed, workers int, skew time.Duration) [][]variants.Placed {
	clocks := make([]time.Duration, workers)
	for i := range clocks {
		clocks[i] = time.Duration(random.Int64N(2*int64(skew)+1)) - skew
	}
	dealt := make([][]variants.Placed, workers)
	for _, e := range events {
		worker := e.Client % workers
		e.At += clocks[worker]
		dealt[worker] = append(dealt[worker], e)
	}
	return dealt
}
