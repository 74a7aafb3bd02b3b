package load

import (
	"math"
	"time"

	"github.com/zkbench/zkbench/results"
)

// levels is how the level of a load changes over time: its rate, or the number of clients that loop. Its last piece has no end.
type levels []piece

// piece is a part of the levels, in which the level changes linearly. A length of 0 means that it has no end and its level stays.
type piece struct {
	length   time.Duration
	from, to float64
}

// steady returns levels that are all the same.
func steady(level float64) levels { return levels{{from: level, to: level}} }

// levelsOf returns the levels of some stages. The load keeps the level of the last one until it ends.
func levelsOf(stages []results.StageLoad) levels {
	var level float64
	var c levels
	for _, stage := range stages {
		from := float64(stage.Level())
		if stage.Ramp {
			from = level
		}
		level = float64(stage.Level())
		c = append(c, piece{stage.For, from, level})
	}
	return append(c, piece{from: level, to: level})
}

// times returns the levels, each multiplied by a factor.
func (c levels) times(factor float64) levels {
	out := make(levels, len(c))
	for i, p := range c {
		out[i] = piece{p.length, p.from * factor, p.to * factor}
	}
	return out
}

// slope returns by how much the level changes in a nanosecond.
func (p piece) slope() float64 {
	if p.length == 0 {
		return 0
	}
	return (p.to - p.from) / float64(p.length)
}

// area returns the integral of the level over the piece, in nanoseconds; infinite if the piece has no end.
func (p piece) area() float64 {
	if p.length == 0 {
		return math.Inf(1)
	}
	return (p.from + p.to) / 2 * float64(p.length)
}

// after returns the time in nanoseconds from the beginning of the piece until the integral of the level is as large as area.
//
// Note: of the two forms of the solution of a quadratic equation, this one is exact for a slope of 0, too.
func (p piece) after(area float64) float64 {
	root := math.Sqrt(max(p.from*p.from+2*p.slope()*area, 0))
	return 2 * area / (p.from + root)
}

// reaches returns the first moment from now on at which the level is at least as high as the given one. ok is false if there is none.
func (c levels) reaches(level float64, now time.Duration) (at time.Duration, ok bool) {
	var begin time.Duration
	for _, p := range c {
		end := begin + p.length
		if p.length > 0 && end <= now {
			begin = end
			continue
		}
		at = max(begin, now)
		if p.from+p.slope()*float64(at-begin) >= level {
			return at, true
		}
		if p.to >= level {
			return max(at, begin+time.Duration(math.Ceil((level-p.from)/p.slope()))), true
		}
		begin = end
	}
	return 0, false
}
