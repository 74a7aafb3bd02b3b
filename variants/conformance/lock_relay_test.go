package conformance_test

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/variants/lock"
)

// A client that has passed the lock on stands in the line: the client behind it waits until it leaves, and only then gets the lock.
func TestRelayLeavesTheLine(t *testing.T) {
	relays := slices.DeleteFunc(slices.Clone(lockVariants), func(v lockVariant) bool { return v.label() != "relay" })
	if len(relays) != 1 {
		t.Fatalf("%d variants are a relay", len(relays))
	}
	checkLocks(t, bubbles, []check[lockCheck]{{"leaves", relayLeaves}}, relays)
}

func relayLeaves(t *testing.T, v venue, dir string, open lockOpener) {
	const leaver, next = 0, 1
	l := newLine(t, dir, clients(t, v, 2), open)
	first, ok := l.locks[leaver].(*lock.Relay)
	if !ok {
		t.Fatalf("the lock is a %T", l.locks[leaver])
	}
	l.hold(leaver)
	must(t, first.Pass(testContext(t)))
	mustContend(t, l.cs[leaver], dir, 1) // the mark does not count
	granted := l.want(testContext(t), next)
	l.mustStillWait(next, granted)
	must(t, first.Leave(testContext(t)))
	mustBeGranted(t, granted)
	l.release(next)
}
