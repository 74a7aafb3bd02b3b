package planted

import (
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
	return rewritten(named(queue.Recipe(), "list-and-delete"), "repeated-writes", "list-and-delete with writes that are repeated blindly", func(ops []any) []any {
		for i, op := range ops {
			if s, ok := op.(*zk.SetDataRequest); ok {
				blind := *s
				blind.Version = -1
				ops[i] = &blind
			}
		}
		return ops
	})
}
