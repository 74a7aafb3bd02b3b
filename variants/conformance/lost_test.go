package conformance_test

import (
	"context"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/session"
)

// A client whose session is lost gets ErrSessionLost from the call under way, and from later ones. The first client of
// a recipe and the last have different roles.
func TestLostSessionsAreReported(t *testing.T) {
	onEveryVariant(t, func(t *testing.T, v venue, recipe variants.Recipe, variant variants.Variant) {
		for _, loser := range []int{0, 2} {
			losesItsSession(t, v, recipe, variant, loser)
		}
	})
}

// losesItsSession lets three clients take steps until one of them loses its session.
func losesItsSession(t *testing.T, v venue, recipe variants.Recipe, variant variants.Variant, loser int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := newCompany(ctx, variant, variants.Env{Clients: 3, Root: directory(t, v), Hold: briefly})
	cs := clients(t, v, 3)
	c.prepare(t, recipe, cs[0])
	c.joinAll(t, cs...)
	ends := make([]<-chan error, len(cs))
	for i, p := range c.members {
		ends[i] = background(func() error {
			for ; ; time.Sleep(time.Millisecond) { // a step may take no time at all
				if err := p.Step(ctx); err != nil {
					return err
				}
			}
		})
	}
	time.Sleep(5 * time.Millisecond)
	embeddedServer(t, v).Expire(cs[loser].conn.SessionID())
	wantError(t, "a step", await(t, "a client does not learn that its session is lost", ends[loser]), session.ErrSessionLost)
	if c.members[loser].Step(ctx) == nil {
		t.Error("the next step of a client without a session succeeded")
	}
	cancel()
	for i, end := range ends {
		if i != loser {
			await(t, "a client does not end with its context", end)
		}
	}
}
