package chaos

import (
	"context"
	"slices"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/pool"
)

// setTraps sets the traps of a fault at an operation: one for the first of the clients that sends it, or one for each client
// if the fault hits all.
func setTraps(o *occurrence, clients []*pool.Client) []*clientTrap {
	apart := [][]*pool.Client{clients}
	if o.Whom == faults.All {
		apart = slices.Collect(slices.Chunk(clients, 1))
	}
	var traps []*clientTrap
	for _, among := range apart {
		traps = append(traps, setTrap(o, among))
	}
	return traps
}

// caught waits up to faultPatience until the traps have fired, and returns the clients that they caught.
func caught(ctx context.Context, traps []*clientTrap) []*pool.Client {
	ctx, cancel := context.WithTimeout(ctx, faultPatience)
	defer cancel()
	var targets []*pool.Client
	for _, trap := range traps {
		if c := trap.await(ctx); c != nil {
			targets = append(targets, c)
		}
	}
	return targets
}

type clientTrap struct {
	*wire.Trap
	clients []*pool.Client
}

func setTrap(o *occurrence, among []*pool.Client) *clientTrap {
	var ledgers []*wire.Ledger
	for _, c := range among {
		ledgers = append(ledgers, c.Present().Ledger)
	}
	op, _ := wire.OpcodeNamed(o.Before + o.After)
	return &clientTrap{wire.CutFirst(ledgers, op, o.After != ""), among}
}

// await returns the client that the trap caught; nil if the trap has not fired when ctx ends.
func (t *clientTrap) await(ctx context.Context) *pool.Client {
	select {
	case <-t.Fired():
	case <-ctx.Done():
		if t.Disarm() {
			return nil
		}
		<-t.Fired()
	}
	return t.clients[t.Victim()]
}
