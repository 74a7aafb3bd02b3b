package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/embedded"
	"github.com/zkbench/zkbench/ensemble/wire"
	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/election"
	"github.com/zkbench/zkbench/variants/lock"
	"github.com/zkbench/zkbench/variants/revocable"
	"github.com/zkbench/zkbench/variants/rwlock"
)

// request is one request of a client, counted from 1 on among those of its kind.
type request struct {
	op  wire.Opcode
	nth int
}

// requestsOf returns the requests, of a client that waits and then holds, around which its connection is cut.
func requestsOf(variant variants.Variant) []request {
	switch {
	case strings.HasPrefix(variant.Name, "poll-"), strings.HasSuffix(variant.Name, "znode"):
		return []request{{wire.OpExists, 1}, {wire.OpMulti, 1}, {wire.OpMulti, 2}, {wire.OpMulti, 3}}
	case variant.Name == "children-watch":
		return []request{{wire.OpCreate, 1}, {wire.OpGetChildren2, 1}, {wire.OpGetChildren2, 2}, {wire.OpDelete, 1}}
	case strings.HasSuffix(variant.Name, "-mark"):
		return []request{{wire.OpCreate, 1}, {wire.OpGetChildren2, 1}, {wire.OpGetData, 1}, {wire.OpSetData, 1}, {wire.OpMulti, 1}}
	case variant.Name == "acknowledged":
		return []request{{wire.OpCreate, 1}, {wire.OpCreate, 2}, {wire.OpGetChildren2, 1}, {wire.OpGetChildren2, 2}, {wire.OpGetData, 1}, {wire.OpMulti, 1}}
	default:
		return []request{{wire.OpCreate, 1}, {wire.OpGetChildren2, 1}, {wire.OpGetChildren2, 2}, {wire.OpGetData, 1}, {wire.OpDelete, 1}}
	}
}

// A waiter whose connection is cut around any of its requests goes on, and keeps no other client waiting.
func TestHoldersThatAreCut(t *testing.T) {
	t.Parallel()
	for _, recipe := range []variants.Recipe{lock.Recipe(), election.Recipe(), rwlock.Recipe(), revocable.Recipe(), rwlock.RevocableRecipe()} {
		for _, variant := range recipe.Variants {
			if variant.Name == "poll-1s" { // poll-50ms is the same, sooner
				continue
			}
			requests := requestsOf(variant)
			if recipe.Revocable && variant.Name != "urgent-asks" { // whose client may not be urgent when it waits
				requests = append(requests, request{wire.OpSetData, 1})
			}
			for _, r := range requests {
				for _, cut := range []struct {
					name string
					do   embedded.Action
				}{{"before", embedded.DropBefore}, {"after", embedded.DropAfter}} {
					bubbles.run(t, fmt.Sprintf("%s/%s/%s/%s-%d", recipe.Name, variant.Name, cut.name, r.op, r.nth), func(t *testing.T, v venue) {
						isCut(t, v, recipe, variant, embedded.Fault{Op: r.op, Nth: r.nth, Do: cut.do})
					})
				}
			}
		}
	}
}

// isCut lets the second of three clients, which come while the first one holds, meet a fault.
func isCut(t *testing.T, v venue, recipe variants.Recipe, variant variants.Variant, fault embedded.Fault) {
	t.Helper()
	v.shortest = ensemble.SessionTimeout
	m := newMortals(t, v, variant, 3, func(m *mortals, holder, nth int) {
		if nth == 1 {
			close(m.failed)
			m.awaitWaiters(holder, recipe.Name == "election" && !variant.HasLockstep())
		}
	})
	var trap *embedded.Trap
	m.begun = func(client int, l *mortal) {
		if client == 0 {
			return
		}
		<-m.failed // the first client holds
		if client == 1 {
			fault.Session = l.conn.SessionID()
			trap = m.server.Inject(fault)
		}
	}
	await(t, "the clients did not complete their steps", m.start(3))
	mustHaveFired(t, trap)
	h := m.history()
	if slices.ContainsFunc(h, func(e variants.Event) bool { return e.Kind == variants.SessionLost }) {
		t.Error("a session was lost")
	}
	if violations, lost := findings(recipe, h); len(violations) > 0 || len(lost) > 0 {
		t.Errorf("violations %v, lost %v", violations, lost)
	}
	if n := contenders(t, clients(t, v, 1)[0], m.env.Root); n != 0 {
		t.Errorf("%d znodes are left", n)
	}
}

// awaitWaiters returns when all clients but one wait, or have polled twice.
func (m *mortals) awaitWaiters(holder int, poll bool) {
	for client := range m.lives {
		if client == holder {
			continue
		}
		eventually(m.t, "a client does not wait", func() bool {
			l := m.life(client)
			if l == nil || poll {
				return l != nil && l.ledger.Counts().Requests[wire.OpExists] > 1
			}
			wait, _ := l.handle.Waiting()
			return wait != nil && !wait.Fired()
		})
	}
}
