package runner

import (
	"context"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/results"
)

// heapReadings is how many times the heaps are read in a row. Their differences show how exact a single reading is.
const heapReadings = 3

// heapProbe measures the servers' heaps before and after the clients line up.
type heapProbe struct {
	*measurement
	heap    *results.Heap // nil if the scenario does not ask for it
	watches int64         // on all servers, before the clients line up
}

// before must be called before any client starts.
func (p *heapProbe) before(ctx context.Context) (err error) {
	if p.measures() {
		p.heap.Before, p.watches, err = p.read(ctx)
	}
	return err
}

// after measures when all clients have lined up. Meanwhile the servers collect garbage and do not answer requests.
func (p *heapProbe) after(ctx context.Context) error {
	if !p.measures() {
		return nil
	}
	defer p.stream.freeze()()
	readings, watches, err := p.read(ctx)
	p.heap.After, p.heap.Watches = readings, watches-p.watches
	return err
}

func (p *heapProbe) measures() bool { return p.heap != nil && p.heap.Why == "" }

// read reads the heaps several times, and the number of watches. If the heaps cannot be read, the result gives the reason and
// the run continues.
func (p *heapProbe) read(ctx context.Context) (readings []int64, watches int64, err error) {
	meter, ok := p.Ensemble.(ensemble.HeapMeter)
	if !ok {
		p.heap.Why = "these servers do not report how much of their heaps is in use"
		return nil, 0, nil
	}
	for range heapReadings {
		used, err := meter.HeapUsed(ctx)
		if ctx.Err() != nil {
			return nil, 0, ctx.Err()
		}
		if err != nil {
			p.heap.Why = err.Error()
			return nil, 0, nil //nolint:nilerr // the result gives the reason
		}
		readings = append(readings, used)
	}
	for _, server := range p.Ensemble.Servers() {
		status, err := ensemble.Probe(ctx, server)
		if err != nil {
			return nil, 0, err
		}
		watches += status.Watches
	}
	return readings, watches, nil
}
