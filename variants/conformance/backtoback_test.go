package conformance_test

import (
	"testing"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants/lock"
)

// The listing leaves while the reply to the create is held back: that is the round trip that is saved. There is one listing,
// because it is sent behind the create and so has the client's own znode.
func TestTheListingDoesNotWaitForTheCreate(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		server, c := embeddedServer(t, v), clients(t, v, 1)[0]
		l := lock.NewBackToBack(c.session(), directory(t, v))
		held := inject(server, c, wire.OpCreate, embedded.HoldReply)
		acquired := background(func() error { return errorOf(l.Acquire(testContext(t))) })
		eventually(t, "no listing was sent while the reply to the create was held back", func() bool {
			return c.ledger.Counts().Requests[wire.OpGetChildren2] == 1
		})
		mustStillWait(t, "Acquire without a reply", acquired)
		held.Release()
		must(t, <-acquired)
		if counts := c.ledger.Counts(); counts.TotalRequests() != 2 {
			t.Errorf("%d requests, want a create and a listing", counts.TotalRequests())
		}
	})
}
