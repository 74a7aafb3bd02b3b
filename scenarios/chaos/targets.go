package chaos

import (
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/scenarios/faults"
	"github.com/zkbench/zkbench/scenarios/pool"
	"github.com/zkbench/zkbench/variants"
)

func fits(c *pool.Client, whom string) bool {
	member := c.Member()
	if member == nil {
		return false
	}
	switch whom {
	case faults.Any, faults.All:
		return true
	case faults.Idle:
		return c.Does().Activity == pool.Outside
	case faults.Waiter:
		return c.Does().Activity == pool.InStep
	case faults.Holder:
		return c.Does().Activity == pool.InHold
	}
	if number, ok := strings.CutPrefix(whom, "client "); ok {
		return strconv.Itoa(c.ID) == number
	}
	roled, ok := member.(variants.Roled)
	return ok && roled.Role() == whom
}
