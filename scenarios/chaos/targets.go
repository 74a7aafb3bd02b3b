package chaos

import (
	"context"
	"slices"

	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/results/list"
	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

func fits(c *pool.Client, f faults.Fault) bool {
	member := c.Member()
	number, named := f.Client()
	activity, active := map[string]pool.Activity{faults.Idle: pool.Outside, faults.Waiter: pool.InStep, faults.Holder: pool.InHold}[f.Whom]
	roled, _ := member.(variants.Roled)
	switch {
	case member == nil:
		return false
	case named:
		return c.ID == number
	case active:
		return c.Does().Activity == activity
	default:
		return f.Whom == faults.Any || f.Whom == faults.All || roled != nil && roled.Role() == f.Whom
	}
}

// trap waits until a trap has fired, and returns the client that it caught; nil if it has not fired when ctx ends.
type trap func(ctx context.Context) *pool.Client

// setTraps sets the traps of a fault at an operation: one for the first of the clients that sends it, or one for each if it hits all.
func setTraps(o *occurrence, clients []*pool.Client) []trap {
	if o.Whom != faults.All {
		return []trap{setTrap(o, clients...)}
	}
	return list.Map(clients, func(c *pool.Client) trap { return setTrap(o, c) })
}

// caught waits up to faultPatience until the traps have fired, and returns the clients that they caught.
func caught(ctx context.Context, traps []trap) []*pool.Client {
	ctx, cancel := context.WithTimeout(ctx, faultPatience)
	defer cancel()
	caught := list.Map(traps, func(t trap) *pool.Client { return t(ctx) })
	return slices.DeleteFunc(caught, func(c *pool.Client) bool { return c == nil })
}

func setTrap(o *occurrence, among ...*pool.Client) trap {
	ledgers := list.Map(among, func(c *pool.Client) *wire.Ledger { return c.Present().Ledger })
	op, _ := wire.OpcodeNamed(o.Before + o.After)
	t := wire.CutFirst(ledgers, op, o.After != "")
	return func(ctx context.Context) *pool.Client {
		select {
		case <-t.Fired():
		case <-ctx.Done():
			if t.Disarm() {
				return nil
			}
			<-t.Fired()
		}
		return among[t.Victim()]
	}
}
