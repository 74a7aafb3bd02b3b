package lock

import (
	"fmt"
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/exclusion"
	"github.com/zkbench/zkbench/variants/variantstest"
)

func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{Events: map[string]variants.EventKind{
		"requested": exclusion.Requested, "withdrew": exclusion.Withdrew, "acquired": exclusion.Acquired,
		"releasing": exclusion.Releasing, "released": exclusion.Released, "deposed": exclusion.Deposed,
	}}
}

func TestCheck(t *testing.T) {
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"one after the other", "0:acquired:1 0:releasing 1:acquired:2 1:releasing 0:acquired:3", ""},
		{"granted while the release is under way", "0:acquired:1 0:releasing 1:acquired:2 0:released 1:releasing", ""},
		{"two at once", "0:acquired:1 1:acquired:2", "client 1 acquired the lock while client 0 held it"},
		{"the same client twice", "0:acquired:1 0:acquired:2", "client 0 acquired the lock while client 0 held it"},
		{"a token again", "0:acquired:1 0:releasing 1:acquired:1", "fencing token 1 after token 1"},
		{"a token backwards", "0:acquired:5 0:releasing 1:acquired:4", "fencing token 4 after token 5"},
		{"the first token may be anything", "0:acquired:-7 0:releasing 1:acquired:-6", ""},
		{"a waiter gives up", "0:acquired:1 1:requested 1:withdrew 0:releasing", ""},
		{"a waiter that is woken because the one before it gave up", "0:acquired:1 1:requested 2:requested 1:withdrew 2:acquired:3 0:releasing", "client 2 acquired the lock while client 0 held it"},
		{"a lock that no waiter gets", "0:acquired:1 1:requested 0:releasing", "no client holds the lock in the end, although 1 clients wait"},
	})
}

// The checks of a client's events after its session has ended at the servers depend on what it could know.
func TestLives(t *testing.T) {
	const (
		beside   = "client 1 acquired the lock while client 0 held it"
		heldOn   = "client 0 went on holding the lock after it could know that its session was lost"
		occupied = heldOn + ", while client 1 held it"
	)
	teller().Check(t, Recipe(), []variantstest.Case{
		{"stops in time", "0:acquired:1 0:lost 0:deposed 1:acquired:2", ""},
		{"stops when it can know", "0:acquired:1 1:acquired:2 0:lost 0:deposed", ""},
		{"stops before the loss is recorded", "0:acquired:1 1:acquired:2 0:deposed 0:lost", ""},
		{"learns it from its release", "0:acquired:1 1:acquired:2 0:releasing 0:lost 0:rejoined 0:requested 1:releasing 0:acquired:3", ""},
		{"joins again before it is told", "0:acquired:1 1:acquired:2 0:rejoined", ""},
		{"dies before it is told", "0:acquired:1 1:acquired:2 0:died", ""},
		{"dies", "0:acquired:1 1:requested 0:died 1:acquired:2 1:releasing 1:released 0:rejoined 0:requested 0:acquired:3", ""},
		{"a waiter dies", "0:acquired:1 1:requested 1:died 0:releasing 0:released", ""},
		{"a waiter loses its session", "0:acquired:1 1:requested 1:lost 0:releasing 0:released", ""},
		{"is late to record what another has had since", "0:acquired:2 0:releasing 0:released 1:acquired:1 1:lost 1:deposed", ""},
		{"is late to record what another has", "0:acquired:2 1:acquired:1 1:lost 1:deposed 0:releasing 0:released", ""},
		{"is lost before it records what it was granted", "1:lost 0:acquired:2 1:acquired:1 1:deposed", ""},
		{"releases, so that its session was alive", "0:acquired:1 1:acquired:2 0:releasing 0:released 0:lost", beside},
		{"releases later, with the larger token", "0:acquired:1 1:acquired:2 1:lost 1:deposed 0:releasing 0:released", beside},
		{"fails to release, and asks again in the same life", "0:acquired:1 1:acquired:2 0:releasing 0:requested", beside},
		{"never learns of a loss", "0:acquired:1 1:acquired:2", beside},
		{"goes on", "0:acquired:1 0:lost 0:releasing", heldOn},
		{"goes on beside another", "0:acquired:1 0:lost 1:acquired:2 0:releasing", occupied},
		{"goes on beside another that came first", "0:acquired:1 1:acquired:2 0:lost 0:releasing 0:released", occupied},
		{"a token again after a death", "0:acquired:1 0:died 1:acquired:1 1:releasing", "fencing token 1 after token 1"},
		{"a token backwards after a death", "0:acquired:2 0:died 1:acquired:1 1:releasing 1:released", "fencing token 1 after token 2"},
		{"a claim that outlives its owner", "0:acquired:1 1:requested 0:died 0:rejoined 0:requested", "no client holds the lock in the end, although 2 clients wait"},
		{"a claim that outlives its session", "0:acquired:1 1:requested 0:lost", "no client holds the lock in the end, although 1 clients wait"},
		{"a claim that outlives its hold", "0:acquired:1 1:requested 0:deposed", "no client holds the lock in the end, although 1 clients wait"},
	})
	teller().Damage(t, Recipe(), []variantstest.Case{
		{"a successor before the holder can know", "0:acquired:1 1:acquired:2 0:lost 0:deposed", "fenced=1"},
		{"two successors", "0:acquired:1 1:acquired:2 1:releasing 1:released 2:acquired:3 0:lost 0:deposed", "fenced=1"},
		{"a late grant", "0:acquired:2 1:acquired:1 1:lost 1:deposed 0:releasing 0:released", "fenced=1"},
		{"a release that comes too late", "0:acquired:1 1:acquired:2 0:releasing 0:lost", "fenced=1"},
		{"a successor in time", "0:acquired:1 0:lost 0:deposed 1:acquired:2", ""},
		{"a successor of the dead", "0:acquired:1 0:died 1:acquired:2", ""},
	})
}

func TestSpans(t *testing.T) {
	teller().Spans(t, Recipe(), []variantstest.Case{{
		"client 1 waits while 0 holds, so it is handed the lock; client 0 comes back only after 1 has released",
		"0:requested 0:acquired:1 1:requested 0:releasing 1:acquired:2 0:released 1:releasing 1:released 0:requested 0:acquired:3",
		"acquire(0)=1ms acquire(1)=2ms acquire(0)=1ms hold(0)=2ms hold(1)=2ms release(0)=2ms release(1)=1ms handoff(1)=1ms",
	}, {
		"client 0 dies while it holds, and client 1 while it releases",
		"0:requested 0:acquired:1 1:requested 0:died 1:acquired:2 1:releasing 1:died 0:rejoined 0:requested 0:acquired:3",
		"acquire(0)=1ms acquire(1)=2ms hold(1)=1ms acquire(0)=1ms",
	}})
}

func TestObserverMemory(t *testing.T) {
	teller().ObserverMemory(t, Recipe(), func(i int) string {
		return fmt.Sprintf("%d:requested+acquired+releasing+released:%d", i%10, i)
	})
}

// Clients that die or lose their sessions again and again do not make the observer grow.
func TestObserverMemoryOfLives(t *testing.T) {
	teller().ObserverMemory(t, Recipe(), func(i int) string {
		return fmt.Sprintf("%[1]d:requested+acquired:%[3]d %[2]d:acquired:%[4]d %[1]d:lost+deposed+rejoined:%[3]d %[2]d:died+rejoined", i%10, (i+1)%10, 2*i, 2*i+1)
	})
}
