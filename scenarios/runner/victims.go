package runner

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/variants"
)

// activity is what a client does at a moment. It is kept in runs with faults only.
type activity int32

const (
	outside activity = iota // between two steps
	inStep
	inHold // in a step, and holds what the recipe gives
)

// doing is a client's activity and since when.
type doing struct {
	activity activity
	since    time.Time
}

// enter records what a client does from now on.
func (c *client) enter(a activity) { c.doing.Store(&doing{a, time.Now()}) }

// does returns what a client does.
func (c *client) does() doing {
	if d := c.doing.Load(); d != nil {
		return *d
	}
	return doing{}
}

// fits reports whether a fault may hit a client now.
func (c *client) fits(whom string) bool {
	member := c.member()
	if member == nil {
		return false
	}
	switch whom {
	case faults.Any, faults.All:
		return true
	case faults.Idle:
		return c.does().activity == outside
	case faults.Waiter:
		return c.does().activity == inStep
	case faults.Holder:
		return c.does().activity == inHold
	}
	if number, ok := strings.CutPrefix(whom, "client "); ok {
		return strconv.Itoa(c.id) == number
	}
	roled, ok := member.(variants.Roled)
	return ok && roled.Role() == whom
}

// candidates returns the clients that a fault may hit now.
func (p *clientPool) candidates(whom string) []*client {
	return slices.DeleteFunc(slices.Clone(p.clients), func(c *client) bool { return !c.fits(whom) })
}
