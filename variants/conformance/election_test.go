package conformance_test

import (
	"testing"

	"github.com/zkbench/zkbench/variants/election"
	"github.com/zkbench/zkbench/variants/session"
)

// An election must pass all that a lock must.
func TestElection(t *testing.T) {
	all := election.Recipe().Variants
	offices := openersOf[session.Lock](all)
	for i, variant := range offices {
		offices[i].open = func(t testing.TB, c *client, dir string) session.Lock {
			c.polls = !all[i].HasLockstep()
			return variant.open(t, c, dir)
		}
	}
	onEmbedded(t, func(t *testing.T, at place) { checkLocks(t, at, lockChecks, offices) })
}
