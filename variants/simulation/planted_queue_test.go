package simulation_test

import (
	"bytes"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/queue"
)

// LastingClaims returns a queue whose claims are persistent: no client takes an item whose taker has died.
func LastingClaims() variants.Variant {
	return rewritten(named(queue.Recipe(), "multi-claim"), "lasting-claims", "multi-claim with persistent claims", func(ops []any) []any {
		for i, op := range ops {
			if c, ok := op.(*zk.CreateRequest); ok && c.Flags == zk.FlagEphemeral {
				lasting := *c
				lasting.Flags = 0
				ops[i] = &lasting
			}
		}
		return ops
	})
}

// RepeatedWrites returns a queue whose writes are repeated after a lost reply without regard to the first attempt: an item is put
// twice, or removed by a client that then takes another one.
func RepeatedWrites() variants.Variant {
	return rewritten(named(queue.Recipe(), "list-and-delete"), "repeated-writes", "list-and-delete with writes that are repeated blindly", repeated)
}

// LastingMarks returns a queue whose clients remove no marks: no client takes an item whose taker has died.
func LastingMarks() variants.Variant {
	return rewritten(named(queue.Recipe(), "mark-and-requeue"), "lasting-marks", "mark-and-requeue without the clean-up", func(ops []any) []any {
		for i, op := range ops {
			if s, ok := op.(*zk.SetDataRequest); ok && bytes.HasPrefix(s.Data, []byte("\n")) {
				ops[i] = &zk.CheckVersionRequest{Path: s.Path, Version: s.Version}
			}
		}
		return ops
	})
}
