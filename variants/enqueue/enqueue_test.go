package enqueue

import (
	"testing"

	"github.com/zkbench/zkbench/variants"
	"github.com/zkbench/zkbench/variants/variantstest"
)

func teller() variantstest.HistoryBuilder {
	return variantstest.HistoryBuilder{Events: map[string]variants.EventKind{
		"enqueuing": enqueuing, "enqueuing-once": enqueuingOnce, "enqueued": enqueued, "found": found, "audited": audited,
	}}
}

func TestCheck(t *testing.T) {
	teller().Check(t, Recipe(), []variantstest.Case{
		{"nothing", "", ""},
		{"once", "0:enqueuing-once:1 0:enqueued:1 0:found:1 0:audited:1", ""},
		{"two items", "0:enqueuing-once:1 0:enqueued:1 0:found:1 0:audited:1 0:enqueuing-once:2 0:enqueued:2 0:found:2 0:audited:2", ""},
		{"not audited yet", "0:enqueuing-once:1 0:enqueued:1", ""},
		{"failed, and not there", "0:enqueuing-once:1", ""},
		{"twice, as one may who does not claim otherwise", "0:enqueuing:1 0:enqueued:1 0:found:1 0:found:1 0:audited:1", ""},
		{"twice", "0:enqueuing-once:1 0:enqueued:1 0:found:1 0:found:1 0:audited:1", "in the queue 2 times"},
		{"lost", "0:enqueuing-once:1 0:enqueued:1 0:audited:1", "not in the queue"},
		{"lost by one who does not claim to enqueue once", "0:enqueuing:1 0:enqueued:1 0:audited:1", "not in the queue"},
	})
}

func TestSpans(t *testing.T) {
	teller().Spans(t, Recipe(), []variantstest.Case{{
		"two items, of which one is found before its enqueuing was acknowledged",
		"0:enqueuing:1 0:enqueued:1 0:found:1 0:audited:1 0:enqueuing-once:2 0:found:2 0:enqueued:2 0:audited:2",
		"enqueue(0)=1ms enqueue(0)=2ms audit(0)=2ms audit(0)=1ms",
	}})
}

func TestConsumable(t *testing.T) {
	for _, tt := range []struct {
		name   string
		stored []byte
		want   string
		ok     bool
	}{
		{"ready", flagged(ready, []byte("x")), "x", true},
		{"ready and empty", flagged(ready, nil), "", true},
		{"not ready", flagged(unready, []byte("x")), "", false},
		{"not an item", nil, "", false},
	} {
		if data, ok := Consumable(tt.stored); ok != tt.ok || string(data) != tt.want {
			t.Errorf("%s: %q, %v; want %q, %v", tt.name, data, ok, tt.want, tt.ok)
		}
	}
}

func TestObserverMemory(t *testing.T) {
	variantstest.ObserverMemory(t, Recipe(), func(i int) []variants.Event {
		id := int64(i)
		return []variants.Event{
			{Kind: enqueuingOnce, Value: id}, {Kind: enqueued, Value: id}, {Kind: found, Value: id}, {Kind: audited, Value: id},
		}
	})
}
