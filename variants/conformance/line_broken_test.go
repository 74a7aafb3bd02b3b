package conformance_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/election"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/revocable"
)

// hasty is a session that ignores its list after it has set the first watch: it sees itself alone.
type hasty struct {
	variants.Conn
	mu      sync.Mutex
	own     string
	watches bool
}

func (h *hasty) Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	created, err := h.Conn.Create(path, data, flags, acl)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.own = created[strings.LastIndex(created, "/")+1:]
	return created, err
}

func (h *hasty) seen(names []string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(names, func(name string) bool { return h.watches && name != h.own })
}

func (h *hasty) watch() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watches = true
}

func (h *hasty) Children(path string) ([]string, *zk.Stat, error) {
	names, stat, err := h.Conn.Children(path)
	return h.seen(names), stat, err
}

func (h *hasty) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	names, stat, watch, err := h.Conn.ChildrenW(path)
	names = h.seen(names)
	h.watch()
	return names, stat, watch, err
}

func (h *hasty) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	h.watch()
	return h.Conn.GetW(path)
}

// withdrawal is what happens when the client between a holder and a waiter withdraws. The waiter's session is wrapped. Then
// so many clients hold.
func withdrawal(t *testing.T, v venue, variant variants.Variant, wrap broken, hold int64) variants.History {
	t.Helper()
	var holders atomic.Int64
	goOn := make(chan struct{})
	c := newCompany(t.Context(), variant, variants.Env{Clients: 3, Root: directory(t, v)})
	c.env.Hold = func(context.Context, <-chan struct{}) error { holders.Add(1); <-goOn; return nil }
	cs := clients(t, v, 3)
	c.join(t, cs[0].conn, cs[0].monitor.Lost())
	quitter := c.join(t, cs[1].conn, cs[1].monitor.Lost())
	c.join(t, wrap(cs[2].conn), cs[2].monitor.Lost())
	c.start(0, 1)
	eventually(t, "the first client does not hold", func() bool { return holders.Load() == 1 })
	ctx, cancel := context.WithCancel(testContext(t))
	quits := background(func() error { return quitter.Step(ctx) })
	awaitWaiting(t, cs[1])
	c.start(2, 1)
	awaitWaiting(t, cs[2])
	cancel()
	wantError(t, "the step of the client that withdraws", <-quits, context.Canceled)
	must(t, ensemble.Fence(cs[2].conn))
	eventually(t, "the last client did not draw its conclusion", func() bool {
		return holders.Load() == hold && (hold > 1 || cs[2].waits())
	})
	close(goOn)
	c.mustEnd(t)
	return c.history()
}

// A waiter that goes on at its first wake, without looking who is in line now, meets the holder.
func TestWaitersThatIgnoreTheirListAreCaught(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		recipe  variants.Recipe
		variant string
		want    string
	}{
		{lock.Recipe(), "children-watch", "client 2 acquired the lock while client 0 held it"},
		{lock.Recipe(), "predecessor-watch-session-id", "client 2 acquired the lock while client 0 held it"},
		{lock.Recipe(), "back-to-back", "client 2 acquired the lock while client 0 held it"},
		{lock.Recipe(), "predecessor-watch", "client 2 acquired the lock while client 0 held it"},
		{lock.Recipe(), "released-mark", "client 2 acquired the lock while client 0 held it"},
		{election.Recipe(), "predecessor-watch", "client 2 was elected while client 0 led"},
		{election.Recipe(), "resigned-mark", "client 2 was elected while client 0 led"},
		{revocable.Recipe(), "data-watch", "client 2 acquired the lock while client 0 held it"},
	} {
		bubbles.run(t, tt.recipe.Name+"/"+tt.variant, func(t *testing.T, v venue) {
			variant := variantOf(tt.recipe, tt.variant)
			if breaches := tt.recipe.Violations(withdrawal(t, v, variant, honest, 1)); len(breaches) > 0 {
				t.Errorf("breaches of a client that looks again: %v", breaches)
			}
			h := withdrawal(t, v, variant, func(s variants.Conn) variants.Conn { return &hasty{Conn: s} }, 2)
			mustBreak(t, tt.recipe, h, tt.want)
		})
	}
}

// deletionsAsMarks is a session that takes the end of a znode for a write to it.
type deletionsAsMarks struct{ variants.Conn }

func (d deletionsAsMarks) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, watch, err := d.Conn.GetW(path)
	changed := make(chan zk.Event, 1)
	go func() {
		defer close(changed)
		if event, ok := <-watch; ok {
			event.Type = zk.EventNodeDataChanged
			changed <- event
		}
	}()
	return data, stat, changed, err
}

// A client that takes the end of the znode before its own for a mark goes on although only a waiter has withdrawn.
func TestDeletionsAreNoMarks(t *testing.T) {
	inBubble(t, func(t *testing.T, v venue) {
		variant := variantOf(lock.Recipe(), "released-mark")
		h := withdrawal(t, v, variant, func(s variants.Conn) variants.Conn { return deletionsAsMarks{s} }, 2)
		mustBreak(t, lock.Recipe(), h, "client 2 acquired the lock while client 0 held it")
	})
}
