package scenarios

import (
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results"
)

// CountsOf returns the counts by the names of operations. It leaves out the notifications, which the recorder counts because
// it also needs their times.
func CountsOf(c wire.Counts) results.Counts {
	out := results.Counts{
		Requests:     map[string]int64{},
		Failed:       map[string]int64{},
		BytesOut:     c.BytesOut,
		BytesIn:      c.BytesIn,
		Housekeeping: c.Housekeeping,
	}
	out.Writes, out.FailedWrites = c.Writes()
	for op, n := range c.Requests {
		if n > 0 {
			out.Requests[wire.Opcode(op).String()] += n
		}
		if failed := c.Failed[op]; failed > 0 {
			out.Failed[wire.Opcode(op).String()] += failed
		}
	}
	return out
}
