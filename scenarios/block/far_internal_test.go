package block

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// However the knowledge of a clock jumps between two drains, times that were converted keep their order, and stay what they were.
func TestPointsKeepTimes(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		all, earlier := points{{}}, map[time.Duration]time.Duration{}
		var now time.Duration
		for range 100 {
			from := now
			now += time.Duration(1 + random.Int64N(int64(100*time.Millisecond)))
			all.learn(point{now, now + time.Duration(random.Int64N(int64(time.Millisecond)))})
			for range 10 {
				at := from + time.Duration(random.Int64N(int64(now-from)+1))
				earlier[at] = all.convert(at)
			}
		}
		times := slices.Sorted(maps.Keys(earlier))
		for i, at := range times[1:] {
			if before := times[i]; all.convert(at) < all.convert(before) {
				t.Fatalf("seed %d: %s became %s, and the earlier %s became %s", seed, at, all.convert(at), before, all.convert(before))
			}
		}
		for at, was := range earlier {
			if got := all.convert(at); got != was {
				t.Fatalf("seed %d: %s became %s, and later %s", seed, at, was, got)
			}
		}
	}
}
