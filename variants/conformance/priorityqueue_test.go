package conformance_test

import (
	"context"
	"errors"
	"testing"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/variants/priorityqueue"
)

// priorityVariant is a variant under test.
type priorityVariant = underTest[opener[priorityqueue.Queue]]

type priorityCheck = func(t *testing.T, v venue, dir string, variant priorityVariant)

// priorityChecks are what every variant must pass, on every ensemble.
var priorityChecks = []check[priorityCheck]{
	{"gives back", priorityGivesBack},
	{"honours a deadline of a silent server", priorityHonoursADeadlineOfASilentServer},
	{"honours a cancelled context", priorityHonoursACancelledContext},
}

func TestPriorityQueue(t *testing.T) { onEmbedded(t, priorityCheckAll) }

// priorityCheckAll runs every check on every variant, each in a directory of its own.
func priorityCheckAll(t *testing.T, at place) {
	all := openersOf[priorityqueue.Queue](priorityqueue.Recipe().Variants)
	checkAll(t, at, priorityChecks, all, func(t *testing.T, v venue, do priorityCheck, variant priorityVariant) {
		do(t, v, directory(t, v), variant)
	})
}

func priorityPut(t testing.TB, q priorityqueue.Queue, p priorityqueue.Priority, texts ...string) {
	t.Helper()
	for _, text := range texts {
		must(t, q.Put(testContext(t), p, []byte(text)))
	}
}

// An item that is given back stands where it stood.
func priorityGivesBack(t *testing.T, v venue, dir string, variant priorityVariant) {
	cs := clients(t, v, 2)
	quitter, next := variant.open(t, cs[0], dir), variant.open(t, cs[1], dir)
	priorityPut(t, quitter, 50, "c")
	priorityPut(t, quitter, 10, "a", "b")
	if got := mustTake(t, quitter); got != "a" {
		t.Errorf("took %q, want a", got)
	}
	must(t, quitter.Return(testContext(t)))
	catchUp(t, cs[1], dir)
	mustDrain(t, next, "a", "b", "c")
	mustBeClear(t, cs[0], dir)
}

// A caller gets control back although the server does not answer at all. What it was about to take is not lost.
func priorityHonoursADeadlineOfASilentServer(t *testing.T, v venue, dir string, variant priorityVariant) {
	c, cable := cabled(t, v, ensemble.SessionTimeout)
	q := variant.open(t, c, dir)
	priorityPut(t, q, 50, "a", "b")
	cable.mustTimeOut(t, "Take", func(ctx context.Context) error { _, _, err := q.Take(ctx); return err })
	mustDone(t, q) // waits for the clean-up
	other := clients(t, v, 1)[0]
	catchUp(t, other, dir)
	mustDrain(t, variant.open(t, other, dir), "a", "b")
	mustBeClear(t, other, dir)
}

func priorityHonoursACancelledContext(t *testing.T, v venue, dir string, variant priorityVariant) {
	c := clients(t, v, 1)[0]
	q := variant.open(t, c, dir)
	priorityPut(t, q, 50, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, "Put", q.Put(ctx, 10, nil), context.Canceled)
	if _, _, err := q.Take(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Take returned %v, want context.Canceled", err)
	}
	mustDrain(t, q, "a")
	mustBeClear(t, c, dir)
}
