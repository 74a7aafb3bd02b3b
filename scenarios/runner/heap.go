package runner

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
)

// heapReadings is how often the heaps are read each time: enough to see how much a single reading is worth.
const heapReadings = 3

// span is a stretch of time on the measurement's clock.
type span struct{ start, end time.Duration }

func (s span) contains(at time.Duration) bool { return s.start <= at && at <= s.end }

// scales weigh the servers' heaps before the clients line up, and when they have.
type scales struct {
	*measurement
	heap    *results.Heap // nil if nobody asked
	meter   ensemble.HeapMeter
	watches int64 // before
	frozen  span  // the second weighing
}

func newScales(m *measurement) *scales {
	s := &scales{measurement: m}
	if !m.scenario.Heap {
		return s
	}
	s.heap = &results.Heap{}
	meter, ok := m.ensemble.(ensemble.HeapMeter)
	if !ok {
		s.heap.Why = "these servers do not tell what their heaps hold"
	}
	s.meter = meter
	return s
}

// before weighs at rest, when nobody has begun.
func (s *scales) before(ctx context.Context) error {
	var err error
	if s.weighs() {
		s.heap.Before, s.watches, err = s.weigh(ctx)
	}
	return err
}

// after weighs when all have lined up.
func (s *scales) after(ctx context.Context) error {
	if !s.weighs() {
		return nil
	}
	s.frozen.start = s.crowd.since()
	readings, watches, err := s.weigh(ctx)
	s.frozen.end = s.crowd.since()
	s.heap.After, s.heap.Watches = readings, watches-s.watches
	return err
}

func (s *scales) weighs() bool { return s.heap != nil && s.heap.Why == "" }

// weigh reads the heaps several times. Where they cannot be read the result says so, and the run goes on without.
func (s *scales) weigh(ctx context.Context) (readings []int64, watches int64, err error) {
	for range heapReadings {
		used, err := s.meter.HeapUsed(ctx)
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		if err != nil {
			s.heap.Why = err.Error()
			return nil, 0, nil //nolint:nilerr // it stands in the result
		}
		readings = append(readings, used)
	}
	for _, server := range s.ensemble.Servers() {
		status, err := ensemble.Probe(ctx, server.Addr)
		if err != nil {
			return nil, 0, err
		}
		watches += status.Watches
	}
	return readings, watches, nil
}
