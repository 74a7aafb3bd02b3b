package conformance_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/variantstest"
)

// A run that fails is cut off in the midst of operations, which by itself breaks no promise. Given in batches, as a measurement is drained,
// a history has each client's own order, and no call comes after what was seen because of its write.
func TestHistoriesInParts(t *testing.T) {
	onEveryVariant(t, func(t *testing.T, v venue, recipe variants.Recipe, variant variants.Variant) {
		records := recordsOf(t, v, recipe, variant, 6, 3, true)
		whole := variants.HistoryOf(slices.Clone(records))
		if decoded, err := variants.EventsOf(records).Placed(0); err != nil || !slices.Equal(decoded, records) {
			t.Errorf("as columns and back, the events are %v, %v; want %v", decoded, err, records)
		}
		variantstest.HasCleanPrefixes(t, whole, func(prefix variants.History) []variants.Violation {
			return breachesOf(recipe, variant, prefix, false)
		})
		for seed := range uint64(10) {
			h := inBatches(rand.New(rand.NewPCG(seed, 1)), onWorkers(records, 1+int(seed%4))) //nolint:gosec // to be repeated
			skewed := onClocks(rand.New(rand.NewPCG(seed, 2)), onWorkers(records, 4))         //nolint:gosec // likewise
			for _, h := range []variants.History{h, skewed} {
				if len(h) != len(whole) {
					t.Fatalf("%d events of %d", len(h), len(whole))
				}
				checkOrder(t, h)
				for _, violation := range breachesOf(recipe, variant, h, true) {
					t.Errorf("seed %d: %s", seed, violation.Text)
				}
			}
		}
	})
}

// onWorkers returns events of clients on several workers with one clock.
func onWorkers(records []variants.Placed, workers int) []variants.Placed {
	dealt := slices.Clone(records)
	for i := range dealt {
		dealt[i].Worker = uint16(dealt[i].Client % workers)
	}
	return dealt
}

// inBatches drains the clients' records at random times.
func inBatches(random *rand.Rand, records []variants.Placed) (h variants.History) {
	left := map[int][]variants.Placed{}
	for _, e := range records {
		left[e.Client] = append(left[e.Client], e)
	}
	var o variants.Ordering
	var at, last time.Duration
	take := func(until time.Duration) (taken []variants.Placed) {
		for client, events := range left {
			n := takeOne(events, at, until)
			taken = append(taken, events[:n]...)
			if left[client] = events[n:]; n == len(events) {
				delete(left, client)
			}
		}
		return taken
	}
	observe := func(e variants.Event) { h = append(h, e) }
	for len(left) > 0 {
		last, at = at, at+time.Duration(1+random.IntN(1+random.IntN(3000)))*time.Microsecond
		if random.IntN(10) == 0 {
			o.Flush(at, take(math.MaxInt64), observe) // as where the window begins
		} else {
			o.Drain(last, take(last), observe)
		}
	}
	o.Flush(math.MaxInt64, take(math.MaxInt64), observe)
	return h
}

// onClocks drains the records of clients on workers that have clocks of their own. Calls wait for their replies.
func onClocks(random *rand.Rand, records []variants.Placed) (h variants.History) {
	const apart = 4 * time.Millisecond
	skew := make([]time.Duration, 4)
	for i := range skew {
		skew[i] = time.Duration(random.Int64N(int64(apart / 2)))
	}
	left := map[int][]variants.Placed{}
	for _, e := range records {
		left[e.Client] = append(left[e.Client], e)
	}
	o := variants.Ordering{Apart: apart}
	observe := func(e variants.Event) { h = append(h, e) }
	for at := time.Duration(0); len(left) > 0; at += time.Duration(1+random.IntN(3000)) * time.Microsecond {
		var taken []variants.Placed
		complete := at + apart
		for client, events := range left {
			own := skew[events[0].Worker]
			n := takeOne(events, at, -1)
			for _, e := range events[:n] {
				e.At += own
				taken = append(taken, e)
			}
			complete = min(complete, at+own)
			if left[client] = events[n:]; n == len(events) {
				delete(left, client)
			} else if n+1 == len(events) && at > events[n].At+time.Second { // its reply never comes
				events[n].At, events[n].Place = events[n].At+own, 1
				taken = append(taken, events[n])
				delete(left, client)
			} else {
				complete = min(complete, events[n].At+own-1)
			}
		}
		o.Drain(complete, taken, observe)
	}
	o.Flush(math.MaxInt64, nil, observe)
	return h
}

// takeOne returns how many events of a client a drain takes, as [variants.Places.Take] does. The reply that says where a call
// stands comes just before the client's next event. A call that does not wait for it stands where the client had come before.
func takeOne(events []variants.Placed, at, until time.Duration) (n int) {
	for ; n < len(events) && events[n].At <= at; n++ {
		isCall, answered := events[n].Place%2 == 0, n+1 < len(events) && events[n+1].At <= at
		switch {
		case !isCall || answered:
		case events[n].At > until:
			return n
		default:
			events[n].Place = 1
		}
	}
	return n
}

// checkOrder checks each client's order by the times, and the order of each call and all returns behind it.
func checkOrder(t *testing.T, h variants.History) {
	t.Helper()
	last := map[int]time.Duration{}
	var latest int64 // place of a return
	for _, e := range h {
		if e.At < last[e.Client] {
			t.Errorf("an event of client %d at %s came after one at %s", e.Client, e.At, last[e.Client])
		}
		last[e.Client] = e.At
		if e.Place%2 == 1 {
			latest = max(latest, e.Place)
		} else if e.Place < latest && e.Place/2 > e.Shown { // else it has the place of what its client recorded before
			t.Errorf("the call of client %d just before zxid %d came after what was seen at zxid %d", e.Client, e.Place/2, latest/2)
		}
	}
}

// Servers before 3.9 name no transaction in a notification. A client that goes on at one, without a reply, stands behind what
// it was notified of.
func TestHistoriesOfOldServers(t *testing.T) {
	onEveryVariant(t, func(t *testing.T, v venue, recipe variants.Recipe, variant variants.Variant) {
		records := recordsOf(t, v, recipe, variant, 6, 3, false)
		for _, violation := range breachesOf(recipe, variant, variants.HistoryOf(records), true) {
			t.Error(violation.Text)
		}
	})
}
