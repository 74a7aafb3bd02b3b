package conformance_test

import (
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
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

// mixedUp is a connection whose first create and first listing go wrong as they may when it is lost between the two.
type mixedUp struct {
	variants.Conn
	create  func(created string, err error) (string, error)
	listing func(names []string, err error) ([]string, error)
	creates sync.Once
	lists   sync.Once
}

func (m *mixedUp) Create(path string, data []byte, flags int32, acl []zk.ACL) (created string, err error) {
	created, err = m.Conn.Create(path, data, flags, acl)
	m.creates.Do(func() { created, err = m.create(created, err) })
	return created, err
}

func (m *mixedUp) Children(path string) (names []string, stat *zk.Stat, err error) {
	names, stat, err = m.Conn.Children(path)
	m.lists.Do(func() { names, err = m.listing(names, err) })
	return names, stat, err
}

// What a lost connection may make of the replies.
func passes[T any](reply T, err error) (T, error) { return reply, err }

func isLost[T any](T, error) (none T, err error) { return none, zk.ErrConnectionClosed }

func isOld([]string, error) ([]string, error) { return nil, nil }

// A client whose create or listing goes wrong waits for the holder like any other, with one znode.
func TestRepliesOfBackToBackRequestsAreLost(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		create  func(string, error) (string, error)
		listing func([]string, error) ([]string, error)
	}{
		{"neither", passes[string], passes[[]string]},
		{"that of the create", isLost[string], passes[[]string]},
		{"that of the listing", passes[string], isLost[[]string]},
		{"both", isLost[string], isLost[[]string]},
		{"none, but the listing is older than the create", passes[string], isOld},
		{"that of the create, and the listing is older", isLost[string], isOld},
	} {
		bubbles.run(t, tt.name, func(t *testing.T, v venue) {
			dir, cs := directory(t, v), clients(t, v, 2)
			holder := lock.NewBackToBack(cs[0].session(), dir)
			first := mustAcquire(t, holder)
			session := variants.NewSession(&mixedUp{Conn: cs[1].conn, create: tt.create, listing: tt.listing}, cs[1].monitor.Lost())
			session.OrderBy(cs[1].ledger)
			waiter := lock.NewBackToBack(session, dir)
			var second lock.Grant
			granted := background(func() (err error) {
				second, err = waiter.Acquire(testContext(t))
				return err
			})
			eventually(t, "the second client neither waits nor holds", func() bool { return len(granted) > 0 || cs[1].waits() })
			mustStillWait(t, "a client behind the holder", granted)
			if n := contenders(t, cs[0], dir); n != 2 {
				t.Errorf("%d znodes stand for two clients", n)
			}
			mustRelease(t, holder)
			must(t, <-granted)
			if second.Token <= first.Token {
				t.Errorf("fencing token %d after %d", second.Token, first.Token)
			}
			mustRelease(t, waiter)
			if n := contenders(t, cs[0], dir); n != 0 {
				t.Errorf("%d znodes are left", n)
			}
		})
	}
}
