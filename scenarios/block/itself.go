package block

import (
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/results"
	"github.com/zkbench/zkbench/scenarios/pool"
)

const shortestOwn = 250 * time.Millisecond // standstill of zkbench; a busy scheduler delays it by less

// standstills are the times in which this process did not run.
type standstills struct {
	stop func()

	mu    sync.Mutex
	found []results.Standstill
}

// watchItself finds when zkbench itself does not run, because it is stopped or others have all CPUs, until stop is called. The wall
// clock shows a suspended machine, during which the monotonic one stops; setting it forward looks the same.
func watchItself(epoch time.Time) *standstills {
	s := &standstills{}
	last := time.Now()
	s.stop = pool.Every(shortestOwn/5, func() bool {
		now := time.Now()
		if took := max(now.Sub(last), now.Round(0).Sub(last.Round(0))); took > shortestOwn {
			s.mu.Lock()
			s.found = append(s.found, results.Standstill{Start: last.Sub(epoch), Length: took})
			s.mu.Unlock()
		}
		last = now
		return true
	})
	return s
}

// so returns those until now.
func (s *standstills) so() []results.Standstill {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.found)
}
