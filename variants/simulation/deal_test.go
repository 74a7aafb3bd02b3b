package simulation_test

import (
	"math/rand/v2"
	"time"

	"github.com/zkbench/zkbench/variants"
)

// clocksOf returns by how much the clocks of workers are wrong, up to skew.
func clocksOf(random *rand.Rand, workers int, skew time.Duration) []time.Duration {
	clocks := make([]time.Duration, workers)
	for i := range clocks {
		clocks[i] = time.Duration(random.Int64N(2*int64(skew)+1)) - skew
	}
	return clocks
}

// deal gives each client to one of several workers, which have these clocks, and returns the records of each.
func deal(clocks []time.Duration, events []variants.Placed) [][]variants.Placed {
	workers := len(clocks)
	dealt := make([][]variants.Placed, workers)
	for _, e := range events {
		worker := e.Client % workers
		e.At += clocks[worker]
		dealt[worker] = append(dealt[worker], e)
	}
	return dealt
}
