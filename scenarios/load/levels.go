package load

import (
	"math"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/results/list"
)

// levels describes how the rate of a load, or the number of clients that loop, changes over time. The last piece has no end.
type levels []piece

// piece is a part in which the level changes linearly. A piece with a length of 0 has no end, and its level is constant.
type piece struct {
	length   time.Duration
	from, to float64
}

func steady(level float64) levels { return levels{{from: level, to: level}} }

// levelsOf returns the levels of some stages. The load keeps the level of the last one until it ends.
func levelsOf(stages []results.StageLoad) levels {
	var level float64
	var c levels
	for _, stage := range stages {
		from := stage.Level()
		if stage.Ramp {
			from = level
		}
		level = stage.Level()
		c = append(c, piece{stage.For, from, level})
	}
	return append(c, piece{from: level, to: level})
}

func (c levels) times(factor float64) levels {
	return list.Map(c, func(p piece) piece { return piece{p.length, p.from * factor, p.to * factor} })
}

func (p piece) slope() float64 {
	if p.length == 0 {
		return 0
	}
	return (p.to - p.from) / float64(p.length)
}

// area returns the integral of the level over the piece, with time in nanoseconds; infinite if the piece has no end.
func (p piece) area() float64 {
	if p.length == 0 {
		return math.Inf(1)
	}
	return (p.from + p.to) / 2 * float64(p.length)
}

// reaches returns the first moment from now on at which the level is at least the given one. ok is false if that never happens.
func (c levels) reaches(level float64, now time.Duration) (at time.Duration, ok bool) {
	var begin time.Duration
	for _, p := range c {
		if p.length == 0 || begin+p.length > now { // it is not over
			at = max(begin, now)
			if p.from+p.slope()*float64(at-begin) >= level {
				return at, true
			}
			if p.to >= level {
				return max(at, begin+time.Duration(math.Ceil((level-p.from)/p.slope()))), true
			}
		}
		begin += p.length
	}
	return 0, false
}
