package takequeue_test

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/queue"
	"github.com/zkbench/zkbench/variants/takequeue"
)

// repeated is a history in which requests were repeated, and what the observer reports of it.
type repeated struct {
	history       [][]variants.Event
	lost, doubled int64
	violation     string
}

func repeatedRequests() map[string]repeated {
	const a, b, c = 1, 2, 3
	put := func(id int64) []variants.Event {
		return []variants.Event{{Kind: takequeue.Putting, Value: id}, {Kind: takequeue.Put, Value: id}}
	}
	take := func(id int64) []variants.Event {
		return by(1, takequeue.Taking, 0, takequeue.Removes, 0, takequeue.Took, id, takequeue.Finishing, id, takequeue.Done, id)
	}
	claim := func(id int64) []variants.Event {
		return by(1, takequeue.Taking, 0, takequeue.Took, id, takequeue.Finishing, id, takequeue.Done, id)
	}
	removes := by(1, takequeue.Removes, 0)
	unseen := by(2, takequeue.Taking, 0, takequeue.TookUnseen, 0, takequeue.Empty, 0)
	again := by(2, takequeue.Took, a, takequeue.Finishing, a, takequeue.Done, a)
	twice := []variants.Event{{Kind: takequeue.Putting, Value: a}, {Kind: takequeue.PutTwice, Value: a}, {Kind: takequeue.Put, Value: a}}
	return map[string]repeated{
		"taken unseen":                 {history: [][]variants.Event{put(a), put(b), put(c), take(a), unseen, take(c)}, lost: 1},
		"not taken at all":             {history: [][]variants.Event{put(a), put(b), unseen, take(a), take(b)}},
		"passed over":                  {history: [][]variants.Event{put(a), put(b), take(b)}, violation: "although item 0x1 had been put before"},
		"one attempt, two items":       {history: [][]variants.Event{removes, put(a), put(b), put(c), unseen, take(c)}, lost: 1, violation: "although item 0x2 had"},
		"put after the attempt":        {history: [][]variants.Event{put(a), take(a), unseen, put(b), put(c), take(c)}, violation: "although item 0x2 had"},
		"claimed after the attempt":    {history: [][]variants.Event{unseen, put(a), put(b), claim(b)}, lost: 1},
		"claimed in it and after it":   {history: [][]variants.Event{put(a), unseen, put(b), put(c), claim(c)}, lost: 2},
		"claimed three items":          {history: [][]variants.Event{put(a), put(b), unseen, put(c), put(4), claim(4)}, lost: 2, violation: "had been put before"},
		"claimed, then free again":     {history: [][]variants.Event{unseen, put(a), put(b), claim(b), by(2, takequeue.Taking, 0), claim(a)}},
		"put twice":                    {history: [][]variants.Event{twice, take(a), unseen, again}, doubled: 1},
		"put twice, taken three times": {history: [][]variants.Event{twice, take(a), take(a), unseen, again}, doubled: 1, violation: "which client 1 had taken"},
		"processed twice, not finished": {history: [][]variants.Event{
			put(a), by(1, takequeue.Taking, 0, takequeue.Took, a, takequeue.Finishing, a), by(2, takequeue.Taking, 0), again[:2], by(1, takequeue.GivenUp, a), again[2:],
		}, doubled: 1},
		"put once": {history: [][]variants.Event{put(a), take(a), unseen, again}, violation: "which client 1 had taken"},
	}
}

// An item is lost, or doubled, if a client took or put it without knowing. One lost connection explains one item, or two where items are
// claimed, and no other.
func TestObserverOfRepeatedRequests(t *testing.T) {
	for name, test := range repeatedRequests() {
		t.Run(name, func(t *testing.T) {
			losses, violations := map[variants.Loss]int64{}, []variants.Violation(nil)
			o := queue.Recipe().NewObserver(variants.Findings{
				Span:      func(variants.Span) {},
				Damage:    func(d variants.Damage) { losses[d.Loss] += d.Amount },
				Violation: func(v variants.Violation) { violations = append(violations, v) },
			})
			var now time.Duration
			for _, events := range append(test.history, by(2, takequeue.Taking, 0)) { // which ends an attempt that has found nothing
				for _, e := range events {
					now += time.Millisecond
					e.At = now
					if e.Kind == takequeue.Put { // client 0 alone knows what is in the queue
						e.Shown = int64(now)
					}
					o.Observe(e)
				}
			}
			o.Complete()
			if losses[variants.ItemsLost] != test.lost || losses[variants.ItemsDoubled] != test.doubled {
				t.Errorf("losses %v, want %d lost and %d doubled", losses, test.lost, test.doubled)
			}
			if got := len(violations) > 0; got != (test.violation != "") || got && !strings.Contains(violations[0].Text, test.violation) {
				t.Errorf("violations %v, want one that says %q", violations, test.violation)
			}
		})
	}
}

// by returns a client's events, given as their kinds and values.
func by(client int, kindsAndValues ...any) (events []variants.Event) {
	for i := 0; i < len(kindsAndValues); i += 2 {
		e := variants.Event{Client: client, Kind: kindsAndValues[i].(variants.EventKind)}
		switch v := kindsAndValues[i+1].(type) {
		case int:
			e.Value = int64(v)
		case int64:
			e.Value = v
		}
		events = append(events, e)
	}
	return events
}
